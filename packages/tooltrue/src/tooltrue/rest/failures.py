"""The HTTP status of each failure of a call: of the code that the pipeline has left in the trail, and of errors.

A tool that fails by its own decision has a status that no other failure has. No status of such a call invites a client
library to repeat it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tooltrue.errors import (
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    MissingCapability,
    ParseError,
    RpcError,
    ScopeNeeded,
    UnknownTool,
)
from tooltrue.policy import wording as policy
from tooltrue.protocol.schema.words import ProblemLines
from tooltrue.tools.wording import TOOL_ARGUMENTS_INVALID, USER_QUESTION_IMPOSSIBLE
from tooltrue.wording import TOOL_NOT_FOUND

__all__ = ["STATUSES", "TOOL_FAILED", "details_of", "status_of_code", "status_of_error"]

TOOL_FAILED: Final = 424
"""The tool itself has ended the call with an error."""

STATUSES: Final[Mapping[int, str]] = {
    400: "The body is no JSON, has a key twice, or is nested too deeply; or the head of the request is refused.",
    401: "The caller is not authenticated. `WWW-Authenticate` says how.",
    403: "A scope is missing, or a rule of the operator refuses the call.",
    404: "The caller has no such tool.",
    409: "A person has to approve the call first: `error.ticket` waits for one. Then repeat the identical call.",
    413: "The body, or the arguments in it, are too large.",
    415: "The body is not sent as `application/json`, without a content coding.",
    422: "The arguments do not fit: `error.problems` has the path of each problem.",
    424: "The tool has ended with an error: the message is its own.",
    429: "Too many calls, or too many refused ones. `Retry-After` has the seconds to wait.",
    500: "The server or the tool has a fault, which its log explains.",
    501: "The tool asks a question or runs as a task, which takes MCP.",
    503: "The server is busy, begins or ends, or one of its stores fails.",
    504: "The tool did not end within its time limit.",
}
"""The statuses of a call that has no result, and their descriptions."""

_CODES: Final[Mapping[int, Sequence[str]]] = {
    403: (
        policy.APPROVAL_DENIED,
        policy.APPROVAL_DENIED_WITH_REASON,
        policy.IDENTICAL_CALL_DENIED,
        policy.AUTHORIZATION_UNDECIDABLE,
        policy.REFUSED_BY_DEFAULT,
        policy.REFUSED_BY_RULE,
        policy.REFUSED_BY_RULE_WITH_REASON,
        policy.SUBJECT_REFUSED_WITH_REASON,
        policy.TOOL_CALL_REFUSED,
    ),
    404: (TOOL_NOT_FOUND,),
    409: (
        policy.ANSWERED_GRANT_CONSUMED,
        policy.APPROVAL_ALREADY_CONSUMED,
        policy.APPROVAL_QUESTION_ALREADY_OPEN,
        policy.APPROVAL_TICKET_ISSUED,
        policy.APPROVAL_TICKET_WITH_OPERATOR_HINT,
        policy.APPROVED_CALL_IN_PROGRESS,
        policy.ARGUMENTS_TOO_LONG_FOR_APPROVAL,
        policy.TOO_MANY_PENDING_APPROVALS,
        policy.TOOL_CHANGED_SINCE_APPROVAL,
    ),
    413: (policy.ARGUMENTS_TOO_LARGE,),
    422: (TOOL_ARGUMENTS_INVALID, policy.REDACTION_MASK_IN_ARGUMENTS, policy.SECRET_IN_ARGUMENTS),
    429: (
        policy.APPROVAL_QUESTIONS_RATE_LIMITED,
        policy.CALLER_PAUSED,
        policy.STORED_RESULTS_QUOTA_EXCEEDED,
        policy.TOOL_RATE_LIMIT_EXCEEDED,
    ),
    500: (policy.TOOL_INTERNAL_ERROR, policy.TOOL_RESULT_TOO_LARGE, policy.TOOL_RESULT_VIOLATES_SCHEMA),
    501: (USER_QUESTION_IMPOSSIBLE,),
    503: (
        policy.APPROVAL_STORE_UNREACHABLE,
        policy.AUDIT_LOG_UNAVAILABLE,
        policy.CONCURRENCY_LIMIT_EXCEEDED,
        policy.RATE_LIMITS_UNAVAILABLE,
    ),
    504: (policy.TOOL_TIMEOUT_STILL_RUNNING, policy.TOOL_TIMEOUT_STOPPED),
}
_BY_CODE: Final[Mapping[str, int]] = {code: status for status, codes in _CODES.items() for code in codes}

_BY_ERROR: Final[Sequence[tuple[type[RpcError], int]]] = (
    (UnknownTool, 404),
    (ScopeNeeded, 403),
    (InvalidParams, 422),
    (ParseError, 400),
    (InvalidRequest, 400),
    (MissingCapability, 501),
    (MethodNotFound, 501),
)


def status_of_code(code: str) -> int:
    """The status of a call whose result is an error: that of the code in its trail, or that of a tool's own error."""
    return _BY_CODE.get(code, TOOL_FAILED)


def status_of_error(error: RpcError) -> int:
    """The status of a call that the pipeline has refused with an error of the protocol."""
    by_type = next((status for kind, status in _BY_ERROR if isinstance(error, kind)), 500)
    return _BY_CODE.get(error.code, by_type)


def details_of(facts: Mapping[str, Any], language: str) -> dict[str, Any]:
    """The members of an error that programs read, from the facts of its sentence."""
    details: dict[str, Any] = {}
    if isinstance(problems := facts.get("problems"), ProblemLines):
        details["problems"] = [{"path": one.path, "message": one.say(language)} for one in problems.problems]
    if isinstance(ticket := facts.get("ticket"), str):
        details["ticket"] = ticket
    return details
