"""``execute_command`` and ``list_commands``: the allowlist as a model sees it, and the results of programs."""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue.errors import ConfigurationError, ToolError
from tooltrue.protocol.types import CallToolResult, ResourceLink, replaced
from tooltrue.tools.content import structured
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.meta_keys import CONFINED_BY, NOT_CONFINED
from tooltrue.tools.vocabulary import Context, Slice
from tooltrue.wording import Worded, sentence
from tooltrue_toolbox.command.allowlist import AllowList, Command
from tooltrue_toolbox.command.wording import (
    ALLOWLIST_WRITABLE_BY_COMMANDS,
    COMMAND_ALLOWLIST_EMPTY,
    COMMAND_ARGUMENT_UNPRINTABLE,
    COMMAND_CONFINEMENT_FAILED,
    COMMAND_ENDED_BY_SIGNAL,
    COMMAND_KILLED_EXTERNALLY,
    COMMAND_KILLED_EXTERNALLY_IN_GROUP,
    COMMAND_OUTPUT_LIMIT_EXCEEDED,
    COMMAND_PROCESS_LIMIT_EXCEEDED,
    COMMAND_START_FAILED,
    COMMAND_TIMEOUT,
    COMMAND_TIMEOUT_IN_GROUP,
    COMMANDS_ARE_NOT_CONFINED,
    CONFINEMENT_NOT_AVAILABLE,
    CONFINEMENT_NOT_SUPPORTED,
    LABEL_COMMAND_NOT_CONFINED,
    LABEL_COMMAND_WITH_NETWORK,
    LABEL_COMMAND_WITHOUT_NETWORK,
    PROGRAMS_ENDED_BY_JOB_OBJECT,
    PROGRAMS_ENDED_BY_PROCESS_GROUP,
    UNKNOWN_ALLOWED_COMMAND,
    WORKING_DIRECTORY_REQUIRED,
)
from tooltrue_toolbox.platform.sandbox.programs import (
    HOLDS,
    LIMITED_BY,
    ProcessOutcome,
    SandboxBounds,
    SandboxJob,
    part_of,
    run,
    what_holds,
)
from tooltrue_toolbox.registration import preview_of, settings_of, tool
from tooltrue_toolbox.rooted_paths import Folders, PathRules, Target, path_errors

__all__ = ["Commands", "toolset"]

_log = logging.getLogger("tooltrue")

AT_ONCE = 8
"""Programs that run at the same time, for all callers together."""

SHOWN_CHARACTERS = 16_384
"""Characters of a stream in a result: half of them from its beginning, half from its end."""

_DESCRIBED = 1_200
"""Characters of the usage lines in the description; with more, ``list_commands`` has them."""

_MIB = 1 << 20
_LINKS = 40
_LAST_LINE = 200
_SECONDS = 5.0
"""Time for the end of a program, in addition to its own."""


@dataclass(frozen=True, slots=True)
class _CommandPlan:
    """A call that is allowed: its command line, and its working directory."""

    command: Command
    argv: tuple[str, ...]
    display_path: str
    names: tuple[str, ...]
    label: str


class Commands:
    """The tools over an allowlist and the folders in which its commands work.

    ``ConfigurationError`` where the list can be changed from within a folder, a required confinement mechanism is
    missing, or the system has none and the operator does not accept that.
    """

    def __init__(self, allowed: AllowList, roots: Sequence[Path], *, rules: PathRules | None = None) -> None:
        if LIMITED_BY is not None and not (allowed.may_be_unconfined or allowed.required):
            raise ConfigurationError.of(CONFINEMENT_NOT_SUPPORTED)
        if not allowed.commands:
            raise ConfigurationError.of(COMMAND_ALLOWLIST_EMPTY)
        self.allowed = allowed
        self.holds = what_holds()
        if missing := [name for name in allowed.required if name not in self.holds]:
            raise ConfigurationError.of(CONFINEMENT_NOT_AVAILABLE, missing=", ".join(missing))
        rules = rules or PathRules()
        self._roots = tuple(os.path.realpath(root) for root in roots)
        _check_out_of_reach(allowed, self._roots, rules)
        self._folders = Folders(roots, rules)

    def close(self) -> None:
        """Close the folders; every later call is refused."""
        self._folders.close()

    @tool(title="List commands", effect="read", idempotent=True, blocking=False, examples=({},))
    def list_commands(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """List the commands that execute_command runs (列出命令), with their options and arguments.

        Use when you need to know what can be run, or how a command is called. Not for running one: use
        execute_command. Side effects: none.
        """
        return {
            "commands": [
                {
                    "command": command.name,
                    "usage": command.usage(),
                    "description": command.description,
                    "effect": command.effect,
                    "network": command.network,
                    "seconds": self._bounds(command, None).seconds,
                    "words": command.words(),
                }
                for command in self.allowed.commands.values()
            ],
            "held_by": list(self.holds),
            **({} if LIMITED_BY is None else {"note": _unconfined_note(LIMITED_BY)}),
        }

    @tool(title="Run a command", idempotent=False, at_once=AT_ONCE, untrusted=True)
    async def execute_command(self, arguments: dict[str, Any], context: Context) -> CallToolResult:
        """Run one command, and wait for its end. Cancelling ends it, with all that it has started."""
        plan = self._plan(arguments)
        folder = self._folders[plan.label]
        with ExitStack() as opened, path_errors(plan.display_path, Target(folder, plan.names, plan.display_path)):
            spot = opened.enter_context(folder.find((*plan.names, "."), plan.display_path, "read"))
            writable = self._writable(plan.command, opened)
            job = self._job(plan, opened.enter_context(spot.directory()), writable, arguments.get("seconds"))
            outcome = await run(job, lambda size, part: context.progress(size, None, _last_line(part)))
        return self._result(plan, job.bounds, outcome, context)

    @preview_of(execute_command)
    def preview(self, arguments: dict[str, Any]) -> Worded:
        """The command line, for the person who is asked to approve it."""
        plan = self._plan(arguments)
        facts = {"program": plan.command.program, "words": list(plan.argv[1:]), "folder": plan.display_path}
        if LIMITED_BY is not None:
            return Worded(LABEL_COMMAND_NOT_CONFINED, facts)
        return Worded(LABEL_COMMAND_WITH_NETWORK if plan.command.network else LABEL_COMMAND_WITHOUT_NETWORK, facts)

    def _plan(self, arguments: dict[str, Any]) -> _CommandPlan:
        command = self.allowed.commands.get(arguments["command"])
        if command is None:
            raise ToolError.of(UNKNOWN_ALLOWED_COMMAND, known=", ".join(self.allowed.commands))
        directory = arguments.get("working_directory", ".")
        target = self._folders.target(directory)
        if target is None:
            raise ToolError.of(WORKING_DIRECTORY_REQUIRED, labels=", ".join(self._folders.labels))
        words: list[str] = arguments.get("args", [])
        if any(not word or any(ord(c) < 32 or ord(c) == 127 for c in word) for word in words):
            raise ToolError.of(COMMAND_ARGUMENT_UNPRINTABLE)
        argv = command.argv(words, self._folders, target.display_path)
        return _CommandPlan(command, argv, target.display_path, target.names, target.folder.label)

    def _job(
        self, plan: _CommandPlan, folder: int, writable: tuple[str | int, ...], seconds: float | None
    ) -> SandboxJob:
        command = plan.command
        return SandboxJob(
            command.program,
            plan.argv,
            folder,
            command.environment,
            (*self._roots, *command.readable),
            writable,
            command.network,
            self.allowed.required,
            self._bounds(command, seconds),
        )

    def _writable(self, command: Command, opened: ExitStack) -> tuple[str | int, ...]:
        """The places where it may write: none if its effect is "read", else the folders, or the parts that the entry
        names. ``None`` where that cannot be confined."""
        if command.effect == "read" or LIMITED_BY is not None:
            return ()
        return self._roots if command.writable is None else tuple(self._parts(command.writable, opened))

    def _parts(self, names: Sequence[str], opened: ExitStack) -> Iterator[int]:
        """The subfolders of these names in the served folders, open; links are skipped, since another command may have
        made them."""
        for label, name in product(self._folders.labels, names):
            spot = opened.enter_context(self._folders[label].find((), label, "read"))
            if (part := part_of(spot.parent, name)) is not None:
                opened.callback(os.close, part)
                yield part

    def _bounds(self, command: Command, seconds: float | None) -> SandboxBounds:
        limits, usual = command.limits, SandboxBounds()
        most = limits.get("seconds", usual.seconds)
        return replace(
            usual,
            seconds=most if seconds is None else min(seconds, most),
            cpu_seconds=int(limits.get("cpu_seconds", usual.cpu_seconds)),
            memory_bytes=int(limits.get("memory_mib", usual.memory_bytes // _MIB)) * _MIB,
            file_bytes=int(limits.get("file_mib", usual.file_bytes // _MIB)) * _MIB,
            output_bytes=int(limits.get("output_mib", usual.output_bytes // _MIB)) * _MIB,
            processes=int(limits.get("processes", usual.processes)),
        )

    def _result(
        self, plan: _CommandPlan, bounds: SandboxBounds, outcome: ProcessOutcome, context: Context
    ) -> CallToolResult:
        if outcome.cause == "confinement":
            raise ToolError.of(
                COMMAND_CONFINEMENT_FAILED, command=plan.command.name, missing=", ".join(outcome.missing)
            )
        if outcome.cause == "start":
            raise ToolError.of(COMMAND_START_FAILED, command=plan.command.name, problem=os.strerror(outcome.code))
        if outcome.cause == "lost":
            killed = COMMAND_KILLED_EXTERNALLY_IN_GROUP if _MAY_LEAVE_GROUP else COMMAND_KILLED_EXTERNALLY
            raise ToolError.of(killed, command=plan.command.name)
        links: list[ResourceLink] = []
        value: dict[str, Any] = {
            "command": plan.command.name,
            "working_directory": plan.display_path,
            "ended": outcome.cause,
            "stdout": _stream_text(outcome.output, "stdout", links, context),
            "stderr": _stream_text(outcome.errors, "stderr", links, context),
            "seconds": round(outcome.seconds, 3),
            **({} if outcome.cpu_seconds is None else {"cpu_seconds": outcome.cpu_seconds}),
            **({} if outcome.memory_bytes is None else {"peak_memory_bytes": outcome.memory_bytes}),
        }
        if outcome.cause == "exit":
            value["exit_code"] = outcome.code
        elif outcome.cause == "signal":
            value["signal"] = outcome.code
        if outcome.cause in _NOTES:
            code = _NOTES[outcome.cause]
            facts = {"seconds": bounds.seconds, "bytes": bounds.output_bytes, "processes": bounds.processes}
            value["note"] = f"{sentence(code, 'en', {**facts, 'signal': outcome.code})} [{code}]"
        result = structured(value)
        assert isinstance(result, CallToolResult)
        return replaced(result, content=[*result.content, *links])

    def longest(self) -> float:
        """The longest time limit of all commands, in seconds."""
        return max(self._bounds(command, None).seconds for command in self.allowed.commands.values())

    def description(self) -> str:
        """The description of ``execute_command``: its purpose, and the commands."""
        lines = [f"- {command.usage()}: {command.description}" for command in self.allowed.commands.values()]
        there = "\n".join(lines)
        if len(there) > _DESCRIBED:
            there = "See list_commands for their options: " + ", ".join(self.allowed.commands)
        unless = ", unless it has left its process group" if _MAY_LEAVE_GROUP else ""
        return (
            "Run one of the allowed commands (运行命令) with a list of arguments; returns its output and exit code.\n\n"
            "Use when a task needs one of the programs below. Not for shell lines: pipes, redirections, variables and "
            "wildcards are passed on as plain text, or refused. Side effects: those of the command"
            f"{_bounds_of_effect(self.allowed)}. Limits: each command has a time limit, and what it has started ends "
            f"with it{unless}; of long output the beginning and the end are shown, and the whole is linked.\n\n"
            f"Commands:\n{there}"
        )


_LIMITS_OF: Mapping[str, str] = {
    "process group": PROGRAMS_ENDED_BY_PROCESS_GROUP,
    "job object": PROGRAMS_ENDED_BY_JOB_OBJECT,
}


def _unconfined_note(limited_by: str) -> str:
    """The English sentences about programs that nothing confines, and what ends them instead."""
    return sentence(COMMANDS_ARE_NOT_CONFINED, "en", {"limits": Worded(_LIMITS_OF[limited_by], {})})


_MAY_LEAVE_GROUP = LIMITED_BY == "process group"
"""Whether a process that a program has started can outlive it."""

_NOTES = {
    "time": COMMAND_TIMEOUT_IN_GROUP if _MAY_LEAVE_GROUP else COMMAND_TIMEOUT,
    "output": COMMAND_OUTPUT_LIMIT_EXCEEDED,
    "processes": COMMAND_PROCESS_LIMIT_EXCEEDED,
    "signal": COMMAND_ENDED_BY_SIGNAL,
}


def _bounds_of_effect(allowed: AllowList) -> str:
    if LIMITED_BY is not None:
        return "; nothing confines it, so that it can change files and reach the network like the server itself"
    network = any(command.network for command in allowed.commands.values())
    files = "it changes no files" if allowed.effect() == "read" else "it may change files in its folders"
    return f"; {files}, and {'some reach the network' if network else 'it has no network'}"


def _check_out_of_reach(allowed: AllowList, roots: Sequence[str], rules: PathRules) -> None:
    """``ConfigurationError`` where a command could change the list, one of its programs, or our own files: these must
    lie outside the served folders."""
    programs = [word for each in allowed.commands.values() for word in (each.program, *each.fixed)]
    places = [*rules.places, *([allowed.file] if allowed.file else []), *map(Path, filter(os.path.isabs, programs))]
    for place, root in product(places, roots):
        if any(each.is_relative_to(root) or _is_same(each, root) for each in _on_the_way(place)):
            raise ConfigurationError.of(ALLOWLIST_WRITABLE_BY_COMMANDS, place=str(place), root=root)


def _on_the_way(place: Path) -> Iterator[Path]:
    """All paths that are resolved on the way to ``place``, itself and the links included: changing any of them changes
    it."""
    absolute = place.absolute()
    here, rest, links = Path(absolute.anchor), list(absolute.parts[1:]), 0
    while rest:
        name = rest.pop(0)
        here = here.parent if name == ".." else here / name
        yield here
        if links < _LINKS and (target := _target_of_link(here)) is not None:
            rest = [*target.parts, *rest]
            here, links = here.parent, links + 1


def _target_of_link(place: Path) -> Path | None:
    """The target of a link, or of a junction of Windows; ``None`` for anything else."""
    try:
        return Path(os.readlink(place).removeprefix(_VERBATIM))
    except OSError:
        return None


_VERBATIM = "\\\\?\\"
"""The beginning of a path that Windows reads as it is, as in the targets of its links."""


def _is_same(place: Path, folder: str) -> bool:
    """Whether both lead to one folder, whatever their spelling: names may have a case, or a second, short form."""
    try:
        return os.path.samestat(place.stat(), os.stat(folder))
    except OSError:
        return False


def _stream_text(data: bytes, name: str, links: list[ResourceLink], context: Context) -> str:
    """The text of a stream; a long one is stored, linked, and cut in its middle."""
    text = data.decode(errors="replace")
    if len(text) <= SHOWN_CHARACTERS:
        return text
    link = context.keep(text, f"{name}.txt", description=f"All of {name}")
    links.append(link)
    half, size = SHOWN_CHARACTERS // 2, len(text)
    excerpt = f"{text[:half]}\n[… {size - 2 * half} characters left out; all of it: {link.uri} …]\n{text[-half:]}"
    context.slices.extend((Slice.of(text, 0, half, excerpt), Slice.of(text, size - half, size, excerpt)))
    return excerpt


def _last_line(part: bytes) -> str | None:
    lines = part[-4 * _LAST_LINE :].decode(errors="replace").split("\n")
    return next((line.strip()[:_LAST_LINE] for line in reversed(lines) if line.strip()), None)


# Definitions

_WORD = {"type": "string", "minLength": 1, "maxLength": 4096, "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]*$"}


def _input(commands: Commands) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "command": {
                "type": "string",
                "enum": list(commands.allowed.commands),
                "description": "Which command to run; the description of this tool, or list_commands, says what each "
                "does",
            },
            "args": {
                "type": "array",
                "items": _WORD,
                "maxItems": 200,
                "default": [],
                "description": "What follows the name, one word an item, e.g. ['-n', '5', 'src/main.py']. An option "
                "and its value are two items, or one of the form --option=value. Nothing is quoted or expanded",
            },
            "working_directory": {
                "type": "string",
                "minLength": 1,
                "maxLength": 4096,
                "default": ".",
                "description": "Folder to run in, from the served folder down, e.g. 'src'; paths in args begin there",
            },
            "seconds": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": commands.longest(),
                "description": "End the command after so many seconds, if that is less than its own limit",
            },
        },
        "required": ["command"],
        "additionalProperties": False,
    }


OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "command": {"type": "string"},
        "working_directory": {"type": "string"},
        "ended": {
            "enum": ["exit", "signal", "time", "output", "processes"],
            "description": "By itself, by a signal, or because it took too long, said too much or started too much",
        },
        "exit_code": {
            "type": "integer",
            "minimum": 0,
            "maximum": 255 if HAS_POSIX else 0xFFFFFFFF,
            "description": "0 usually means success; there when it ended by itself",
        },
        "signal": {"type": "integer", "minimum": 1, "description": "There when a signal ended it"},
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
        "seconds": {"type": "number", "minimum": 0},
        "cpu_seconds": {"type": "number", "minimum": 0},
        "peak_memory_bytes": {"type": "integer", "minimum": 0, "description": "Of its largest process"},
        "note": {"type": "string", "description": "Why it was ended, and what to do next"},
    },
    "required": ["command", "working_directory", "ended", "stdout", "stderr", "seconds"],
    "additionalProperties": False,
}
_NOTE = {"note": {"type": "string", "description": "What the programs can reach, since nothing holds them"}}
LISTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "commands": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "Usable as command of execute_command"},
                    "usage": {"type": "string"},
                    "description": {"type": "string"},
                    "effect": {"type": "string"},
                    "network": {"type": "boolean", "description": "Whether it reaches the network"},
                    "seconds": {"type": "number", "description": "How long it may take"},
                    "words": {
                        "type": "object",
                        "additionalProperties": {"type": "string"},
                        "description": "What options and arguments mean",
                    },
                },
                "required": ["command", "usage", "description", "effect", "network", "seconds"],
                "additionalProperties": False,
            },
        },
        "held_by": {"type": "array", "items": {"enum": list(HOLDS)}, "description": "What holds the programs"},
        **({} if LIMITED_BY is None else _NOTE),
    },
    "required": ["commands", "held_by"],
    "additionalProperties": False,
}


def _examples(allowed: AllowList) -> list[dict[str, Any]]:
    """Example calls of commands that need no arguments, or have an example of their own; three at the most."""
    calls = [
        {"command": command.name, **({"args": list(command.example)} if command.example else {})}
        for command in allowed.commands.values()
        if command.example or all(value.optional for value in command.arguments)
    ]
    return calls[:3]


def toolset(allowed: AllowList, roots: Sequence[Path], *, rules: PathRules | None = None) -> LocalToolset:
    """The command tools over ``allowed``, working in ``roots``, ready to be served."""
    commands = Commands(allowed, roots, rules=rules)
    if LIMITED_BY is not None:
        _log.warning("%s", _unconfined_note(LIMITED_BY))
    tools = LocalToolset()
    execute = settings_of(
        commands.execute_command,
        description=commands.description(),
        effect=allowed.effect(),
        open_world=any(command.network for command in allowed.commands.values()),
        seconds=commands.longest() + _SECONDS,
        examples=_examples(allowed),
        meta={
            CONFINED_BY: list(commands.holds),
            **({} if LIMITED_BY is None else {NOT_CONFINED: _unconfined_note(LIMITED_BY)}),
        },
    )
    tools.add_raw("execute_command", _input(commands), commands.execute_command, output_schema=OUTPUT, **execute)
    tools.add_raw(
        "list_commands",
        {"type": "object", "properties": {}, "additionalProperties": False},
        commands.list_commands,
        output_schema=LISTED,
        **settings_of(commands.list_commands, description=inspect.getdoc(commands.list_commands) or ""),
    )
    return tools
