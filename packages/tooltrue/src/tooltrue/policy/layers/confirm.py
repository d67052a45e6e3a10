"""Confirmation by a person, through the client where it can ask, otherwise by a ticket that is settled elsewhere.

``confirm`` stands above the queue and the timeout, since a person's time is not counted. ``consume_grant`` stands right
above the run: a grant is consumed there and not before, so that a call refused in between does not cost it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, ClassVar, TypeVar

from tooltrue.contract.digests import pin
from tooltrue.errors import ConfigurationError, NeedsAgreement, RpcError, StateError, ToolError
from tooltrue.policy.consent.approvals import ApprovalRequest, Approvals
from tooltrue.policy.plan import Leaving, Step, StepLayer
from tooltrue.policy.wording import (
    APPROVAL_ALREADY_CONSUMED,
    APPROVAL_DENIED,
    APPROVAL_DENIED_WITH_REASON,
    APPROVAL_QUESTION_ALREADY_OPEN,
    APPROVAL_QUESTION_DISMISSED,
    APPROVAL_QUESTIONS_RATE_LIMITED,
    APPROVAL_STORE_UNREACHABLE,
    APPROVAL_TICKET_ISSUED,
    APPROVAL_TICKET_WITH_OPERATOR_HINT,
    APPROVED_CALL_IN_PROGRESS,
    ARGUMENTS_TOO_LONG_FOR_APPROVAL,
    IDENTICAL_CALL_DENIED,
    LABEL_SET_OF,
    TOOL_CHANGED_SINCE_APPROVAL,
)
from tooltrue.protocol.types import InputRequiredResult, ToolOutcome, Value, replaced
from tooltrue.state.facts import Facts
from tooltrue.tools.rounds import InputRequired, Rounds, how_it_ended
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import EFFECTS, Effect, Grant, Principal, Tool, ToolCall
from tooltrue.wording import LABEL_NUMBER_ABOVE_ZERO, SETTING_INVALID, Worded

__all__ = ["Confirm", "Confirming", "confirm", "consume_grant", "previewed"]

_log = logging.getLogger("tooltrue")

LeftT = TypeVar("LeftT", bound=Leaving)

_KEY = "tooltrue:confirm"
_OPEN_SECONDS = 60.0  # the identical call is not asked about again meanwhile
_PREVIEW_SECONDS = 10.0
_TICKETS_A_DAY = 40


class Confirm(Value, frozen=True):
    """Before which calls a person is asked: those of these ``effects``, and those of tools with ``confirm=True``.

    ``session_seconds``: how long an approval "for this session" holds. ``questions``: how many one principal is asked
    in a minute at most. ``max_shown``: a longer question is not asked, but shown by a ticket. ``store``: the URL of the
    store of tickets, instead of ``$TOOLTRUE_APPROVALS`` and of the file in the user's state folder.
    """

    effects: frozenset[Effect] = frozenset({"destructive"})
    session_seconds: float = 28_800.0
    questions: int = 10
    max_shown: int = 4_000
    store: str | None = None

    def __post_init__(self) -> None:
        if not self.effects.issubset(EFFECTS):
            raise ConfigurationError.of(
                SETTING_INVALID, name="Confirm(effects=…)", wanted=Worded(LABEL_SET_OF, {"names": ", ".join(EFFECTS)})
            )
        for name in ("session_seconds", "questions", "max_shown"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ConfigurationError.of(
                    SETTING_INVALID, name=f"Confirm({name}=…)", wanted=Worded(LABEL_NUMBER_ABOVE_ZERO, {})
                )

    @classmethod
    def never(cls) -> Confirm:
        """Ask only where a rule or a tool says so. For tests, and where the host asks."""
        return cls(effects=frozenset())

    def wants(self, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        return tool.effect_with(arguments) in self.effects if tool.confirm is None else tool.confirm


def confirm(
    settings: Confirm, approvals: Approvals, facts: Facts, *, server: str, instance: str, started: str, language: str
) -> Callable[[Provider], Provider]:
    """Require a person's approval of calls that need one, for this principal, tool and arguments, before they run."""
    return lambda inner: Confirming(inner, settings, approvals, facts, server, instance, started, language)


def consume_grant(inner: Provider) -> Provider:
    """Consume the grant of a call in the step before it runs."""
    return _ConsumeGrant(inner)


class _ConsumeGrant(StepLayer, frozen=True):
    same_for_all: ClassVar[bool] = True

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        return _CONSUME


def _begin_grant(call: ToolCall) -> Awaitable[None] | None:
    return None if call.grant is None else _take_grant(call, call.grant)


async def _take_grant(call: ToolCall, grant: Grant) -> None:
    await grant.take()
    call.keep(_CONSUMED, grant)
    # A pipeline further in must not see the question and the grant, which are settled here.
    call.asks, call.stake, call.grant = None, "", None


def _end_grant(call: ToolCall, outcome: ToolOutcome) -> ToolOutcome | Awaitable[ToolOutcome]:
    return outcome if call.recall(_CONSUMED) is None else _settle_grant(call, outcome)


def _fail_grant(call: ToolCall, error: BaseException) -> BaseException | Awaitable[BaseException]:
    return error if call.recall(_CONSUMED) is None else _settle_grant(call, error)


async def _settle_grant(call: ToolCall, left: LeftT) -> LeftT:
    """A call that only asked another question has had no effect; with any other outcome, it has run."""
    grant: Grant = call.recall(_CONSUMED)
    call.keep(_CONSUMED, None)
    await (grant.give_back() if isinstance(left, InputRequiredResult) else grant.settle())
    return left


_CONSUMED = "consume_grant"
_CONSUME = Step(_begin_grant, _end_grant, _fail_grant)


class Confirming(StepLayer, frozen=True):
    """Asks through the client; a host asks its person in another way, and is otherwise the same."""

    same_for_all: ClassVar[bool] = True
    settings: Confirm
    approvals: Approvals
    facts: Facts
    server: str
    instance: str
    started: str
    language: str

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        wants = self.settings.wants
        never = not tool.read_when and not wants(tool, {})

        def before(call: ToolCall) -> Awaitable[InputRequiredResult | None] | None:
            if call.asks is None and (never or not wants(tool, call.arguments)):
                return None
            rounds = call.context.rounds
            if rounds is not None and rounds.of_task and not rounds.is_nested:
                return None  # it was approved, and its grant consumed, before the task began
            return self._agree(call, tool, by_tool=False)

        def failed(call: ToolCall, error: BaseException) -> Leaving | Awaitable[Leaving]:
            grant: Grant | None = call.recall(_AGREED)
            if grant is not None and isinstance(error, RpcError | ToolError):
                return _kept(grant, error)
            if grant is None and isinstance(error, NeedsAgreement):
                return self._run_once_agreed(call, tool, error)
            return error

        return Step(before, failed=failed)

    async def _run_once_agreed(self, call: ToolCall, tool: Tool, needed: NeedsAgreement) -> ToolOutcome:
        """Run a call again whose tool itself requires approval, and could not ask for it."""
        # As a stake: an approval that was given without it does not hold.
        call.asks = call.stake = needed.reason
        if (question := await self._agree(call, tool, by_tool=True)) is not None:
            return question
        assert call.proceed is not None
        try:
            return await call.proceed(call)
        except (RpcError, ToolError) as error:
            await _kept(call.recall(_AGREED), error)
            raise

    async def _agree(self, call: ToolCall, tool: Tool, *, by_tool: bool) -> InputRequiredResult | None:
        """Give the call its grant if it is approved, or return the question. ``by_tool``: the tool itself requires
        approval, and could not ask."""
        try:
            decided = await self._decided(call, tool)
        except StateError as error:  # approvals cannot be read, so there is none
            _log.error("%s was refused, since its approval cannot be looked up: %s", tool.name, error)
            raise ToolError.of(APPROVAL_STORE_UNREACHABLE, tool=tool.name) from error
        if isinstance(decided, InputRequiredResult):
            return decided
        if (trail := call.context.trail) is not None:
            trail.rule = trail.rule or f"confirm: {decided.by}"
        from tooltrue.policy.consent.question import StandingGrant  # noqa: PLC0415 - few calls are asked about

        # The person whose standing grant covers more than this call was not shown this one, unless the tool has named
        # the stake.
        call.context = replaced(call.context, agreed=by_tool or not isinstance(decided, StandingGrant))
        call.grant = decided
        call.keep(_AGREED, decided)
        return None

    async def _decided(self, call: ToolCall, tool: Tool) -> Grant | InputRequiredResult:
        """Return the grant that lets the call run, or the question. ``ToolError`` if it may not run."""
        request = self._request(call, tool)
        if (grant := await self._existing_grant(request)) is not None:
            return grant
        from tooltrue.policy.consent.question import Consent  # noqa: PLC0415 - few calls are asked about

        rounds = call.context.rounds
        if rounds is not None and call.context.can_ask(Consent("", self.language)):
            return await self._ask(request, tool, rounds)
        # TT2403 advises to turn confirmation off, which would not stop the question of a rule or a tool.
        code = APPROVAL_TICKET_WITH_OPERATOR_HINT if call.asks is None else APPROVAL_TICKET_ISSUED
        raise await self._ticket(await previewed(request, tool, self.language), code)

    def _request(self, call: ToolCall, tool: Tool) -> ApprovalRequest:
        return ApprovalRequest(
            tool.server or self.server,
            call.context.principal.id,
            tool.name,
            tool.effect,
            pin(tool.definition),
            call.arguments,
            call.asks or "",
            instance=tool.instance or self.instance,
            started=self.started,
            stake=call.stake,
        )

    async def _existing_grant(self, request: ApprovalRequest) -> Grant | None:
        from tooltrue.policy.consent.question import StandingGrant, TicketGrant  # noqa: PLC0415 - few calls are asked about

        match await self.approvals.granted(request):
            case None:
                return None
            case "once":
                return TicketGrant(self.approvals, request, "a ticket")
            case scope:
                return StandingGrant(scope)

    # --- through the client

    async def _ask(self, request: ApprovalRequest, tool: Tool, rounds: Rounds) -> Grant | InputRequiredResult:
        from tooltrue.policy.consent.question import AnsweredGrant, Consent  # noqa: PLC0415 - few calls are asked about

        nonce, key, message = await rounds.once(_KEY, partial(self._first, request, tool))
        if key != request.key:  # the tool was replaced while the question was open
            raise ToolError.of(TOOL_CHANGED_SINCE_APPROVAL, tool=request.tool)
        try:
            choice = rounds.ask(Consent(message, self.language), _KEY)
        except InputRequired as error:
            return how_it_ended(error)
        await self.facts.remove(_open(key))
        if choice in ("deny", "cancel"):
            raise ToolError.of(APPROVAL_DENIED if choice == "deny" else APPROVAL_QUESTION_DISMISSED, tool=request.tool)
        seconds = self.settings.session_seconds if choice == "session" else None
        return AnsweredGrant(self.facts, self.approvals, request, nonce, seconds)

    async def _first(self, request: ApprovalRequest, tool: Tool) -> list[str]:
        """Prepare the first question. Returns the values that stay the same over all rounds."""
        request = await previewed(request, tool, self.language)
        from tooltrue.policy.consent.question import approval_message  # noqa: PLC0415 - few calls are asked about

        message = approval_message(request, self.language)
        if len(message) > self.settings.max_shown:
            raise await self._ticket(request, ARGUMENTS_TOO_LONG_FOR_APPROVAL)
        if not await self.facts.put_if_absent(_open(request.key), b"1", _OPEN_SECONDS):
            raise ToolError.of(APPROVAL_QUESTION_ALREADY_OPEN, tool=request.tool)
        wait = await self._take("questions:", request, self.settings.questions, 60.0)
        if wait:
            await self.facts.remove(_open(request.key))
            raise ToolError.of(APPROVAL_QUESTIONS_RATE_LIMITED, tool=request.tool, seconds=wait)
        return [secrets.token_hex(16), request.key, message]

    async def _take(self, what: str, request: ApprovalRequest, most: int, seconds: float) -> float:
        return await self.facts.take(what + request.principal, per_second=most / seconds, burst=most)

    # --- through a ticket

    async def _ticket(self, request: ApprovalRequest, code: str) -> ToolError:
        """Return the refusal that names the ticket of this exact call, opening one if needed."""
        ticket = await self.approvals.ticket(request)
        state = "none" if ticket is None else ticket.state
        if ticket is not None and state == "denied" and ticket.why:
            return ToolError.of(APPROVAL_DENIED_WITH_REASON, tool=request.tool, reason=ticket.why)
        if state in ("denied", "running"):
            return ToolError.of(
                IDENTICAL_CALL_DENIED if state == "denied" else APPROVED_CALL_IN_PROGRESS, tool=request.tool
            )
        if ticket is None or state != "open":
            if wait := await self._take("tickets:", request, _TICKETS_A_DAY, 86_400.0):
                return ToolError.of(APPROVAL_QUESTIONS_RATE_LIMITED, tool=request.tool, seconds=wait)
            ticket = await self.approvals.open(request)
        return ToolError.of(APPROVAL_ALREADY_CONSUMED if state == "used" else code, tool=request.tool, ticket=ticket.id)


_AGREED = "confirm"


async def _kept(grant: Grant, error: Exception) -> Exception:
    """Keep the grant of a call that failed: one that was not consumed holds for the identical call."""
    await grant.keep()
    return error


def _open(key: str) -> str:
    return "asking:" + key


async def previewed(request: ApprovalRequest, tool: Tool, language: str) -> ApprovalRequest:
    """Add the tool's preview of the call, if it has one. The ``ToolError`` of a preview refuses the call before a
    person is asked about it."""
    if tool.preview is None:
        return request
    async with asyncio.timeout(_PREVIEW_SECONDS):
        text: Any = await tool.preview(dict(request.arguments))
    return replaced(request, preview=text.say(language) if isinstance(text, Worded) else str(text))
