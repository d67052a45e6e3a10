"""``tooltrue chat``: a conversation of a person with a model and tools at a terminal; or one question of a script."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import click

from tooltrue._internal.platform import stop_signals
from tooltrue._internal.platform.terminal_input import is_terminal
from tooltrue.cli.audit_log import show
from tooltrue.cli.chat_screens import JsonScreen, Screen, TerminalScreen, why
from tooltrue.cli.chat_tools import Tools, chat_tools
from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.numbers import SECONDS
from tooltrue.cli.printing import one_line
from tooltrue.cli.wording import CHAT_TOOLS_REQUIRED
from tooltrue.errors import ConfigurationError, TooltrueError
from tooltrue.host.calls import BackgroundCall
from tooltrue.host.chat import ChatSession
from tooltrue.host.logs import ServerLog
from tooltrue.host.models.endpoints import model_of
from tooltrue.host.models.model import Message, Model, SystemMessage, UserMessage
from tooltrue.host.prompters import idle_line
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
            return await use(await _Desk.of(model, tools, screen, begins, steps, language, talks=asks))

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
    news: asyncio.Event
    running: asyncio.Task[RunResult] | None = field(default=None, init=False)

    @classmethod
    async def of(
        cls,
        model: Model,
        tools: Tools,
        screen: Screen,
        begins: list[Message],
        steps: int,
        language: str,
        *,
        talks: bool,
    ) -> _Desk:
        """``talks``: the chat goes on while calls run as tasks."""
        news = asyncio.Event()
        chat = ChatSession(
            model,
            tools.provider,
            screen.on_event,
            origin=tools.origin,
            limits=RunLimits(steps=steps),
            context=tools.context,
            language=language,
            news=news if talks else None,
        )
        return cls(chat, tools, screen, begins, (await tools.log.head()).position, news)

    async def say(self, text: str) -> RunResult:
        """Run one question. It can be cancelled without ending the chat."""
        messages, self.begins = [*self.begins, UserMessage((text,))], []
        return await self._run(self.chat.say(messages))

    async def go_on(self) -> RunResult:
        """Let the model answer to the result of a task. It can be cancelled as a question can."""
        return await self._run(self.chat.go_on())

    async def _run(self, answering: Coroutine[Any, Any, RunResult]) -> RunResult:
        self.running = asyncio.get_running_loop().create_task(answering)
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
    try:
        with _interrupting(desk), contextlib.suppress(EOFError, asyncio.CancelledError):
            while True:
                await _one_turn(desk)
    finally:
        if running := [call for call in desk.chat.tasks.values() if not call.is_ended]:
            desk.screen.note(f"cancelled: {', '.join(call.step.use.name for call in running)}")
        await desk.chat.close()
    return 0


async def _one_turn(desk: _Desk) -> None:
    """Answer the results of tasks that have ended, or else the next line of the person."""
    desk.news.clear()
    if desk.chat.has_results:
        await _answer(desk, desk.go_on())
        return
    with desk.screen.prompting() as prompt:
        typed = await idle_line(sys.stdin.fileno(), prompt, desk.news)
    line = (typed or "").strip()
    if line.startswith("/"):
        await _command(desk, *line[1:].split())
    elif line:
        await _answer(desk, desk.say(line))


async def _answer(desk: _Desk, answering: Awaitable[RunResult]) -> None:
    try:
        await answering
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


async def _tasks(desk: _Desk, words: tuple[str, ...]) -> None:
    for number, call in desk.chat.tasks.items():
        desk.screen.note(one_line(f"{number}  {call.step.use.name}  {_state(call)}  {call.id[:8]}  {call.progress}"))
    if not desk.chat.tasks:
        desk.screen.note("No call runs as a task.")


def _state(call: BackgroundCall) -> str:
    return "ended" if call.is_ended else "working"


async def _cancel(desk: _Desk, words: tuple[str, ...]) -> None:
    call = desk.chat.tasks.get(_number(words, 0))
    if call is None or call.is_ended:
        desk.screen.note("There is no such task; /tasks lists them.")
    else:
        call.cancel()


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
    "tasks": (_tasks, "which calls go on as tasks, in which state"),
    "cancel": (_cancel, "N: cancel this task"),
    "help": (_help, "this"),
    "quit": (_quit, "end the chat"),
}


def _number(words: tuple[str, ...], default: int) -> int:
    return int(words[0]) if words and words[0].isdecimal() and int(words[0]) > 0 else default
