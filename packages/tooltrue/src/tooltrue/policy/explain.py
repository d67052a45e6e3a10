"""Explanations of a decision: each rule that was tried, and the condition that kept it from matching.

This module makes no decision: the verdicts are those of the very decision that guards the server, and the steps are
those of the very rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

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


def in_words(verdict: Verdict, language: str = "en") -> str:
    match verdict:
        case Allow():
            return _phrase("allowed", language)
        case Ask():
            return _phrase("asked", language)
        case Deny():
            pass
    if verdict.hidden:
        return _phrase("hidden", language)
    if verdict.scopes:
        return _phrase("scopes_needed", language, scopes=", ".join(sorted(verdict.scopes)))
    return _phrase("failed" if verdict.fault else "refused", language)


def why(
    step: RuleStep,
    guard: Guard,
    subject: Subject,
    context: RequestContext,
    arguments: Mapping[str, Any] | None,
    language: str = "en",
) -> str:
    """Describe in a few words the condition that kept the rule of ``step`` from matching."""
    rule, principal = step.rule, context.principal
    match step.stop:
        case "":
            return _match(rule, subject, language)
        case "earlier" | "server" | "view":
            return _phrase(step.stop, language)
        case "?":
            return _phrase("open_arguments" if isinstance(subject, Tool) else "open_uri", language)
        case "effect" if isinstance(subject, Tool):
            return _phrase("effect", language, effect=subject.effect)
        case "effect":
            return _phrase("tools_only", language)
        case "principal":
            return _phrase("principal", language, principal=principal.id)
        case "scopes":
            scopes = ", ".join(sorted(lacking(rule.scopes, principal, guard.local_scopes)))
            return _phrase("lacks", language, scopes=scopes)
        case "arguments":
            problems = rule.arguments.problems(arguments, 1) if rule.arguments and arguments is not None else ()
            return "; ".join(problem.say(language) for problem in problems) or _phrase("tools_only", language)
        case _:
            return _phrase("unnamed", language, key=step.stop)


def _match(rule: Rule, subject: Subject, language: str) -> str:
    """Tell if the rule names the tool by an old name, which a reader of the rule would miss."""
    if not isinstance(subject, Tool) or subject.name in (names := rule.names_of(subject)):
        return _phrase("matches", language)
    return _phrase("matches_old_name", language, names=", ".join(sorted(names)))


_PHRASES: Final[Mapping[str, tuple[str, str]]] = {
    "allowed": ("allowed", "允许"),
    "asked": ("a person is asked", "询问人工"),
    "hidden": ("hidden: to this caller there is no such thing", "隐藏：对该调用方而言不存在"),
    "scopes_needed": ("a token with the scopes {scopes} is asked for", "要求具有权限范围 {scopes} 的令牌"),
    "failed": ("refused: the decision failed, see the log", "拒绝：判定失败，见日志"),
    "refused": ("refused", "拒绝"),
    "matches": ("matches", "匹配"),
    "matches_old_name": ("matches its old name {names}", "匹配其旧名称 {names}"),
    "earlier": ("an earlier rule has decided about the tool", "更早的规则已对该工具作出判定"),
    "open_arguments": ("may match: it depends on the arguments", "可能匹配：取决于参数"),
    "open_uri": ("may match: it depends on the URI", "可能匹配：取决于 URI"),
    "server": ("is for another server", "适用于另一台服务器"),
    "view": ("is for another view", "适用于另一个视图"),
    "effect": ("the effect is {effect}", "影响为 {effect}"),
    "tools_only": ("is for tools only", "仅适用于工具"),
    "principal": ("the caller is {principal}", "调用方为 {principal}"),
    "lacks": ("the caller lacks {scopes}", "调用方缺少 {scopes}"),
    "unnamed": ("{key} does not name it", "{key} 未包含其名称"),
}


def _phrase(name: str, language: str, **facts: str) -> str:
    return _PHRASES[name][language == "zh"].format(**facts)
