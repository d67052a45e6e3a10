"""Ways to put a question to a person: a function of the program that embeds the host, or a terminal.

Without either there is no prompter, and calls wait as tickets for ``tooltrue approvals``.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from tooltrue._internal.platform.terminal_input import discard_typed, is_terminal, typed_text
from tooltrue.errors import ParseError
from tooltrue.host.approval_prompts import (
    Always,
    ApprovalAnswer,
    ApprovalPrompter,
    ApprovalQuestion,
    EditedArguments,
    No,
    Once,
    ThisSession,
)
from tooltrue.host.wording import CONSOLE_APPROVE_CALL, CONSOLE_EDITED_ARGUMENTS, CONSOLE_VARIABLE_ARGUMENTS
from tooltrue.jsonrpc.messages import decode, is_object
from tooltrue.policy.consent.argument_display import display_text
from tooltrue.protocol.terminal import printable
from tooltrue.wording import sentence

__all__ = ["ReadLine", "at_terminal", "callback", "idle_line", "lines_of", "prompting", "terminal", "typed_line"]

ReadLine: TypeAlias = Callable[[str], Awaitable[str]]
"""Shows a prompt and returns the line that was typed, without its end. ``EOFError`` at the end of input."""


def callback(function: Callable[[ApprovalQuestion], Any]) -> ApprovalPrompter:
    """A prompter from a function. ``function(question)`` returns an answer, or ``True`` for :class:`Once`. Any other
    value is a no. It may be ``async``."""

    async def prompter(question: ApprovalQuestion) -> ApprovalAnswer:
        reply = function(question)
        return _answer(await reply if inspect.isawaitable(reply) else reply)

    return prompter


def _answer(reply: object) -> ApprovalAnswer:
    if isinstance(reply, Once | ThisSession | Always | EditedArguments | No):
        return reply
    return Once() if reply is True else No()


def terminal(language: str = "en") -> ApprovalPrompter | None:
    """The terminal at which the program was started, or ``None`` without one: piped input is not a person's answer."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return None
    ask = prompting(lines_of(sys.stdin.fileno(), _on_stderr), _on_stderr, language)

    async def prompter(question: ApprovalQuestion) -> ApprovalAnswer:
        async with at_terminal():
            return await ask(question)

    return prompter


class _Turns:
    """The turns of questions at the one terminal. ``requests`` is set while a question waits for its turn."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.requests = asyncio.Event()
        self.waiting = 0


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns] = WeakKeyDictionary()


def _turns_here() -> _Turns:
    return _turns.setdefault(asyncio.get_running_loop(), _Turns())


@contextlib.asynccontextmanager
async def at_terminal() -> AsyncGenerator[None]:
    """Hold the one terminal exclusively, so that no answer is taken for that to another question."""
    turns = _turns_here()
    turns.waiting += 1
    turns.requests.set()
    try:
        await turns.lock.acquire()
    finally:
        turns.waiting -= 1
        if not turns.waiting:
            turns.requests.clear()
    try:
        yield
    finally:
        turns.lock.release()


async def idle_line(descriptor: int, prompt: Callable[[], None], news: asyncio.Event) -> str | None:
    """Read the next line at a terminal, and let questions that come meanwhile have it first; the prompt is shown again
    after each. ``None`` as soon as ``news`` is set. ``EOFError`` at the end of input."""
    while not news.is_set():
        async with at_terminal():
            line = await _before(typed_line(descriptor, prompt), _turns_here().requests, news)
        if line is not None:
            return line
    return None


async def _before(reading: Coroutine[Any, Any, str], *events: asyncio.Event) -> str | None:
    """Return what is read, or ``None`` if one of the events comes first; then nothing is taken."""
    line = asyncio.ensure_future(reading)
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait((line, *waiting), return_when="FIRST_COMPLETED")
        return await line if line.done() else None
    finally:
        for one in (line, *waiting):
            one.cancel()
        await asyncio.wait((line, *waiting))


def _on_stderr(text: str) -> None:
    sys.stderr.write(printable(text))
    sys.stderr.flush()


def lines_of(descriptor: int, write: Callable[[str], None]) -> ReadLine:
    """Read lines typed at a terminal. Input typed before the prompt was shown is discarded, and a cancelled question
    takes no line from the next."""

    async def read(prompt: str) -> str:
        discard_typed(descriptor)
        return await typed_line(descriptor, lambda: write(prompt))

    return read


async def typed_line(descriptor: int, prompt: Callable[[], None]) -> str:
    """Read the next line at a terminal, typed before its prompt or after, without blocking the event loop. ``EOFError``
    at the end of input."""
    prompt()
    if not (line := await typed_text(descriptor)):
        raise EOFError
    return line.rstrip("\r\n")


_MISSES = 3
_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("y", "yes", "once", "是"), "once"),
    **dict.fromkeys(("s", "session"), "session"),
    **dict.fromkeys(("a", "always"), "always"),
    **dict.fromkeys(("e", "edit"), "edit"),
    **dict.fromkeys(("n", "no", "deny", "否", ""), "deny"),
}


def prompting(read_line: ReadLine, write: Callable[[str], None], language: str = "en") -> ApprovalPrompter:
    """Show the question in full, and read one word as the answer, after a no also the reason on the same line. An empty
    line is a no, and so are repeated invalid answers."""

    def say(code: str, **facts: object) -> str:
        return sentence(code, language, facts)

    async def prompter(question: ApprovalQuestion) -> ApprovalAnswer:
        write(f"\n{question.text}\n\n")
        if question.problem:
            write(f"{display_text(question.problem)}\n")
        for _ in range(_MISSES):
            word, _, reason = (await read_line(say(CONSOLE_APPROVE_CALL))).strip().partition(" ")
            match _WORDS.get(word.lower()):
                case "once" if not reason:
                    return Once()
                case "session" if not reason:
                    return ThisSession()
                case "always" if not reason:
                    return await always(question)
                case "edit" if not reason:
                    if (edit := await edited()) is not None:
                        return edit
                case "deny":
                    return No(reason.strip())
                case _:
                    continue
        return No()

    async def always(question: ApprovalQuestion) -> ApprovalAnswer:
        arguments = question.request.arguments
        names = await read_line(say(CONSOLE_VARIABLE_ARGUMENTS, names=", ".join(arguments) or "-"))
        free = {name for part in names.split(",") if (name := part.strip())}
        return Always(_pattern(arguments, free))

    async def edited() -> EditedArguments | None:
        try:
            edited_arguments = decode((await read_line(say(CONSOLE_EDITED_ARGUMENTS))).encode(errors="surrogateescape"))
        except ParseError as error:
            write(f"{error.say(language)}\n")
            return None
        return EditedArguments(edited_arguments) if is_object(edited_arguments) else None

    return prompter


def _pattern(arguments: Any, free: set[str]) -> dict[str, Any]:
    """A schema for calls that differ from this one only in the arguments of these names."""
    fixed = {name: {"const": value} for name, value in arguments.items() if name not in free}
    properties = {**dict.fromkeys(sorted(free), True), **fixed}
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(fixed),
        "additionalProperties": False,
    }
