"""``tooltrue chat``: a conversation of a person with a model and tools at a terminal; or one question of a script."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import click

from tooltrue._internal.platform import stop_signals
from tooltrue._internal.platform.terminal_input import is_terminal
from tooltrue.cli.audit_log import show
from tooltrue.cli.chat_screens import JsonScreen, Screen, TerminalScreen, why
from tooltrue.cli.chat_tools import Tools, chat_tools
from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.numbers import SECONDS
from tooltrue.cli.printing import tell
from tooltrue.cli.wording import CHAT_TOOLS_REQUIRED
from tooltrue.errors import ConfigurationError, TooltrueError
from tooltrue.host.chat import ChatSession
from tooltrue.host.logs import ServerLog
from tooltrue.host.models.endpoints import model_of
from tooltrue.host.models.model import Message, Model, SystemMessage, UserMessage
from tooltrue.host.prompters import at_terminal, typed_line
from tooltrue.host.run import RunLimits, RunResult
from tooltrue.policy.audit.log_queries import entries

__all__ = ["command"]


@click.command(
    "chat",
    cls=TargetVerb,
    either=("target", "config"),
    example="tooltrue chat notes.py --model deepseek:deepseek-chat",
    short_help="Talk to a model that has tools.",
)
@click.argument("target", required=False)
@click.option("--config", metavar="FILE", help="A file of servers: mcpServers JSON, or TOML. The same as TARGET.")
@click.option("--model", "name", required=True, metavar="MODEL", help="PROVIDER:MODEL, or MODEL with --base-url.")
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible endpoint; its key is $TOOLTRUE_MODEL_KEY.")
@click.option("--rules", metavar="FILE", help="The operator's rules and settings, such as tooltrue.toml.")
@click.option("--timeout", type=SECONDS, default=30.0, show_default=True, help="Seconds for the servers to start.")
@click.option("--system", metavar="TEXT", help="The system prompt.")
@click.option(
    "--steps",
    type=click.IntRange(1),
    default=32,
    show_default=True,
    help="The largest number of answers of the model to a question.",
)
@click.option("--no-stream", is_flag=True, help="Wait for whole answers, for endpoints that cannot stream calls.")
@click.option("--json", "as_json", is_flag=True, help="The question is standard input; print an event a line.")
@click.pass_obj
def command(
    language: str,
    target: str | None,
    config: str | None,
    name: str,
    base_url: str | None,
    family: FamilyOptions,
    rules: str | None,
    timeout: float,
    system: str | None,
    steps: int,
    no_stream: bool,
    as_json: bool,
) -> None:
    """Talk to MODEL, which may call the tools of TARGET: a file of servers, or one server.

    At a terminal this is a conversation; /help lists its commands. Elsewhere, and with --json, standard input is the
    only question, and the exit code is 1 if the model did not finish.
    """
    if (target is None) == (config is None):
        raise ConfigurationError.of(CHAT_TOOLS_REQUIRED)
    source, asks = target or config or "", is_terminal(sys.stdin) and not as_json
    model = model_of(name, base_url=base_url, stream=not no_stream)
    begins: list[Message] = [SystemMessage(system)] if system else []
    use = _converse if asks else _ask

    async def main() -> int:
        screen = JsonScreen() if as_json else TerminalScreen()
        on_log = partial(_show_log, screen)
        async with model, chat_tools(source, family, rules, timeout, language, on_log, asks=asks) as tools:
            return await use(await _Desk.of(model, tools, screen, begins, steps, language))

    sys.exit(asyncio.run(main()))


def _show_log(screen: Screen, log: ServerLog) -> None:
    screen.on_event({"event": "log", **{name: getattr(log, name) for name in ServerLog.__struct_fields__}})


@dataclass
class _Desk:
    """A chat session. ``begins`` are messages sent before the first question, ``recorded`` is the position of the log
    at the start of the session."""

    chat: ChatSession
    tools: Tools
    screen: Screen
    begins: list[Message]
    recorded: int
    running: asyncio.Task[RunResult] | None = field(default=None, init=False)

    @classmethod
    async def of(
        cls, model: Model, tools: Tools, screen: Screen, begins: list[Message], steps: int, language: str
    ) -> _Desk:
        chat = ChatSession(
            model,
            tools.provider,
            screen.on_event,
            origin=tools.origin,
            limits=RunLimits(steps=steps),
            context=tools.context,
            language=language,
        )
        return cls(chat, tools, screen, begins, (await tools.log.head()).position)

    async def say(self, text: str) -> RunResult:
        """Run one question. It can be cancelled without ending the chat."""
        messages, self.begins = [*self.begins, UserMessage((text,))], []
        self.running = asyncio.get_running_loop().create_task(self.chat.say(messages))
        try:
            return await self.running
        finally:
            self.running = None


# --- a script --------------------------------------------------------------------------------------------------------


async def _ask(desk: _Desk) -> int:
    if isinstance(desk.screen, JsonScreen):
        desk.screen.tools(await desk.chat.offered())
    run = await desk.say(sys.stdin.read())
    return 0 if run.stop == "end" else 1


# --- a person --------------------------------------------------------------------------------------------------------


async def _converse(desk: _Desk) -> int:
    desk.screen.tools(await desk.chat.offered())
    desk.screen.note("/help says what there is besides; Ctrl-C interrupts; Ctrl-D ends.")
    with _interrupting(desk), contextlib.suppress(EOFError, asyncio.CancelledError):
        while True:
            async with at_terminal():
                line = (await typed_line(sys.stdin.fileno(), _prompt)).strip()
            if line.startswith("/"):
                await _command(desk, *line[1:].split())
            elif line:
                await _answer(desk, line)
    return 0


def _prompt() -> None:
    tell("\n> ", bold=True, nl=False, err=True)


async def _answer(desk: _Desk, line: str) -> None:
    try:
        await desk.say(line)
    except TooltrueError as error:
        desk.screen.note(f"tooltrue: {error.say(click.get_current_context().obj)}")
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        desk.screen.note("interrupted")


@contextlib.contextmanager
def _interrupting(desk: _Desk) -> Generator[None]:
    """Let Ctrl-C cancel the running question, or end the chat if no question is running."""
    task = asyncio.current_task()

    def interrupt() -> None:
        if (ends := desk.running or task) is not None:
            ends.cancel()

    with stop_signals.interrupting(interrupt):
        yield


# --- commands --------------------------------------------------------------------------------------------------------

_Command: TypeAlias = Callable[[_Desk, tuple[str, ...]], Awaitable[None]]


async def _command(desk: _Desk, name: str = "help", *words: str) -> None:
    await _COMMANDS.get(name, _COMMANDS["help"])[0](desk, words)


async def _tools(desk: _Desk, words: tuple[str, ...]) -> None:
    desk.screen.tools(await desk.chat.offered())


async def _allow(desk: _Desk, words: tuple[str, ...]) -> None:
    names = {one.name for one in await desk.chat.offered()}
    for name in words:
        if name not in names or not await desk.tools.allow(name):
            desk.screen.note(f"There is no tool {name}.")
    desk.screen.note(
        f"Without a question, in this chat: {', '.join(sorted(desk.tools.allowed.names.values())) or 'nothing'}"
    )


async def _why(desk: _Desk, words: tuple[str, ...]) -> None:
    number, calls = _number(words, 1), desk.chat.calls
    desk.screen.note(why(calls[-number]) if number <= len(calls) else "There was no such call.")


async def _audit(desk: _Desk, words: tuple[str, ...]) -> None:
    records = [entry async for entry in entries(desk.tools.log, desk.recorded)]
    show(records[-_number(words, 20) :], as_json=False)


async def _help(desk: _Desk, words: tuple[str, ...]) -> None:
    for name, (_, text) in _COMMANDS.items():
        desk.screen.note(f"/{name:<14}{text}")


async def _quit(desk: _Desk, words: tuple[str, ...]) -> None:
    raise EOFError


_COMMANDS: dict[str, tuple[_Command, str]] = {
    "tools": (_tools, "which tools there are, from whom, and which the model is not shown"),
    "allow": (_allow, "TOOL…: let it run without a question, until this chat ends"),
    "why": (_why, "[N]: what decided about the newest call, or the N-th before the end"),
    "audit": (_audit, "[N]: the last records of this chat"),
    "help": (_help, "this"),
    "quit": (_quit, "end the chat"),
}


def _number(words: tuple[str, ...], default: int) -> int:
    return int(words[0]) if words and words[0].isdecimal() and int(words[0]) > 0 else default
