"""Why a decision is as it is: each rule that was tried, and what kept it from matching.

Nothing is decided here: the verdicts are those of the very decision that guards the server, and the steps are those of
the very rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from toolwright.policy.deciding import by_old_names, decision
from toolwright.policy.pipeline import Guard
from toolwright.policy.rules import OPEN, Allow, Ask, Deny, Step, Subject, Verdict, lacking
from toolwright.protocol.types import Value
from toolwright.tools.toolset import RequestContext, Tool

__all__ = ["Explanation", "explain", "in_words", "why"]


class Explanation(Value, frozen=True):
    """``shown`` is what is decided about the subject alone, ``called`` about these arguments: for tools only, and only
    when the first let the call pass. ``steps`` are those of the last of the two that was asked, by the name of a tool
    that decides: ``old_name``, where that is not the present one."""

    shown: Verdict
    called: Verdict | None
    steps: tuple[Step, ...]
    old_name: str = ""

    @property
    def verdict(self) -> Verdict:
        return self.called or self.shown


def explain(
    guard: Guard, subject: Subject, context: RequestContext, arguments: Mapping[str, Any] | None
) -> Explanation:
    """What the guard says of this caller. Without ``arguments``, of a tool too, it is what a list goes by."""
    decide = decision(guard.rules, guard.decide, guard.held)
    shown = decide(subject, context, None)
    goes_on = isinstance(subject, Tool) and arguments is not None and not isinstance(shown, Deny)
    called = decide(subject, context, arguments) if goes_on else None
    asked = arguments if goes_on else None
    if guard.rules is None:
        return Explanation(shown, called, ())
    steps = guard.rules.trace(subject, context.principal, asked)
    verdict = called or shown
    if isinstance(subject, Tool) and not _decides(steps, verdict):
        for tool in by_old_names(subject):
            if _decides(others := guard.rules.trace(tool, context.principal, asked), verdict):
                return Explanation(shown, called, others, tool.name)
    return Explanation(shown, called, steps)


def _decides(steps: Iterable[Step], verdict: Verdict) -> bool:
    """Whether the rule that made the verdict is among those that match, or may."""
    return any(step.rule.name == verdict.rule and step.stop in ("", OPEN) for step in steps)


def in_words(verdict: Verdict) -> str:
    match verdict:
        case Allow():
            return "allowed"
        case Ask():
            return "a person is asked"
        case Deny():
            pass
    if verdict.hidden:
        return "hidden: to this caller there is no such thing"
    if verdict.scopes:
        return f"a token with the scopes {', '.join(sorted(verdict.scopes))} is asked for"
    return "refused: the decision failed, see the log" if verdict.fault else "refused"


def why(
    step: Step, guard: Guard, subject: Subject, context: RequestContext, arguments: Mapping[str, Any] | None
) -> str:
    """What kept the rule of ``step`` from matching, in a few words."""
    rule, principal = step.rule, context.principal
    match step.stop:
        case "":
            return "matches"
        case "?":
            return "may match: it depends on the " + ("arguments" if isinstance(subject, Tool) else "URI")
        case "server":
            return "is for another server"
        case "effect":
            return f"the effect is {subject.effect}" if isinstance(subject, Tool) else "is for tools only"
        case "principal":
            return f"the caller is {principal.id}"
        case "scopes":
            return f"the caller lacks {', '.join(sorted(lacking(rule.scopes, principal, guard.held)))}"
        case "arguments":
            problems = rule.arguments.problems(arguments, 1) if rule.arguments and arguments is not None else ()
            return "; ".join(map(str, problems)) or "is for tools only"
        case _:
            return f"{step.stop} does not name it"
