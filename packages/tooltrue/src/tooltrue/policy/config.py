"""The operator's file, ``tooltrue.toml``: its rules, and a table for each configurable part of the guard.

A file is used as a whole or not at all: an unknown key, an invalid schema and a contradictory rule are errors that name
the line. :mod:`tooltrue.policy.rules.lint` finds other problems of the rules.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

from tooltrue.errors import ConfigurationError, SchemaError, fact_of
from tooltrue.jsonrpc.messages import is_object
from tooltrue.policy import toml_positions as lines
from tooltrue.policy.audit.audit_settings import OnFailure
from tooltrue.policy.auth_table import AUTH
from tooltrue.policy.guard import Guard
from tooltrue.policy.rules.globs import Globs, globs
from tooltrue.policy.rules.lint import unreachable_rules
from tooltrue.policy.rules.rule import Rule, Rules
from tooltrue.policy.server_auth_table import SECRET, SERVER_AUTH, SIGN_IN
from tooltrue.policy.wording import (
    CONFIG_FILE_UNREADABLE,
    CONFIG_KEY_INVALID,
    CONFIG_KEYS_INCOMPATIBLE,
    CONFIG_NOT_TOML,
    DUPLICATE_RULE_NAME,
    LABEL_THE_FILE,
    RULE_ARGUMENTS_SCHEMA_INVALID,
    RULE_SCHEMA_DIALECT_NOT_ALLOWED,
    RULE_SCHEMA_KEYWORD_UNKNOWN,
)
from tooltrue.protocol.schema import Schema, SchemaBounds, compile_schema
from tooltrue.protocol.schema.dialects import dialect_of, subschemas
from tooltrue.protocol.schema.words import ASSERTIONS
from tooltrue.protocol.types import Value, field, replaced
from tooltrue.spelling import closest
from tooltrue.tools.bounds import Rate
from tooltrue.tools.vocabulary import EFFECTS
from tooltrue.wording import REASON_NESTED_TOO_DEEPLY, REASON_NOT_UTF8, Worded

__all__ = ["TABLES", "ConfigTable", "OperatorConfig", "examine", "read_operator_config", "text_of"]


# -- schema of the file ------------------------------------------------------------------------------------------------


class ConfigTable(NamedTuple):
    """A table of the file: the JSON Schemas of its keys, and a function from its values and the current :class:`Guard`
    to the settings to change. ``required`` are the keys that it must have. With ``by_name`` it is a table of such
    tables, by names that the operator chooses."""

    keys: Mapping[str, Any]
    settings: Callable[[Mapping[str, Any], Guard], Mapping[str, Any]]
    required: tuple[str, ...] = ()
    by_name: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        keys = _closed(self.keys, *self.required)
        return {"type": "object", "additionalProperties": keys} if self.by_name else keys


def _limits(settings: Mapping[str, Any], guard: Guard) -> Mapping[str, Any]:
    return {"limits": replaced(guard.limits, **settings)}


def _rate(settings: Mapping[str, Any], guard: Guard) -> Mapping[str, Any]:
    return {"rate": replaced(guard.rate, **{whose: Rate(**figures) for whose, figures in settings.items()})}


def _concurrency(settings: Mapping[str, Any], guard: Guard) -> Mapping[str, Any]:
    return {"concurrency": replaced(guard.concurrency, **settings)}


def _abuse(settings: Mapping[str, Any], guard: Guard) -> Mapping[str, Any]:
    return {"abuse": replaced(guard.abuse, **settings)}


def _audit(settings: Mapping[str, Any], guard: Guard) -> Mapping[str, Any]:
    return {"audit": guard.audit.with_overrides(**settings)}


def _confirm(settings: Mapping[str, Any], guard: Guard) -> Mapping[str, Any]:
    effects = frozenset(settings.get("effects", guard.confirm.effects))
    return {"confirm": replaced(guard.confirm, **{**settings, "effects": effects})}


def _no_settings(settings: Mapping[str, Any], guard: Guard) -> Mapping[str, Any]:
    """Ignore a table that no layer uses."""
    return {}


def _local_scopes(settings: Mapping[str, Any], guard: Guard) -> Mapping[str, Any]:
    return {"local_scopes": {principal: frozenset(scopes) for principal, scopes in settings.items()}}


def _repair(settings: Mapping[str, Any], guard: Guard) -> Mapping[str, Any]:
    return {"repair": globs(settings["tools"])}


def _host_settings(settings: Mapping[str, Any], guard: Guard) -> Mapping[str, Any]:
    """Ignore a table that only a host uses (:mod:`tooltrue.host.host_guard`)."""
    return {}


def _gateway_settings(settings: Mapping[str, Any], guard: Guard) -> Mapping[str, Any]:
    """Ignore a table that only a gateway uses (:mod:`tooltrue.gateway.settings`)."""
    return {}


_SCOPES: Final = {"type": "array", "items": {"type": "string", "minLength": 1}}

_TEXT: Final = {"type": "string", "minLength": 1}
_EFFECT: Final = {"enum": list(EFFECTS)}
_NUMBER: Final = {"type": "number", "exclusiveMinimum": 0}
_COUNT: Final = {"type": "integer", "minimum": 1}
_FLAG: Final = {"type": "boolean"}
_PACE: Final = {
    "type": "object",
    "properties": {"per_second": _NUMBER, "burst": _COUNT},
    "required": ["per_second", "burst"],
    "additionalProperties": False,
}

_NAMES: Final = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}

_TEXTS: Final = {"type": "object", "additionalProperties": _TEXT}

_EXCUSED: Final = {
    "type": "object",
    "properties": {"code": _TEXT, "tools": _NAMES, "server": _NAMES, "reason": _TEXT},
    "required": ["code", "tools", "reason"],
    "additionalProperties": False,
}

TABLES: Final[Mapping[str, ConfigTable]] = {
    "limits": ConfigTable(
        {
            "seconds": _NUMBER,
            "max_bytes": _COUNT,
            "max_argument_bytes": _COUNT,
            "blocked_seconds": _NUMBER,
            "lifespan_seconds": _NUMBER,
            "task_seconds": _NUMBER,
        },
        _limits,
    ),
    "rate": ConfigTable({"tool": _PACE, "caller": _PACE, "server": _PACE}, _rate),
    "concurrency": ConfigTable({"tool": _COUNT, "caller": _COUNT, "server": _COUNT, "seconds": _NUMBER}, _concurrency),
    "abuse": ConfigTable({"pause": _NUMBER, "longest": _NUMBER}, _abuse),
    "audit": ConfigTable(
        {"on": _FLAG, "to": _TEXT, "seal": _TEXT, "on_failure": {"enum": list(get_args(OnFailure))}},
        _audit,
    ),
    "confirm": ConfigTable(
        {
            "effects": {"type": "array", "items": _EFFECT},
            "session_seconds": _NUMBER,
            "questions": _COUNT,
            "max_shown": _COUNT,
            "store": _TEXT,
        },
        _confirm,
    ),
    "auth": ConfigTable(AUTH, _no_settings),
    "http": ConfigTable({"rest": _FLAG}, _no_settings),
    "scopes": ConfigTable({"local": _SCOPES, "local:http": _SCOPES}, _local_scopes),
    "repair": ConfigTable({"tools": _NAMES}, _repair, ("tools",)),
    "console": ConfigTable({"url": _TEXT, "sign_in": SIGN_IN}, _no_settings),
    "check": ConfigTable({"excused": {"type": "array", "items": _EXCUSED, "minItems": 1}}, _no_settings),
    "effects": ConfigTable(dict.fromkeys(EFFECTS, _NAMES), _host_settings),
    "flow": ConfigTable(
        dict.fromkeys(("private", "public", "untrusted", "trusted", "sends", "stays"), _NAMES), _host_settings
    ),
    "budget": ConfigTable(
        {"calls": _COUNT, "bytes": _COUNT, "seconds": _NUMBER, "tokens": _COUNT, "money": _NUMBER}, _host_settings
    ),
    "loops": ConfigTable(
        {"told_after": _COUNT, "stopped_after": _COUNT, "errors_after": _COUNT, "patient": _NAMES}, _host_settings
    ),
    "retry": ConfigTable(
        {"attempts": _COUNT, "pause": _NUMBER, "longest": _NUMBER, "idempotent": _NAMES}, _host_settings
    ),
    "asking": ConfigTable(
        {"seconds": _NUMBER, "always_seconds": _NUMBER, "waiting": _COUNT, "no_seconds": _NUMBER, "edits": _COUNT},
        _host_settings,
    ),
    "servers": ConfigTable(
        {
            "shared": _FLAG,
            "prefix": _FLAG,
            "common_lists": _FLAG,
            "tasks": {"enum": ["when-slow", "always"]},
            "auth": SERVER_AUTH,
            "seconds": _NUMBER,
            "start_seconds": _NUMBER,
            "at_once": _COUNT,
            "waiting": _COUNT,
            "waiting_seconds": _NUMBER,
            "failures": _COUNT,
            "pause_seconds": _NUMBER,
        },
        _gateway_settings,
        by_name=True,
    ),
    "views": ConfigTable(
        {
            "servers": _NAMES,
            "tools": _NAMES,
            "names": _TEXTS,
            "descriptions": _TEXTS,
            "instructions": {"type": "string"},
            "principals": _NAMES,
            "scopes": _NAMES,
            "search": _FLAG,
            "default": _FLAG,
        },
        _gateway_settings,
        by_name=True,
    ),
    "gateway": ConfigTable(
        {
            "per_caller": _COUNT,
            "in_all": _COUNT,
            "idle_seconds": _NUMBER,
            "questions": _COUNT,
            "pins": _FLAG,
            "url": _TEXT,
            "grants": _TEXT,
            "grant_key": SECRET,
            "old_grant_key": SECRET,
            "sign_in": SIGN_IN,
        },
        _gateway_settings,
    ),
    "search": ConfigTable(
        {
            "budget": {"type": "integer", "minimum": 0},
            "always": _FLAG,
            "shown": {"type": "array", "items": _TEXT},
            **dict.fromkeys(("search_name", "describe_name", "call_name"), _TEXT),
        },
        _gateway_settings,
    ),
}
"""All tables except the rules."""

_RULE: Final = {
    "then": {"enum": ["allow", "deny", "ask", "hide"]},
    "name": _TEXT,
    "tools": _NAMES,
    "resources": _NAMES,
    "prompts": _NAMES,
    "effect": {"anyOf": [_EFFECT, {"type": "array", "items": _EFFECT, "minItems": 1}]},
    "server": _NAMES,
    "view": _NAMES,
    "principal": _NAMES,
    "scopes": _NAMES,
    "arguments": {"type": "object"},
    "reason": _TEXT,
}


def _closed(keys: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": dict(keys), "additionalProperties": False, "required": list(required)}


def _schema() -> Schema:
    rules = {"type": "array", "items": _closed(_RULE, "then"), "minItems": 1}
    tables = {name: table.schema for name, table in TABLES.items()}
    return compile_schema(_closed({"rules": rules, **tables}))


# -- reading it --------------------------------------------------------------------------------------------------------


class OperatorConfig(Value, frozen=True, dict=True):
    """The contents of a file. ``name`` is its name as given, ``text`` its text, and ``view`` the view of a gateway for
    which the rules are."""

    name: str
    text: str
    rules: Rules | None = None
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    view: str = ""

    def over(self, guard: Guard, server: str) -> Guard:
        """Return ``guard`` with the settings of the file, for the server of this name."""
        name = self.name.replace("{", "{{").replace("}", "}}")
        for table, settings in self.tables.items():
            guard = guard.with_settings(f"{name} [{table}]", **TABLES[table].settings(settings, guard))
        if self.rules is None:
            return guard
        return guard.with_settings(name, rules=Rules(self.rules.rules, server, guard.local_scopes, self.view))

    def settings_of(self, table: str) -> tuple[Mapping[str, Any], str, Mapping[str, str]]:
        """Return the settings of a table, the name of the table, and the place of each of its keys; empty without the
        table."""
        settings = self.tables.get(table, {})
        return (
            settings,
            f"{self.name} [{table}]" if settings else "",
            {key: self.place((table, key)) for key in settings},
        )

    def place(self, path: lines.Path) -> str:
        """Return ``FILE:LINE`` of the value at ``path``, or of the nearest value around it."""
        while path and path not in self._lines:
            path = path[:-1]
        return f"{self.name}:{self._lines.get(path, 1)}"

    @cached_property
    def _lines(self) -> Mapping[lines.Path, int]:
        return lines.lines_of(self.text)


def read_operator_config(file: str | Path, text: str | None = None) -> OperatorConfig:
    """Read the file. ``ConfigurationError`` for the first problem in it. ``text`` is the file's text, if it was read
    before."""
    config, problems = examine(file, text)
    if problems:
        raise problems[0]
    return config


def examine(file: str | Path, text: str | None = None) -> tuple[OperatorConfig, list[ConfigurationError]]:
    """Read the file as far as possible, and return it with all its problems."""
    name = str(file)
    config = OperatorConfig(name, text_of(file) if text is None else text)
    try:
        document = tomllib.loads(config.text)
        problems = [*_misfits(config, document)]
    except tomllib.TOMLDecodeError as error:
        return config, [_no_toml(name, str(error))]
    except RecursionError:
        return config, [_no_toml(name, Worded(REASON_NESTED_TOO_DEEPLY, {}))]
    if problems:
        return config, problems
    rules = _rules(config, document.get("rules", []), problems)
    tables = {table: keys for table, keys in document.items() if table in TABLES}
    config = OperatorConfig(name, config.text, Rules(rules) if "rules" in document else None, tables)
    return config, [*problems, *unreachable_rules(rules, config.place)]


def text_of(file: str | Path) -> str:
    try:
        return Path(file).read_bytes().decode().replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else Worded(REASON_NOT_UTF8, {})
        raise ConfigurationError.of(CONFIG_FILE_UNREADABLE, file=str(file), problem=problem) from None


def _no_toml(name: str, message: str | Worded) -> ConfigurationError:
    if isinstance(message, Worded):
        return ConfigurationError.of(CONFIG_NOT_TOML, place=name, problem=message)
    position = re.search(r" \(at line (\d+), column \d+\)$| \(at end of document\)$", message)
    place = f"{name}:{position[1]}" if position and position[1] else name
    return ConfigurationError.of(
        CONFIG_NOT_TOML, place=place, problem=message[: position.start()] if position else message
    )


def _misfits(config: OperatorConfig, document: dict[str, Any]) -> Iterator[ConfigurationError]:
    """Yield the values that do not fit the schema of the file."""
    for problem in _schema().problems(document):
        path = _path(problem.path)
        what = problem.path.removeprefix("$").removeprefix(".") or Worded(LABEL_THE_FILE, {})
        yield ConfigurationError.of(
            CONFIG_KEY_INVALID, place=config.place(path), key=what, problem=problem.without_path
        )


def _path(text: str) -> lines.Path:
    """Return the steps of a JSON path."""
    steps = re.findall(r'\.([^.\[]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]', text)
    return tuple(int(number) if number else name or quoted for name, number, quoted in steps)


# -- one rule after the other ------------------------------------------------------------------------------------------


def _rules(
    config: OperatorConfig, entries: list[dict[str, Any]], problems: list[ConfigurationError]
) -> tuple[Rule, ...]:
    rules: list[Rule] = []
    names: dict[str, int] = {}
    for number, one in enumerate(entries):
        name = one.get("name", f"rule {number + 1}")
        if name in names:
            place, first = config.place(("rules", number)), config.place(("rules", names[name]))
            problems.append(ConfigurationError.of(DUPLICATE_RULE_NAME, place=place, name=name, first=first))
        names.setdefault(name, number)
        problems += [*_contradictions(config, number, one)]
        try:
            rules.append(_rule(number, name, one))
        except SchemaError as error:
            place = config.place(("rules", number, "arguments"))
            problems.append(ConfigurationError.of(RULE_ARGUMENTS_SCHEMA_INVALID, place=place, problem=fact_of(error)))
    return tuple(rules)


def _rule(number: int, name: str, entry: Mapping[str, Any]) -> Rule:
    return Rule(
        entry["then"],
        name,
        number,
        tools=_globs(entry, "tools"),
        resources=_globs(entry, "resources"),
        prompts=_globs(entry, "prompts"),
        effect=frozenset(_list(entry["effect"])) if "effect" in entry else None,
        server=_globs(entry, "server"),
        view=_globs(entry, "view"),
        principal=_globs(entry, "principal"),
        scopes=frozenset(_list(entry.get("scopes", []))),
        arguments=compile_schema(entry["arguments"], bounds=_LINEAR) if "arguments" in entry else None,
        reason=entry.get("reason", ""),
    )


_LINEAR: Final = SchemaBounds()
"""Refuses patterns that would need a limit on their steps: an argument that such a pattern gives up on would not be
denied."""


def _list(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else value


def _globs(entry: Mapping[str, Any], key: str) -> Globs | None:
    return globs(_list(entry[key])) if key in entry else None


_APART: Final = (
    ("arguments", "resources", "only tools have arguments"),
    ("arguments", "prompts", "only the arguments of tools are judged"),
    ("effect", "resources", "only tools have an effect"),
    ("effect", "prompts", "only tools have an effect"),
)
_SILENT: Final = {"allow": "what is allowed is told no reason", "hide": "what is hidden is told no reason"}


def _contradictions(config: OperatorConfig, number: int, entry: Mapping[str, Any]) -> Iterator[ConfigurationError]:
    """Yield errors for keys that exclude each other, and for keywords in ``arguments`` that no validator knows."""

    def contradiction(key: str, other: str, why: str) -> ConfigurationError:
        place = config.place(("rules", number, key))
        return ConfigurationError.of(CONFIG_KEYS_INCOMPATIBLE, place=place, key=key, other=other, why=why)

    yield from (contradiction(key, other, why) for key, other, why in _APART if key in entry and other in entry)
    if "reason" in entry and entry["then"] in _SILENT:
        yield contradiction("reason", f'then = "{entry["then"]}"', _SILENT[entry["then"]])
    if "arguments" in entry and entry["then"] == "hide":
        yield contradiction("arguments", 'then = "hide"', "a tool is there or not before it has arguments; use deny")
    if not _is_newest(entry.get("arguments", {}).get("$schema")):
        yield ConfigurationError.of(
            RULE_SCHEMA_DIALECT_NOT_ALLOWED, place=config.place(("rules", number, "arguments", "$schema"))
        )
    for path, word in _unknown_words(entry.get("arguments", {}), ("rules", number, "arguments")):
        nearest = closest(word, _WORDS)
        yield ConfigurationError.of(RULE_SCHEMA_KEYWORD_UNKNOWN, place=config.place(path), word=word, nearest=nearest)


def _is_newest(declared: Any) -> bool:
    """Return whether a schema is of the newest dialect. An older one ignores keywords that this one knows: they would
    be conditions that are not checked."""
    try:
        return dialect_of(declared) is _DIALECT
    except SchemaError:
        return False


_DIALECT: Final = dialect_of(None)
_WORDS: Final = frozenset(
    {*ASSERTIONS, *_DIALECT.applicators, "required", "dependentRequired", "minContains", "maxContains", "$ref"}
    | {"$schema", "$id", "$anchor", "$comment", "title", "description", "default", "examples", "format"}
)


def _unknown_words(schema: Any, at: lines.Path) -> Iterator[tuple[lines.Path, str]]:
    """Yield the unknown keywords of a schema. JSON Schema ignores them; here they would be conditions that are not
    checked."""
    if not is_object(schema):
        return
    for word, value in schema.items():
        if word not in _WORDS:
            yield (*at, word), word
        elif word in _DIALECT.applicators:
            for path, inner in subschemas(word, value):
                yield from _unknown_words(inner, (*at, *path))
