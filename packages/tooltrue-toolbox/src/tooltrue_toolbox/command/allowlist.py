"""The allowlist: the programs that may be run, their options, and the rules for each value.

An entry is a template, not a name: fixed words, an explicit list of options, and arguments in their order. The request
of a model is matched against it word by word, and the command line is built anew; there is no shell, and words are
never split, expanded or guessed. An option that the entry does not have is refused, however harmless.

The schema of the file is :data:`FILE`; ``docs/toolbox/command.md`` explains it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue.errors import ConfigurationError, SchemaError, ToolError, fact_of
from tooltrue.protocol.schema import OWN, Schema, compile_schema
from tooltrue.tools.vocabulary import EFFECTS, Effect
from tooltrue.wording import LABEL_NONE, REASON_NOT_UTF8, SETTING_INVALID, Worded, alternatives
from tooltrue_toolbox.command.wording import (
    ALLOWED_COMMAND_OPTION_UNKNOWN,
    COMMAND_ALLOWLIST_EMPTY,
    COMMAND_ALLOWLIST_INVALID,
    COMMAND_ALLOWLIST_UNREADABLE,
    COMMAND_ARGUMENT_COUNT_WRONG,
    COMMAND_BATCH_FILE,
    COMMAND_ENTRY_INVALID,
    COMMAND_FIRST_ARGUMENT_NOT_FIXED,
    COMMAND_INTERPRETER_NOT_ALLOWED,
    COMMAND_OPTION_DANGEROUS,
    COMMAND_OPTION_TAKES_NO_VALUE,
    COMMAND_OPTION_VALUE_MISSING,
    COMMAND_PATH_OUTSIDE_DIRECTORY,
    COMMAND_PROGRAM_NOT_FOUND,
    COMMAND_VALUE_BEGINS_WITH_DASH,
    COMMAND_VALUE_BEGINS_WITH_SLASH,
    COMMAND_VALUE_HAS_QUOTE,
    COMMAND_VALUE_INVALID,
    DUPLICATE_COMMAND_OPTION,
    LABEL_THE_ALLOWLIST,
    REASON_ARGUMENT_NOT_LAST,
)
from tooltrue_toolbox.platform import path_syntax
from tooltrue_toolbox.platform.programs import PROGRAMS, Misreading
from tooltrue_toolbox.platform.sandbox.mechanisms import HOLDS
from tooltrue_toolbox.rooted_paths import Folders, path_errors

__all__ = ["FILE", "AllowList", "Command", "WordRule", "confined", "read", "read_text", "simple"]

LONGEST = 4096
"""Characters of one argument."""

_ENVIRONMENT = {"LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1", "GIT_TERMINAL_PROMPT": "0", "PAGER": "cat"}

INTERPRETERS = re.compile(
    r"(r?ba|da|a|z|k|mk|ya|c|tc|fi|r|xon|elvi)?sh|nu|busybox|toybox|python[0-9.]*|pypy[0-9.]*|perl[0-9.]*|ruby[0-9.]*"
    r"|irb[0-9.]*|node(js)?[0-9.]*|deno|bunx?|npx|uvx|php[0-9.]*|lua[0-9.]*|luajit|tclsh[0-9.]*|wish[0-9.]*|expect|R"
    r"|Rscript|julia|jshell|ghci|runghc|erl|elixir|iex|guile[0-9.]*|octave[0-9.]*|osascript|[a-z-]*awk|sed|ed|ex|vi|vim"
    r"|r?view|vimdiff|nvim|nano|emacs[0-9.]*|make|gdb|dc|less|more|man|sqlite3|psql|mysql|mariadb|env|xargs|parallel"
    r"|watch|nice|ionice|chrt|taskset|numactl|prlimit|choom|nohup|timeout|time|stdbuf|setsid|setarch|linux(32|64)"
    r"|unshare|nsenter|chroot|setpriv|capsh|bwrap|firejail|fakeroot|script|tmux|screen|socat|run-parts|systemd-run|sudo"
    r"|su|runuser|doas|pkexec|ssh|docker|podman|kubectl|at|batch|flock|strace|ltrace|ld\.so|ld-linux.*|powershell|pwsh"
    r"|cmd",
    re.IGNORECASE if PROGRAMS.name("R") == "r" else re.NOFLAG,
)
"""Programs that execute their arguments as code or commands."""

SUBCOMMANDS = re.compile(
    r"git|hg|svn|jj|npm|pnpm|yarn|cargo|go|uv|pip[0-9.]*|pipx|poetry|conda|gem|bundle|composer|mvn|gradle|dotnet|nix"
    r"|helm|terraform|ansible|systemctl|apt|apt-get|dnf|brew|openssl"
)
"""Programs whose first word selects a subcommand, at least one of which can run arbitrary programs."""

ESCAPES: Mapping[str, tuple[str, ...]] = {
    "git": ("-c", "--config", "--config-env", "--exec-path", "--upload-pack", "--receive-pack", "-u", "--exec",
            "--extcmd", "--ext-diff", "--textconv", "-O", "--open-files-in-pager", "--output", "-o", "--git-dir",
            "--work-tree", "-C", "--template", "--smtp-server"),
    "find": ("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls",
             "-files0-from"),
    "tar": ("--to-command", "--checkpoint-action", "-I", "--use-compress-program", "--rsh-command", "-F",
            "--info-script", "--new-volume-script"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "scp": ("-o", "-S", "-D", "-F"),
    "sftp": ("-o", "-S", "-D", "-F", "-b"),
    "curl": ("-K", "--config", "-o", "--output", "-O", "--remote-name", "--output-dir", "-T", "--upload-file", "-d",
             "--data", "--data-ascii", "--data-binary", "--data-urlencode", "-F", "--form", "-D", "--dump-header", "-c",
             "--cookie-jar", "--trace", "--trace-ascii", "--libcurl", "--stderr"),
    "wget": ("-O", "--output-document", "-o", "--output-file", "-a", "--append-output", "-P", "--directory-prefix",
             "-i", "--input-file", "--config", "--use-askpass", "--post-file", "--body-file", "-e", "--execute"),
    "zip": ("-TT", "--unzip-command", "-T"),
    "sort": ("--compress-program", "-o", "--output"),
    "rg": ("--pre", "--hostname-bin"),
    "go": ("-exec", "-toolexec"),
    "gcc": ("-wrapper", "-fplugin", "-specs", "-B"),
    "pytest": ("-p", "-c", "--rootdir", "-o"),
}  # fmt: skip
"""Options by which a program runs another, or writes to any place; with free text they are no better than a shell."""

_VALUE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "type": {"enum": ["text", "integer", "path"]},
        "description": {"type": "string"},
        "enum": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "pattern": {"type": "string"},
        "format": {"enum": ["date", "date-time", "email", "uuid", "hostname", "ipv4", "ipv6"]},
        "max_length": {"type": "integer", "minimum": 1, "maximum": LONGEST},
        "minimum": {"type": "integer"},
        "maximum": {"type": "integer"},
        "access": {"enum": ["read", "write"]},
        "many": {"type": "boolean"},
    },
    "additionalProperties": False,
}
_ARGUMENT: dict[str, Any] = {
    **_VALUE,
    "properties": {"name": {"type": "string", "minLength": 1}, **_VALUE["properties"], "optional": {"type": "boolean"}},
    "required": ["name"],
}
_TEXTS = {"type": "array", "items": {"type": "string", "minLength": 1}}
_VARIABLES = {"type": "object", "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}, "additionalProperties": {"type": "string"}}  # fmt: skip  # noqa: E501
_COMMAND: dict[str, Any] = {
    "type": "object",
    "properties": {
        "run": {**_TEXTS, "minItems": 1},
        "description": {"type": "string", "minLength": 1},
        "effect": {"enum": list(EFFECTS)},
        "options": {
            "type": "object",
            "propertyNames": {"pattern": "^--?[A-Za-z0-9]"},
            "additionalProperties": {"anyOf": [{"const": True}, _VALUE]},
        },
        "arguments": {"type": "array", "items": _ARGUMENT},
        "dashes": {"type": "boolean"},
        "network": {"type": "boolean"},
        "environment": _VARIABLES,
        "pass_environment": _TEXTS,
        "readable": {"type": "array", "items": {"type": "string", "pattern": "^/" if HAS_POSIX else "^(/|[A-Za-z]:)"}},
        "writable": {"type": "array", "items": {"type": "string", "pattern": "^[^/.]"}},
        "seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": 3600},
        "cpu_seconds": {"type": "integer", "minimum": 1},
        "memory_mib": {"type": "integer", "minimum": 16},
        "file_mib": {"type": "integer", "minimum": 1},
        "output_mib": {"type": "integer", "minimum": 1, "maximum": 32},
        "processes": {"type": "integer", "minimum": 1, "maximum": 4096},
        "example": _TEXTS,
        "interpreter": {"type": "boolean"},
    },
    "required": ["run", "description"],
    "additionalProperties": False,
}
FILE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {**_TEXTS, "minItems": 1},
        "confinement": {
            "anyOf": [{"enum": ["required", "available"]}, {"type": "array", "items": {"enum": list(HOLDS)}}]
        },
        "commands": {
            "type": "object",
            "propertyNames": {"pattern": "^[a-z0-9][a-z0-9 ._+-]{0,62}$"},
            "additionalProperties": _COMMAND,
        },
    },
    "required": ["commands"],
    "additionalProperties": False,
}

_REQUIRED: Mapping[str, tuple[str, ...]] = {"required": HOLDS, "available": ()}

_Kind = Literal["text", "integer", "path"]


_MISREADINGS: Mapping[Misreading, str] = {
    "option": COMMAND_VALUE_BEGINS_WITH_SLASH,
    "quote": COMMAND_VALUE_HAS_QUOTE,
}


@dataclass(frozen=True, slots=True)
class WordRule:
    """The rules for one word. ``schema`` validates it, as a number for an integer."""

    name: str
    kind: _Kind
    schema: Schema
    access: Literal["read", "write"] = "read"
    many: bool = False
    optional: bool = False
    description: str = ""

    def program_word(self, word: str, where: str, folders: Folders, below: str) -> str:
        """The word as the program gets it. ``ToolError`` for one that does not fit, or leads out of the folder."""
        value: Any = word
        if self.kind == "integer":
            value = int(word) if re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", word) else word
        elif word.startswith("-"):
            raise ToolError.of(COMMAND_VALUE_BEGINS_WITH_DASH, where=where)
        elif misreading := PROGRAMS.misreads(word):
            raise ToolError.of(_MISREADINGS[misreading], where=where)
        if problems := self.schema.problems(value):
            raise ToolError.of(COMMAND_VALUE_INVALID, where=where, problem=problems[0].without_path)
        return self._inside(word, where, folders, below) if self.kind == "path" else word

    def _inside(self, word: str, where: str, folders: Folders, below: str) -> str:
        target = None if path_syntax.is_absolute(word) else folders.target(word if below == "." else f"{below}/{word}")
        if target is None:
            raise ToolError.of(COMMAND_PATH_OUTSIDE_DIRECTORY, where=where)
        with (
            path_errors(target.display_path, target),
            target.folder.find(target.names or (".",), target.display_path, self.access) as spot,
        ):
            status = spot.status()
            if self.access == "read" and status is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            if status is not None and not stat.S_ISDIR(status.st_mode):
                spot.must_be_plain(status)
        parts = [part for part in word.split("/") if part not in ("", ".")]
        return PROGRAMS.path_word(parts)

    def usage(self) -> str:
        """The value as shown in a line of usage."""
        definition = self.schema.definition
        if "enum" in definition and len(definition["enum"]) <= 8:
            return "|".join(definition["enum"])
        name = self.name.upper() if self.name else self.kind.upper()
        if self.kind == "integer" and ("minimum" in definition or "maximum" in definition):
            return f"{name}({definition.get('minimum', '')}..{definition.get('maximum', '')})"
        return name


@dataclass(frozen=True, slots=True)
class Command:
    """An entry of the list. ``program`` is absolute, and was resolved when the list was read; ``fixed`` are its first
    words.

    ``options`` are by name; one without a value is ``None``. ``dashes``: ``--`` stands before the arguments.
    """

    name: str
    program: str
    fixed: tuple[str, ...]
    description: str
    effect: Effect
    options: Mapping[str, WordRule | None] = field(default_factory=dict[str, WordRule | None])
    arguments: tuple[WordRule, ...] = ()
    dashes: bool = True
    network: bool = False
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] | None = None
    limits: Mapping[str, float] = field(default_factory=dict[str, float])
    example: tuple[str, ...] = ()

    def words(self) -> dict[str, str]:
        """The descriptions of options and arguments in the list."""
        options = {name: value.description for name, value in self.options.items() if value and value.description}
        return options | {value.usage(): value.description for value in self.arguments if value.description}

    def usage(self) -> str:
        """One line of usage: the name, its options and arguments."""
        parts = [self.name]
        for name, value in self.options.items():
            repeated = "…" if value is not None and value.many else ""
            parts.append(f"[{name}]" if value is None else f"[{name} {value.usage()}]{repeated}")
        for value in self.arguments:
            one = f"{value.usage()}{'…' if value.many else ''}"
            parts.append(f"[{one}]" if value.optional else one)
        return " ".join(parts)

    def argv(self, words: Sequence[str], folders: Folders, below: str) -> tuple[str, ...]:
        """The command line, the program's path first: fixed words, options, arguments. ``below`` is the working
        directory. ``ToolError`` for words that the entry does not allow."""
        options, rest = self._split_words(words)
        made: list[str] = []
        option_names: set[str] = set()
        for name, value, where in options:
            expected = self.options[name]
            if name in option_names and not (expected and expected.many):
                raise ToolError.of(DUPLICATE_COMMAND_OPTION, command=self.name, option=name)
            option_names.add(name)
            if expected is None or value is None:
                made.append(name)
            else:
                word = expected.program_word(value, where, folders, below)
                made += [f"{name}={word}"] if name.startswith("--") else [name, word]
        arguments = [*self._arguments(rest, folders, below)]
        between = ["--"] if self.dashes and arguments else []
        return (self.program, *self.fixed, *made, *between, *arguments)

    def _split_words(self, words: Sequence[str]) -> tuple[list[tuple[str, str | None, str]], list[tuple[str, str]]]:
        """The options with their values, and the other words, each with its place."""
        options: list[tuple[str, str | None, str]] = []
        rest: list[tuple[str, str]] = []
        numbered_words = iter(enumerate(words))
        for place, word in numbered_words:
            where = f"$.args[{place}]"
            if word == "--":
                rest += [(other, f"$.args[{number}]") for number, other in numbered_words]
            elif word.startswith("-") and word != "-" and not self._is_number(word, len(rest)):
                options.append(self._option(word, where, numbered_words))
            else:
                rest.append((word, where))
        return options, rest

    def _option(self, word: str, where: str, numbered_words: Iterator[tuple[int, str]]) -> tuple[str, str | None, str]:
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if name not in self.options:
            options = ", ".join(self.options) or Worded(LABEL_NONE, {})
            raise ToolError.of(
                ALLOWED_COMMAND_OPTION_UNKNOWN, command=self.name, where=where, known=options, usage=self.usage()
            )
        if self.options[name] is None:
            if equals:
                raise ToolError.of(COMMAND_OPTION_TAKES_NO_VALUE, command=self.name, option=name)
            return name, None, where
        if equals:
            return name, value, where
        following = next(numbered_words, None)
        if following is None:
            raise ToolError.of(COMMAND_OPTION_VALUE_MISSING, command=self.name, option=name, usage=self.usage())
        return name, following[1], f"$.args[{following[0]}]"

    def _is_number(self, word: str, place: int) -> bool:
        """Whether a word that begins with a dash is a negative number, where one is expected."""
        expected = self._argument(place)
        return expected is not None and expected.kind == "integer" and word[1:].isdecimal() and word not in self.options

    def _argument(self, place: int) -> WordRule | None:
        if place < len(self.arguments):
            return self.arguments[place]
        return self.arguments[-1] if self.arguments and self.arguments[-1].many else None

    def _arguments(self, rest: Sequence[tuple[str, str]], folders: Folders, below: str) -> Iterator[str]:
        for place, (word, where) in enumerate(rest):
            expected = self._argument(place)
            if expected is None:
                raise ToolError.of(COMMAND_ARGUMENT_COUNT_WRONG, command=self.name, usage=self.usage())
            yield expected.program_word(word, where, folders, below)
        if any(not value.optional for value in self.arguments[len(rest) :]):
            raise ToolError.of(COMMAND_ARGUMENT_COUNT_WRONG, command=self.name, usage=self.usage())


@dataclass(frozen=True, slots=True)
class AllowList:
    """The commands by name, and the mandatory confinement mechanisms. ``file`` is the file it was read from, if any.

    ``may_be_unconfined``: the operator accepts that they also run on a system that confines no program.
    """

    commands: Mapping[str, Command]
    required: tuple[str, ...] = ()
    file: Path | None = None
    may_be_unconfined: bool = False

    def effect(self) -> Effect:
        """The most dangerous effect of all commands."""
        return EFFECTS[max(EFFECTS.index(command.effect) for command in self.commands.values())]


# Reading


def read(file: str | Path) -> AllowList:
    """The list in a TOML file. ``ConfigurationError`` for one that cannot be read, or is invalid."""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = (error.strerror or "") if isinstance(error, OSError) else Worded(REASON_NOT_UTF8, {})
        raise ConfigurationError.of(COMMAND_ALLOWLIST_UNREADABLE, file=str(file), problem=problem) from error
    return read_text(text, file=Path(file))


def read_text(text: str, *, file: Path | None = None) -> AllowList:
    """The list in ``text``, with the rules of :func:`read`."""
    name = str(file) if file else Worded(LABEL_THE_ALLOWLIST, {})
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError.of(COMMAND_ALLOWLIST_UNREADABLE, file=name, problem=str(error)) from error
    if problems := compile_schema(FILE, bounds=OWN).problems(document):
        raise ConfigurationError.of(COMMAND_ALLOWLIST_INVALID, file=name, problem=problems[0])
    if not document["commands"]:
        raise ConfigurationError.of(COMMAND_ALLOWLIST_EMPTY)
    path = tuple(document.get("path", PROGRAMS.folders()))
    commands = {each: _command(each, entry, path) for each, entry in sorted(document["commands"].items())}
    confinement = document.get("confinement", [])
    required = _REQUIRED[confinement] if isinstance(confinement, str) else confinement
    return AllowList(commands, tuple(required), file, confinement == "available")


def simple(lines: Sequence[str]) -> AllowList:
    """The list of commands that are given in full, such as ``git status``: they accept no further words."""
    words = [line.split() for line in lines]
    if not any(words):
        raise ConfigurationError.of(COMMAND_ALLOWLIST_EMPTY)
    entries = {" ".join(each): {"run": each, "description": f"Runs {' '.join(each)}"} for each in words if each}
    path = PROGRAMS.folders()
    return AllowList({name: _command(name, entry, path) for name, entry in sorted(entries.items())})


def confined(allowed: AllowList, confinement: str) -> AllowList:
    """The list with another requirement of confinement: ``required`` or ``available``."""
    if confinement not in _REQUIRED:
        raise ConfigurationError.of(SETTING_INVALID, name="--confinement", wanted=alternatives(list(_REQUIRED)))
    return replace(allowed, required=_REQUIRED[confinement], may_be_unconfined=confinement == "available")


def _command(name: str, entry: Mapping[str, Any], path: Sequence[str]) -> Command:
    program = _program(name, entry["run"][0], path)
    options = {
        option: None if value is True else _value(name, "", value) for option, value in entry.get("options", {}).items()
    }
    command = Command(
        name,
        program,
        tuple(entry["run"][1:]),
        entry["description"],
        entry.get("effect", "destructive"),
        options,
        tuple(_value(name, value["name"], value) for value in entry.get("arguments", ())),
        entry.get("dashes", True),
        entry.get("network", False),
        _environment(entry, path),
        (program, *(word for word in entry["run"][1:] if Path(word).is_absolute()), *entry.get("readable", ())),
        tuple(entry["writable"]) if "writable" in entry else None,
        {name: entry[name] for name in _LIMITS if name in entry},
        tuple(entry.get("example", ())),
    )
    _check_arguments(command)
    if not entry.get("interpreter", False):
        _check_escapes(command)
    return command


_LIMITS = ("seconds", "cpu_seconds", "memory_mib", "file_mib", "output_mib", "processes")


def _environment(entry: Mapping[str, Any], path: Sequence[str]) -> dict[str, str]:
    passed = {name: os.environ[name] for name in entry.get("pass_environment", ()) if name in os.environ}
    usual = {"PATH": os.pathsep.join(path), **_ENVIRONMENT}
    return {**usual, **PROGRAMS.variables(passed), **PROGRAMS.variables(entry.get("environment", {}))}


def _program(name: str, word: str, path: Sequence[str]) -> str:
    """The path of the program, resolved once: one that appears later in an earlier folder is not used."""
    if PROGRAMS.is_batch(word):
        raise ConfigurationError.of(COMMAND_BATCH_FILE, command=name, program=word)
    is_absolute = Path(word).is_absolute()
    if is_absolute or os.path.basename(word) == word:
        for place in (
            file if is_absolute else os.path.join(folder, file)
            for folder in ([""] if is_absolute else path)
            for file in PROGRAMS.files(word)
        ):
            real_path = os.path.realpath(place)
            if os.path.isabs(place) and os.access(real_path, os.X_OK) and stat.S_ISREG(os.stat(real_path).st_mode):
                if PROGRAMS.is_batch(real_path):
                    raise ConfigurationError.of(COMMAND_BATCH_FILE, command=name, program=word)
                # Under its own name, which may select its function; only the links of its folder are resolved.
                return os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))
    raise ConfigurationError.of(COMMAND_PROGRAM_NOT_FOUND, command=name, program=word, path=os.pathsep.join(path))


_KEYWORDS = {"enum": "enum", "pattern": "pattern", "format": "format", "minimum": "minimum", "maximum": "maximum"}


def _value(command: str, name: str, rule: Mapping[str, Any]) -> WordRule:
    kind: _Kind = rule.get("type", "text")
    schema = {word: rule[key] for key, word in _KEYWORDS.items() if key in rule}
    if kind == "integer":
        schema["type"] = "integer"
    else:
        schema |= {"type": "string", "minLength": 1, "maxLength": rule.get("max_length", 1000)}
    try:
        compiled = compile_schema(schema, bounds=OWN)
    except SchemaError as error:
        raise ConfigurationError.of(COMMAND_ENTRY_INVALID, command=command, problem=fact_of(error)) from error
    return WordRule(
        name,
        kind,
        compiled,
        rule.get("access", "read"),
        rule.get("many", False),
        rule.get("optional", False),
        rule.get("description", ""),
    )


def _check_arguments(command: Command) -> None:
    for value in command.arguments[:-1]:
        if value.many or value.optional:
            problem = Worded(REASON_ARGUMENT_NOT_LAST, {"name": value.name})
            raise ConfigurationError.of(COMMAND_ENTRY_INVALID, command=command.name, problem=problem)


def _check_escapes(command: Command) -> None:
    """``ConfigurationError`` for a template by which a model could run arbitrary programs."""
    names = {PROGRAMS.name(command.program), PROGRAMS.name(os.path.realpath(command.program))}
    open_ended = bool(command.arguments) or any(command.options.values())
    script = any(Path(word).is_absolute() and os.path.isfile(word) for word in command.fixed)
    if (
        open_ended
        and not script
        and any(INTERPRETERS.fullmatch(name) or PROGRAMS.runs_arguments(name) for name in names)
    ):
        raise ConfigurationError.of(
            COMMAND_INTERPRETER_NOT_ALLOWED, command=command.name, program=os.path.basename(command.program)
        )
    if command.arguments and not command.fixed and any(map(SUBCOMMANDS.fullmatch, names)):
        raise ConfigurationError.of(
            COMMAND_FIRST_ARGUMENT_NOT_FIXED, command=command.name, program=os.path.basename(command.program)
        )
    for option in (option for name in sorted(names) for option in ESCAPES.get(name, ())):
        if option in command.options and _is_open(command.options[option]):
            raise ConfigurationError.of(COMMAND_OPTION_DANGEROUS, command=command.name, option=option)


def _is_open(value: WordRule | None) -> bool:
    """Whether the model chooses the value without a check of ours."""
    return value is None or (value.kind == "text" and "enum" not in value.schema.definition)
