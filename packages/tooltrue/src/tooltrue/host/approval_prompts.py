"""Approval by the person at the host: one question at a time, with all facts for the decision; no answer counts as a
no.

The scope of an approval, the place of tickets and the consumption of grants are the same as on a server
(:mod:`tooltrue.policy.layers.confirm`); only the way to the person differs. A prompter puts a question and returns the
answer (:mod:`tooltrue.host.prompters`); without one, a call waits as a ticket.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from tooltrue.contract.digests import fields
from tooltrue.errors import ConfigurationError, InvalidArguments, SchemaError, ToolError
from tooltrue.host.wording import (
    APPROVAL_QUESTION_UNANSWERED,
    APPROVAL_TICKET_ISSUED_BY_HOST,
    APPROVAL_USED_BY_IDENTICAL_CALL,
    ARGUMENTS_EDITED_BY_USER,
    HOST_APPROVAL_QUESTION,
    IDENTICAL_CALL_RECENTLY_DENIED,
    LABEL_DEFINITION_CHANGED_FIELDS,
    LABEL_LAST_APPROVED_DEFINITION,
    TOO_MANY_ARGUMENT_EDITS,
    TOO_MANY_HOST_QUESTIONS,
)
from tooltrue.jsonrpc.messages import encode
from tooltrue.policy.consent.approvals import ApprovalRequest, Approvals
from tooltrue.policy.consent.argument_display import display_arguments, display_text
from tooltrue.policy.consent.question import AnsweredGrant, StandingGrant, TicketGrant
from tooltrue.policy.layers.confirm import Confirm, Confirming, previewed
from tooltrue.policy.layers.validate import check_arguments
from tooltrue.policy.tasks.budget import with_note
from tooltrue.policy.wording import (
    APPROVAL_DENIED,
    APPROVAL_DENIED_WITH_REASON,
    APPROVAL_QUESTIONS_RATE_LIMITED,
    ARGUMENTS_TOO_LONG_FOR_APPROVAL,
)
from tooltrue.protocol.types import CallToolResult, InputRequiredResult, TextContent, ToolOutcome, Value, replaced
from tooltrue.state.facts import Facts
from tooltrue.tools.tasks import Task
from tooltrue.tools.toolset import Provider, Wrapper
from tooltrue.tools.vocabulary import Grant, Tool, ToolCall
from tooltrue.wording import LABEL_NUMBER_ABOVE_ZERO, SETTING_INVALID, Worded, sentence

__all__ = [
    "Always",
    "ApprovalAnswer",
    "ApprovalPrompter",
    "ApprovalQuestion",
    "EditedArguments",
    "No",
    "Once",
    "PromptLimits",
    "ThisSession",
    "apply_edits",
    "ask_person",
]

_log = logging.getLogger("tooltrue")


# -- questions and answers ---------------------------------------------------------------------------------------------


class ApprovalQuestion(Value, frozen=True):
    """One call that a person decides about. ``text`` is all that they have to see, with invisible characters escaped.

    ``tool`` has the schema that edited arguments have to match; ``problem`` is the mistake in the last answer.
    """

    request: ApprovalRequest
    tool: Tool
    text: str
    problem: str = ""


class Once(Value, frozen=True):
    """Yes, to this call."""


class ThisSession(Value, frozen=True):
    """Yes, to this call and each identical one for a while."""


class Always(Value, frozen=True):
    """Yes, to this call and each later call of this tool whose arguments match ``pattern``, a JSON Schema, for a long
    time."""

    pattern: Mapping[str, Any]


class EditedArguments(Value, frozen=True):
    """Run the call with these arguments instead: they are validated, authorized and shown again."""

    arguments: Mapping[str, Any]


class No(Value, frozen=True):
    """No. ``reason`` is passed to the model."""

    reason: str = ""


ApprovalAnswer: TypeAlias = Once | ThisSession | Always | EditedArguments | No
_AUDIT_WORDS: Mapping[type[ApprovalAnswer], str] = {Once: "once", ThisSession: "session", Always: "always"}

ApprovalPrompter: TypeAlias = Callable[[ApprovalQuestion], Awaitable[ApprovalAnswer]]


class PromptLimits(Value, frozen=True):
    """Limits for questions. ``seconds`` is how long a question waits for its answer; then it counts as a no.
    ``always_seconds``: how long the approval of a pattern holds. ``waiting``: questions open at once, at the most.
    ``no_seconds``: how long the identical call is refused after a no, without asking again. ``edits`` of one call at
    the most."""

    seconds: float = 900.0
    always_seconds: float = 2_592_000.0
    waiting: int = 20
    no_seconds: float = 60.0
    edits: int = 5

    def __post_init__(self) -> None:
        for name in ("seconds", "always_seconds", "waiting", "no_seconds", "edits"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ConfigurationError.of(
                    SETTING_INVALID, name=f"PromptLimits({name}=…)", wanted=Worded(LABEL_NUMBER_ABOVE_ZERO, {})
                )


# -- the layers --------------------------------------------------------------------------------------------------------


def ask_person(
    settings: Confirm,
    asking: PromptLimits,
    approvals: Approvals,
    facts: Facts,
    prompter: ApprovalPrompter | None,
    common: Task,
    *,
    server: str,
    instance: str,
    language: str,
) -> Callable[[Provider], Provider]:
    """Run a call that needs approval only after the person has approved exactly that call. ``common`` is the task of
    calls without one."""
    queue = _PromptQueue(prompter)
    return lambda inner: _AskPerson(
        inner, settings, approvals, facts, server, instance, "", language, asking, queue, common
    )


def apply_edits(settings: PromptLimits, language: str) -> Callable[[Provider], Provider]:
    """Pass a call that the person has edited through all layers below again, as if the model had sent it."""
    return lambda inner: _ApplyEdits(inner, settings, language)


class _Changed(Exception):
    """The person has edited the arguments."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        super().__init__("the person has changed the arguments")
        self.arguments = arguments


class _ApplyEdits(Wrapper, frozen=True):
    settings: PromptLimits
    language: str

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        for edits in range(self.settings.edits + 1):
            try:
                outcome = await self.inner.call_tool(call)
            except _Changed as changed:
                call = _with(call, changed.arguments)
                continue
            return self._with_notice(outcome, call) if edits else outcome
        raise ToolError.of(TOO_MANY_ARGUMENT_EDITS, tool=call.name)

    def _with_notice(self, outcome: ToolOutcome, call: ToolCall) -> ToolOutcome:
        if not isinstance(outcome, CallToolResult):
            return outcome
        notice = sentence(
            ARGUMENTS_EDITED_BY_USER, self.language, {"tool": call.name, "arguments": _json(call.arguments)}
        )
        return replaced(outcome, content=[TextContent(text=notice), *outcome.content])


def _with(call: ToolCall, arguments: dict[str, Any]) -> ToolCall:
    """The call with other arguments, without any decision made for the old ones."""
    names = {*arguments, *call.arguments}
    other = sorted(name for name in names if arguments.get(name) != call.arguments.get(name))
    with_note(call, f"edited by the person: {', '.join(other)}")
    if call.context.trail is not None:
        call.context.trail.edited = arguments
    return replaced(call, arguments=arguments, asks=None, grant=None, stake="")


def _json(arguments: Mapping[str, Any]) -> str:
    return encode(arguments).decode()


_Outcome: TypeAlias = ApprovalAnswer | ToolError | None
"""The outcome of a question: the answer, the reason why it was not put, or ``None`` without an answer."""


class _PromptQueue:
    """The queue of questions to the one person. ``open``: waiting or displayed questions, by the call's key."""

    def __init__(self, prompter: ApprovalPrompter | None) -> None:
        self.prompter = prompter
        self.open: dict[str, asyncio.Future[_Outcome]] = {}
        self._turn: asyncio.Lock | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def turn(self) -> asyncio.Lock:
        """The lock that orders questions, one per event loop."""
        loop = asyncio.get_running_loop()
        if self._turn is None or self._loop is not loop:
            self._turn, self._loop, self.open = asyncio.Lock(), loop, {}
        return self._turn


class _AskPerson(Confirming, frozen=True):
    asking: PromptLimits
    queue: _PromptQueue
    common: Task

    async def _decided(self, call: ToolCall, tool: Tool) -> Grant | InputRequiredResult:
        request = self._request(call, tool)
        if (grant := await self._existing_grant(request)) is not None:
            return grant
        if self.queue.prompter is None:
            raise await self._ticket(await previewed(request, tool, self.language), APPROVAL_TICKET_ISSUED_BY_HOST)
        turn = self.queue.turn
        if (same := self.queue.open.get(request.key)) is not None:
            return await self._as_the_other(request, await asyncio.shield(same))
        if len(self.queue.open) >= self.asking.waiting:
            raise ToolError.of(TOO_MANY_HOST_QUESTIONS, tool=request.tool, limit=self.asking.waiting)
        # Registered before the next await: an identical call that comes meanwhile shares this question.
        answer: asyncio.Future[_Outcome] = asyncio.get_running_loop().create_future()
        self.queue.open[request.key] = answer
        try:
            if (refusal := await self._not_to_be_asked(request)) is not None:
                answer.set_result(refusal)
                raise refusal
            async with self._waiting(call), turn:
                return await self._ask_in_turn(self.queue.prompter, request, call, tool, answer)
        finally:
            self.queue.open.pop(request.key, None)
            if not answer.done():
                answer.set_result(None)

    async def _as_the_other(self, request: ApprovalRequest, outcome: _Outcome) -> Grant:
        """Share the answer of the identical call that was asked about first. A yes to a single run does not cover this
        one."""
        match outcome:
            case None:
                raise ToolError.of(APPROVAL_QUESTION_UNANSWERED, tool=request.tool)
            case ToolError():
                raise outcome
            case ThisSession() | Always():
                return StandingGrant("the person")
            case No():
                raise _refusal(request, outcome)
            case Once() | EditedArguments():
                raise ToolError.of(APPROVAL_USED_BY_IDENTICAL_CALL, tool=request.tool)

    async def _not_to_be_asked(self, request: ApprovalRequest) -> ToolError | None:
        """The reason not to ask the person, if there is one."""
        if (before := await self.facts.get(_denied(request))) is not None:
            return ToolError.of(IDENTICAL_CALL_RECENTLY_DENIED, tool=request.tool, reason=before.decode() or "-")
        if wait := await self._take("questions:", request, self.settings.questions, 60.0):
            return ToolError.of(APPROVAL_QUESTIONS_RATE_LIMITED, tool=request.tool, seconds=wait)
        return None

    @contextlib.asynccontextmanager
    async def _waiting(self, call: ToolCall) -> AsyncGenerator[None]:
        """Stop the clock of the task while a person is asked, and note the time that this takes."""
        task, loop = call.context.task or self.common, asyncio.get_running_loop()
        began = loop.time()
        task.begin_question()
        try:
            yield
        finally:
            task.end_question()
            if (trail := call.context.trail) is not None:
                trail.asked += loop.time() - began

    async def _ask_in_turn(
        self,
        prompter: ApprovalPrompter,
        request: ApprovalRequest,
        call: ToolCall,
        tool: Tool,
        answer: asyncio.Future[_Outcome],
    ) -> Grant:
        if (grant := await self._existing_grant(request)) is not None:  # an answer meanwhile covered this call too
            # A grant for a single run does not cover the identical calls that wait.
            answer.set_result(Once() if isinstance(grant, TicketGrant) else ThisSession())
            return grant
        request = await previewed(request, tool, self.language)
        text = await self._text(request, tool)
        if len(text) > self.settings.max_shown:
            raise await self._ticket(request, ARGUMENTS_TOO_LONG_FOR_APPROVAL)
        problem = ""
        for _ in range(self.asking.edits):
            reply = await self._person_answer(prompter, ApprovalQuestion(request, tool, text, problem))
            match reply:
                case None:
                    with_note(call, "not answered by the person")
                    raise ToolError.of(APPROVAL_QUESTION_UNANSWERED, tool=request.tool)
                case No():
                    answer.set_result(reply)
                    with_note(call, f"denied by the person: {reply.reason}" if reply.reason else "denied by the person")
                    await self.facts.put(_denied(request), reply.reason.encode(), self.asking.no_seconds)
                    raise _refusal(request, reply)
                case EditedArguments():
                    try:
                        arguments = check_arguments(tool, dict(reply.arguments))
                    except InvalidArguments as error:
                        problem = error.say(self.language)
                        continue
                    answer.set_result(reply)
                    raise _Changed(arguments)
                case Once() | ThisSession() | Always():
                    try:
                        grant = await self._granted(request, reply)
                    except (ConfigurationError, SchemaError) as error:  # an invalid pattern, or one for other calls
                        problem = error.say(self.language)
                        continue
                    await self.approvals.note_last(request, fields(tool.definition))
                    answer.set_result(reply)
                    with_note(call, f"agreed to by the person: {_AUDIT_WORDS[type(reply)]}")
                    return grant
        raise ToolError.of(TOO_MANY_ARGUMENT_EDITS, tool=request.tool)

    async def _person_answer(self, prompter: ApprovalPrompter, question: ApprovalQuestion) -> ApprovalAnswer | None:
        """The answer of the person, or ``None`` if there is none in time."""
        try:
            async with asyncio.timeout(self.asking.seconds):
                return await prompter(question)
        except (TimeoutError, EOFError):
            return None
        except Exception:  # noqa: BLE001 - of whoever asks: it is logged, and a no
            _log.exception("%s was refused: nobody could be asked", question.request.tool)
            return None

    async def _granted(self, request: ApprovalRequest, answer: Once | ThisSession | Always) -> Grant:
        match answer:
            case Once():
                return AnsweredGrant(
                    self.facts, self.approvals, request, secrets.token_hex(16), by="the person, this once"
                )
            case ThisSession():
                await self.approvals.remember(request, "session", self.settings.session_seconds)
            case Always():
                await self.approvals.remember(request, "pattern", self.asking.always_seconds, answer.pattern)
        return StandingGrant(
            "the person, for a while" if isinstance(answer, ThisSession) else "the person, for a pattern"
        )

    async def _text(self, request: ApprovalRequest, tool: Tool) -> str:
        """All facts for the decision. Neither a model nor a server controls the layout."""
        names = {"server": request.server or "-", "tool": request.tool, "effect": request.effect}
        parts = [
            sentence(HOST_APPROVAL_QUESTION, self.language, {key: display_text(name) for key, name in names.items()})
        ]
        parts += [display_text(request.reason)] if request.reason else []
        parts += [display_arguments(request.arguments)]
        parts += await self._changes(request, tool)
        parts += [display_text(request.preview)] if request.preview else []
        return "\n\n".join(parts)

    async def _changes(self, request: ApprovalRequest, tool: Tool) -> list[str]:
        """The differences from the person's last approval of this tool."""
        last = await self.approvals.last(request)
        if last is None:
            return []
        now = fields(tool.definition)
        parts = sorted(name for name in {*now, *last.fields} if now.get(name) != last.fields.get(name))
        lines = (
            [sentence(LABEL_DEFINITION_CHANGED_FIELDS, self.language, {"fields": ", ".join(parts)})] if parts else []
        )
        before = {
            name: value
            for name, value in last.arguments.items()
            if name not in request.arguments or request.arguments[name] != value
        }
        return [
            *lines,
            *(
                [f"{sentence(LABEL_LAST_APPROVED_DEFINITION, self.language, {})}\n{display_arguments(before)}"]
                if before
                else []
            ),
        ]


def _denied(request: ApprovalRequest) -> str:
    return "said no:" + request.key


def _refusal(request: ApprovalRequest, answer: No) -> ToolError:
    if not answer.reason:
        return ToolError.of(APPROVAL_DENIED, tool=request.tool)
    return ToolError.of(APPROVAL_DENIED_WITH_REASON, tool=request.tool, reason=answer.reason)
