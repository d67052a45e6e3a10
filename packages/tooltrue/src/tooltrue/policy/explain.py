"""Explanations of a decision: each rule that was tried, and the condition that kept it from matching.

This module makes no decision: the verdicts are those of the very decision that guards the server, and the steps are
those of the very rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrue.policy.guard import Guard
from tooltrue.policy.rules.decision import decision
from tooltrue.policy.rules.rule import Allow, Ask, Deny, Rule, RuleStep, Subject, Verdict, lacking
from tooltrue.protocol.types import Value
from tooltrue.tools.vocabulary import RequestContext, Tool

__all__ = ["Explanation", "explain", "in_words", "why"]


class Explanation(Value, frozen=True):
    """``visibility`` is the decision about the subject alone, ``called`` the one about these arguments: for tools only,
    and only if the first let the call pass. ``steps`` are those of the last decision that was made."""

    visibility: Verdict
    called: Verdict | None
    steps: tuple[RuleStep, ...]

    @property
    def verdict(self) -> Verdict:
        return self.called or self.visibility


def explain(
    guard: Guard, subject: Subject, context: RequestContext, arguments: Mapping[str, Any] | None
) -> Explanation:
    """Explain the guard's decision about this caller. Without ``arguments``, also for a tool, it is the one that lists
    use."""
    decide = decision(guard.rules, guard.decide, guard.local_scopes)
    visibility = decide(subject, context, None)
    goes_on = isinstance(subject, Tool) and arguments is not None and not isinstance(visibility, Deny)
    called = decide(subject, context, arguments) if goes_on else None
    call_arguments = arguments if goes_on else None
    if guard.rules is None:
        return Explanation(visibility, called, ())
    return Explanation(visibility, called, guard.rules.trace(subject, context.principal, call_arguments))


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
    step: RuleStep, guard: Guard, subject: Subject, context: RequestContext, arguments: Mapping[str, Any] | None
) -> str:
    """Describe in a few words the condition that kept the rule of ``step`` from matching."""
    rule, principal = step.rule, context.principal
    match step.stop:
        case "":
            return f"matches{_by_old_name(rule, subject)}"
        case "earlier":
            return "an earlier rule has decided about the tool"
        case "?":
            return "may match: it depends on the " + ("arguments" if isinstance(subject, Tool) else "URI")
        case "server":
            return "is for another server"
        case "view":
            return "is for another view"
        case "effect":
            return f"the effect is {subject.effect}" if isinstance(subject, Tool) else "is for tools only"
        case "principal":
            return f"the caller is {principal.id}"
        case "scopes":
            return f"the caller lacks {', '.join(sorted(lacking(rule.scopes, principal, guard.local_scopes)))}"
        case "arguments":
            problems = rule.arguments.problems(arguments, 1) if rule.arguments and arguments is not None else ()
            return "; ".join(map(str, problems)) or "is for tools only"
        case _:
            return f"{step.stop} does not name it"


def _by_old_name(rule: Rule, subject: Subject) -> str:
    """Tell that the rule names the tool by an old name, which a reader of the rule would miss."""
    if not isinstance(subject, Tool) or subject.name in (names := rule.names_of(subject)):
        return ""
    return f" its old name {', '.join(sorted(names))}"
