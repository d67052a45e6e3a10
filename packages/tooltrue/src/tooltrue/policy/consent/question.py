"""The question that a person is asked before a tool runs, and the grants that their answer makes."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tooltrue.errors import StateError, ToolError
from tooltrue.jsonrpc.messages import Json
from tooltrue.policy.consent.approvals import ApprovalRequest, Approvals
from tooltrue.policy.consent.argument_display import display_arguments, display_text
from tooltrue.policy.consent.lookalikes import shown_name
from tooltrue.policy.wording import (
    ANSWERED_GRANT_CONSUMED,
    APPROVAL_QUESTION,
    APPROVED_CALL_IN_PROGRESS,
    LABEL_APPROVE_FOR_SESSION,
    LABEL_APPROVE_ONCE,
    LABEL_DENY,
)
from tooltrue.protocol.input_requests import InputRequest, elicitation_form
from tooltrue.protocol.types import Value
from tooltrue.state.facts import Values
from tooltrue.tools.rounds import ClientQuestion
from tooltrue.tools.vocabulary import LOCAL
from tooltrue.wording import sentence

__all__ = ["AnsweredGrant", "Consent", "StandingGrant", "TicketGrant", "approval_field", "approval_message"]

_log = logging.getLogger("tooltrue")

Choice: TypeAlias = Literal["once", "session", "deny", "cancel"]

_CHOICES: tuple[tuple[Choice, str], ...] = (
    ("once", LABEL_APPROVE_ONCE),
    ("session", LABEL_APPROVE_FOR_SESSION),
    ("deny", LABEL_DENY),
)
_USED_SECONDS = 3_600.0  # longer than any question waits for its answer


def approval_field(fields: Mapping[str, Any]) -> str | None:
    """The only field of a form in which a tooltrue server asks for approval; ``None`` for any other form."""
    for name, one_field in fields.items() if len(fields) == 1 else ():
        options = {one.get("const") for one in one_field.get("oneOf", ())} | {*one_field.get("enum", ())}
        return name if options == {choice for choice, _ in _CHOICES} else None
    return None


def approval_message(request: ApprovalRequest, language: str) -> str:
    """Compose all that the person decides by: server, tool, effect, every argument, and the expected outcome.

    The model can arrange no part of it (:mod:`tooltrue.policy.consent.argument_display`).
    """
    # A path on this machine is not shown to a caller on another one.
    is_shown = request.instance and request.principal == LOCAL.id
    server = f"{request.server} ({request.instance})" if is_shown else request.server
    names = {"server": server, "tool": request.tool, "effect": request.effect}
    parts = [sentence(APPROVAL_QUESTION, language, {key: shown_name(name, language) for key, name in names.items()})]
    parts += [display_text(request.reason)] if request.reason else []
    parts += [display_arguments(request.arguments)]
    parts += [display_text(request.preview)] if request.preview else []
    return "\n\n".join(parts)


@dataclass(frozen=True)
class Consent(ClientQuestion[Choice]):
    """Approve once, approve for a while, or deny. Accepting without a choice approves once; dismissing the form is no
    answer."""

    message: str
    language: str
    request: InputRequest = field(init=False, repr=False)

    def __post_init__(self) -> None:
        choices = [{"const": choice, "title": sentence(code, self.language, {})} for choice, code in _CHOICES]
        schema = {"type": "object", "properties": {"answer": {"type": "string", "oneOf": choices, "default": "once"}}}
        object.__setattr__(self, "request", elicitation_form(self.message, schema))

    def read(self, answer: Mapping[str, Json]) -> Choice:
        if answer["action"] != "accept":
            return "deny" if answer["action"] == "decline" else "cancel"
        content = answer.get("content", {})
        choice = content.get("answer", "once")
        # A field that was not requested may say no: {"approved": false} is not a choice, and not an approval.
        if choice not in ("once", "session", "deny") or content.keys() - {"answer"}:
            raise ValueError("answer: once, session or deny")
        return choice


# --- grants: used up in the step before the tool runs ----------------------------------------------------------------


class StandingGrant(Value, frozen=True):
    """A grant for this session, or for a pattern: it is not used up."""

    by: str

    async def take(self) -> None: ...

    async def give_back(self) -> None: ...

    async def settle(self) -> None: ...

    async def keep(self) -> None: ...


@dataclass(eq=False, repr=False)
class AnsweredGrant:
    """An approval through the client: good for one run, which all workers see as used. An approval for the session
    is stored when it is taken, for ``session_seconds``; an answer that is sent again after it was taken does not
    renew it."""

    facts: Values
    approvals: Approvals
    request: ApprovalRequest
    nonce: str
    session_seconds: float | None = None
    by: str = "the client's answer"
    is_taken: bool = False
    stands: bool = False

    async def take(self) -> None:
        if not await self.facts.put_if_absent("consent:" + self.nonce, b"1", _USED_SECONDS):
            raise ToolError.of(ANSWERED_GRANT_CONSUMED, tool=self.request.tool)
        self.is_taken = True
        if self.session_seconds is not None:
            with _logged("a yes for the session counts once only"):
                await self.approvals.remember(self.request, "session", self.session_seconds)
                self.stands = True

    async def give_back(self) -> None:
        if not self.stands:  # a stored approval lets the next round run
            await self.facts.remove("consent:" + self.nonce)

    async def settle(self) -> None: ...

    async def keep(self) -> None:
        # The answer travels in a state that is good for one request, so the approval is stored here for the next one.
        if not self.is_taken:
            await self.take()
            if not self.stands:
                with _logged("a yes is lost with the call that was refused"):
                    await self.approvals.remember(self.request, "once")


@dataclass(eq=False, repr=False)
class TicketGrant:
    """An approved ticket: good for one run."""

    approvals: Approvals
    request: ApprovalRequest
    by: str
    until: float = 0.0

    async def take(self) -> None:
        until = await self.approvals.take(self.request)
        if until is None:
            raise ToolError.of(APPROVED_CALL_IN_PROGRESS, tool=self.request.tool)
        self.until = until

    async def give_back(self) -> None:
        await self.approvals.give_back(self.request, self.until)

    async def settle(self) -> None:
        # The tool has run, and the grant is gone: failing to mark the ticket must not make the outcome a failure.
        with _logged("a ticket that was used cannot be marked so"):
            await self.approvals.settle(self.request)

    async def keep(self) -> None: ...


@contextlib.contextmanager
def _logged(what: str) -> Generator[None]:
    try:
        yield
    except (StateError, ToolError) as error:
        _log.error("%s: %s", what, error)
