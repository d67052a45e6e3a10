"""The one decision of a server: the scopes that tools require, the operator's rules and the author's decision.

All of them have to let a call pass, and any failure in them denies it.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from typing import Any

from tooltrue.crashes import log_crash
from tooltrue.policy.rules.rule import (
    ALLOW,
    Allow,
    Ask,
    Decide,
    Deny,
    LocalScopes,
    Rules,
    Subject,
    Verdict,
    allow_all,
    can_obtain,
    lacking,
)
from tooltrue.tools.vocabulary import RequestContext, Tool

__all__ = ["decision", "required_only", "strictest"]

_log = logging.getLogger("tooltrue")
_VERDICTS: tuple[type[Any], ...] = (Allow, Deny, Ask)


def decision(rules: Rules | None, decide: Decide, local_scopes: LocalScopes) -> Decide:
    """Build the decision. It is ``required_only`` if there are no rules, author's decision or ``local_scopes``."""
    if rules is None and decide is allow_all and not local_scopes:
        return required_only
    deciders = [*([rules.decide] if rules else []), *([decide] if decide is not allow_all else [])]
    return together([requires(local_scopes), *map(fail_closed, deciders)])


def required_only(subject: Subject, context: RequestContext, arguments: Mapping[str, Any] | None) -> Verdict:
    """Decide without rules: a tool is visible to all callers, and used with the scopes that it requires."""
    if not isinstance(subject, Tool) or not subject.requires:
        return ALLOW
    return _required(subject, context, {})


def requires(local_scopes: LocalScopes) -> Decide:
    def decide(subject: Subject, context: RequestContext, arguments: Mapping[str, Any] | None) -> Verdict:
        return _required(subject, context, local_scopes) if isinstance(subject, Tool) and subject.requires else ALLOW

    return decide


def _required(tool: Tool, context: RequestContext, local_scopes: LocalScopes) -> Verdict:
    if not lacking(tool.requires, context.principal, local_scopes):
        return ALLOW
    return Deny(scopes=tool.requires) if can_obtain(context.principal) else Deny(hidden=True)


def fail_closed(decide: Decide) -> Decide:
    """Make a decision fail closed: an exception, or a value that is not a verdict, is a denial and is logged. On the
    check of the ``arguments``, when visibility is settled, the caller learns the id of the log entry."""

    def decided(subject: Subject, context: RequestContext, arguments: Mapping[str, Any] | None) -> Verdict:
        try:
            verdict = decide(subject, context, arguments)
            if isinstance(verdict, _VERDICTS):
                return verdict
            raise TypeError(f"a decision is Allow, Deny or Ask, not {type(verdict).__name__}")
        # Boundaries around an `await` catch `(Exception, SystemExit)`, so that a cancellation passes them. Nothing is
        # awaited here: a CancelledError, GeneratorExit or KeyboardInterrupt is of the author's making, and would leave
        # the call without an answer.
        except BaseException as error:  # noqa: BLE001 - whatever an author's function raises, the call is denied
            fault = secrets.token_hex(4)
            log_crash("the decision about %s failed, error %s: denied", subject.name, fault, error=error)
            return Deny(hidden=arguments is None, fault=fault)

    return decided


def together(decisions: list[Decide]) -> Decide:
    """Combine decisions into the strictest of their verdicts; of equally strict ones, the first that a rule made."""

    def decide(subject: Subject, context: RequestContext, arguments: Mapping[str, Any] | None) -> Verdict:
        refused: list[Verdict] = []  # nearly always stays empty
        verdict: Verdict = ALLOW
        for one in decisions:
            verdict = one(subject, context, arguments)
            if not isinstance(verdict, Allow):
                refused.append(verdict)
        return strictest(refused) if refused else verdict

    return decide if len(decisions) > 1 else decisions[0]


def strictest(verdicts: list[Verdict]) -> Verdict:
    return max(verdicts, key=_weight)


def _weight(verdict: Verdict) -> tuple[int, bool]:
    return _strictness(verdict), bool(verdict.rule)


def _strictness(verdict: Verdict) -> int:
    match verdict:
        case Allow():
            return 0
        case Ask():
            return 1
        case Deny():
            return 4 if verdict.hidden else 2 if verdict.scopes else 3
