"""Reads the server lists that people have: the ``mcpServers`` of many hosts, the ``servers`` and ``inputs`` of VS Code,
and TOML.

A file is read as a whole or not at all: an unknown key is an error that names its place and the nearest known key. Keys
of other hosts are known by a table, and handled explicitly: no key in such a file grants anything here. Variables are
filled in per server, when one is about to start, so that a missing variable affects that server alone. No text made
here contains a secret.
"""

from __future__ import annotations

import difflib
import inspect
import json
import os
import re
import tomllib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from tooltrue.client.wording import (
    CLIENT_CONFIG_FILE_UNREADABLE,
    CLIENT_CONFIG_GRANT_IGNORED,
    CLIENT_CONFIG_INPUT_MISSING,
    CLIENT_CONFIG_KEY_IGNORED,
    CLIENT_CONFIG_KEY_NOT_SUPPORTED,
    CLIENT_CONFIG_KEY_UNKNOWN,
    CLIENT_CONFIG_MALFORMED,
    CLIENT_CONFIG_REFERENCE_UNKNOWN,
    CLIENT_CONFIG_SECRET_MISSING,
    CLIENT_CONFIG_SECRET_UNREADABLE,
    CLIENT_CONFIG_SEVERAL_TABLES,
    CLIENT_CONFIG_SIGN_IN_IGNORED,
    CLIENT_CONFIG_SSE_DEPRECATED,
    CLIENT_CONFIG_TRANSPORT_AMBIGUOUS,
    CLIENT_CONFIG_VALUE_INVALID,
    CLIENT_CONFIG_VARIABLE_UNSET,
    CLIENT_CONFIG_WITHOUT_SERVERS,
    LABEL_LIST_OF_TEXTS,
    LABEL_OBJECT_OF_LISTS,
    LABEL_OBJECT_OF_SERVERS,
    LABEL_OBJECT_OF_TEXTS,
    LABEL_OBJECT_WITH_COMMAND_OR_URL,
    LABEL_OBJECT_WITH_ID,
    LABEL_TEXT,
    LABEL_TRUE_OR_FALSE,
    REASON_AUTH_PROVIDER,
    REASON_HEADERS_COMMAND,
)
from tooltrue.errors import ConfigurationError, ParseError, StateError, fact_of
from tooltrue.jsonrpc.messages import decode, is_array, is_object
from tooltrue.protocol import versions
from tooltrue.protocol.types import Value, replaced
from tooltrue.transport.carrier import Auth
from tooltrue.wording import (
    LABEL_NUMBER_ABOVE_ZERO,
    LABEL_ONE_OF,
    REASON_NESTED_TOO_DEEPLY,
    REASON_NO_OBJECT,
    REASON_NOT_UTF8,
    REASON_UNEXPECTED_TEXT,
    REASON_UNFINISHED,
    Worded,
)

__all__ = [
    "AskInput",
    "HostConfig",
    "Input",
    "Launch",
    "ReadSecret",
    "RemoteEndpoint",
    "ServerConfig",
    "document_of",
    "is_secret",
    "read_config",
    "refers_only",
    "resolved",
    "unset_variables",
]


class Input(Value, frozen=True):
    """A value that a file asks for by ``${input:id}``. A ``secret`` is never shown."""

    id: str
    description: str = ""
    default: str | None = None
    secret: bool = False
    options: tuple[str, ...] = ()


AskInput: TypeAlias = Callable[[Input], "str | Awaitable[str | None] | None"]
"""Asks the person for a value; ``None`` if there is no answer."""

ReadSecret: TypeAlias = Callable[[str], Awaitable[str | None]]
"""Reads the value of a name in the keyring; ``None`` if there is none. Raises ``StateError``."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server, as written in the file: variables are not filled in yet. ``path`` is its place in the file.

    ``only`` and ``without`` are patterns of tool names, ``rename`` gives tools other names. ``effects`` (effect →
    patterns) and ``hints`` (whether the server's own annotations are trusted) are the operator's decision, and exist in
    TOML alone. ``prefix`` of ``False`` gives tools and prompts their own names, without that of the server, and
    ``shared`` gives all callers of a gateway one process or session; both are settings of a gateway. ``target`` is for
    servers that come from no file: the object that a client connects to, or a URL. ``auth`` authenticates the requests
    to a URL, in place of the sign-in of this user.
    """

    label: str
    path: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    env_file: str | None = None
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    enabled: bool = True
    seconds: float | None = None
    start_seconds: float | None = None
    only: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict[str, str])
    effects: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    hints: bool = False
    target: Any = field(default=None, repr=False)
    transport: Literal["sse"] | None = None
    revision: str | None = None
    prefix: bool = True
    shared: bool = False
    auth: Auth | None = field(default=None, repr=False)
    unsupported: ConfigurationError | None = None


@dataclass(frozen=True, slots=True)
class HostConfig:
    """The contents of a file. ``notes`` report keys in it that have no effect here, or less than in other hosts."""

    name: str
    folder: Path
    servers: tuple[ServerConfig, ...]
    inputs: Mapping[str, Input] = field(default_factory=dict[str, Input])
    notes: tuple[ConfigurationError, ...] = ()


# -- reading a file ----------------------------------------------------------------------------------------------------


def read_config(file: str | Path, text: str | None = None) -> HostConfig:
    """Read the file, or raise ``ConfigurationError``. ``text`` is its text, if that has been read before."""
    name = str(file)
    is_toml = name.endswith(".toml")
    document = _parsed(name, _text_of(file) if text is None else text, is_toml)
    table, at, inputs = _servers_in(name, document, is_toml)
    notes: list[ConfigurationError] = []
    servers = tuple(_Entry(name, f"{at}.{_step(label)}", is_toml, notes).read(label, table[label]) for label in table)
    return HostConfig(name, _workspace(Path(file)), servers, _inputs(name, inputs), tuple(notes))


def document_of(file: str | Path, text: str | None = None, *, is_toml: bool | None = None) -> dict[str, Any]:
    """The whole file, of which servers may be a part, or ``ConfigurationError``. Comments are accepted as in
    :func:`read_config`. ``text`` is its text, if that has been read before, and ``is_toml`` its form, by default that
    of its name."""
    name = str(file)
    return _parsed(
        name, _text_of(file) if text is None else text, name.endswith(".toml") if is_toml is None else is_toml
    )


def _text_of(file: str | Path) -> str:
    try:
        return Path(file).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else Worded(REASON_NOT_UTF8, {})
        raise ConfigurationError.of(CLIENT_CONFIG_FILE_UNREADABLE, file=str(file), problem=problem) from None


def _parsed(name: str, text: str, is_toml: bool) -> dict[str, Any]:
    plain = text if is_toml else _plain_json(text)
    problem: str | Worded
    try:
        document: Any = tomllib.loads(text) if is_toml else decode(plain.encode())
    except tomllib.TOMLDecodeError as error:
        problem = str(error)
    except ParseError as error:
        problem = _mistake_in(plain) or fact_of(error)
    except RecursionError:
        problem = Worded(REASON_NESTED_TOO_DEEPLY, {})
    else:
        if is_object(document):
            return document
        problem = Worded(REASON_NO_OBJECT, {})
    raise ConfigurationError.of(CLIENT_CONFIG_MALFORMED, file=name, problem=problem)


def _mistake_in(text: str) -> Worded | None:
    """The line of the mistake in text that is not JSON; None if it is JSON that the decoder refuses."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            return Worded(REASON_UNFINISHED, {})
        return Worded(REASON_UNEXPECTED_TEXT, {"line": error.lineno, "column": error.colno})
    except (ValueError, RecursionError):  # a number too long, nesting too deep: the decoder tells
        pass
    return None


_REMARK = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)


def _plain_json(text: str) -> str:
    """Reduce the JSON of editors to plain JSON: comments and trailing commas become spaces."""
    for pattern in (_REMARK, _COMMA):
        text = pattern.sub(lambda match: match[0] if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0]), text)
    return text


_TABLES: Final = ("mcpServers", "servers", "mcp_servers")
_BESIDE: Final = ("inputs", "$schema")


def _servers_in(name: str, document: dict[str, Any], is_toml: bool) -> tuple[dict[str, Any], str, Any]:
    """Return the table of servers, its place, and the inputs beside it."""
    at, below = "$", document.get("mcp")
    keys = [key for key in _TABLES if key in document]
    of_editor = [key for key in _TABLES if key in below] if is_object(below) else []  # a VS Code settings file
    if len(keys) + len(of_editor) > 1:
        tables = ", ".join((*keys, *(f"mcp.{key}" for key in of_editor)))
        raise ConfigurationError.of(CLIENT_CONFIG_SEVERAL_TABLES, file=name, tables=tables)
    if not keys and is_object(below):
        document, at, keys = below, "$.mcp", of_editor
    if not keys:
        guess = ", ".join(_near(key, _TABLES) for key in document if _near(key, _TABLES)) or "-"
        raise ConfigurationError.of(
            CLIENT_CONFIG_WITHOUT_SERVERS, file=name, found=guess, keys=", ".join(list(document)[:8]) or "-"
        )
    (key,) = keys
    for other in document:
        # Other keys are settings of the host that owns the file; a misspelt one is an error.
        if other not in (*_BESIDE, key) and (near := _near(other, (*_TABLES, *_BESIDE), 0.85)):
            raise ConfigurationError.of(CLIENT_CONFIG_KEY_UNKNOWN, file=name, path=f"{at}.{_step(other)}", near=near)
    table = document[key]
    if not is_object(table):
        raise ConfigurationError.of(
            CLIENT_CONFIG_VALUE_INVALID, file=name, path=f"{at}.{key}", wanted=Worded(LABEL_OBJECT_OF_SERVERS, {})
        )
    return table, f"{at}.{key}", document.get("inputs", {} if is_toml else [])


def _near(word: str, options: tuple[str, ...], cutoff: float = 0.7) -> str:
    return ", ".join(difflib.get_close_matches(word, options, n=3, cutoff=cutoff))


def _step(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_$-]*", name) else f"[{name!r}]"


_OF_HOSTS: Final = frozenset({".vscode", ".cursor", ".claude", ".windsurf", ".codex", ".gemini", ".roo", ".idea"})


def _workspace(file: Path) -> Path:
    """The folder that a file is about: its own, or the parent if its own belongs to an editor."""
    folder = file.absolute().parent
    return folder.parent if folder.name in _OF_HOSTS else folder


def _inputs(name: str, value: Any) -> dict[str, Input]:
    """Read the inputs: a list in VS Code, a table in TOML."""
    if is_object(value):
        value = [{**one, "id": id} if is_object(one) else one for id, one in value.items()]
    inputs: dict[str, Input] = {}
    for place, one in enumerate(value if is_array(value) else [value]):
        path = f"$.inputs[{place}]"
        if not is_object(one) or not isinstance(one.get("id"), str) or not is_array(one.get("options", [])):
            raise ConfigurationError.of(
                CLIENT_CONFIG_VALUE_INVALID, file=name, path=path, wanted=Worded(LABEL_OBJECT_WITH_ID, {})
            )
        id, options = str(one["id"]), _list(one.get("options"))
        for key in one:
            if key not in _INPUT_KEYS:
                near = _near(key, _INPUT_KEYS) or ", ".join(_INPUT_KEYS)
                raise ConfigurationError.of(
                    CLIENT_CONFIG_KEY_UNKNOWN, file=name, path=f"{path}.{_step(key)}", near=near
                )
        if one.get("type", "promptString") not in ("promptString", "pickString"):
            continue  # its value comes from an editor command: a server that refers to it gets an error
        default = one.get("default")
        values = tuple(str(option.get("value", "")) if is_object(option) else str(option) for option in options)
        said_of_it = str(one.get("description", ""))
        inputs[id] = Input(id, said_of_it, None if default is None else str(default), bool(one.get("password")), values)
    return inputs


def _list(value: Any) -> list[Any]:
    return value if is_array(value) else []


_INPUT_KEYS: Final = ("id", "type", "description", "default", "password", "options", "command", "args")


# -- one server --------------------------------------------------------------------------------------------------------


_Kind: TypeAlias = Literal["text", "texts", "map", "number", "flag", "table"]


class _Key(NamedTuple):
    """Our name for a key, and the kind of its value."""

    name: str
    kind: _Kind


_KEYS: Final[Mapping[str, _Key]] = {
    "type": _Key("type", "text"),
    "transport": _Key("type", "text"),
    "transportType": _Key("type", "text"),
    "command": _Key("command", "text"),
    "args": _Key("args", "texts"),
    "env": _Key("env", "map"),
    "env_vars": _Key("env_vars", "texts"),  # Codex: the names of variables that are passed on
    "envFile": _Key("env_file", "text"),
    "cwd": _Key("cwd", "text"),
    "url": _Key("url", "text"),
    "serverUrl": _Key("url", "text"),  # Windsurf
    "httpUrl": _Key("url", "text"),  # Gemini
    "headers": _Key("headers", "map"),
    "http_headers": _Key("headers", "map"),
    "env_http_headers": _Key("env_headers", "map"),
    "bearer_token_env_var": _Key("bearer", "text"),
    "disabled": _Key("disabled", "flag"),
    "enabled": _Key("enabled", "flag"),
    "timeout": _Key("timeout", "number"),
    "tool_timeout_sec": _Key("seconds", "number"),
    "startup_timeout_sec": _Key("start_seconds", "number"),
    "start_timeout": _Key("start_seconds", "number"),
    "tools": _Key("only", "texts"),
    "includeTools": _Key("only", "texts"),
    "enabledTools": _Key("only", "texts"),
    "enabled_tools": _Key("only", "texts"),
    "excludeTools": _Key("without", "texts"),
    "disabledTools": _Key("without", "texts"),
    "disabled_tools": _Key("without", "texts"),
    "without": _Key("without", "texts"),
    "rename": _Key("rename", "map"),
    "revision": _Key("revision", "text"),
}

_IN_TOML: Final[Mapping[str, _Key]] = {"effects": _Key("effects", "table"), "hints": _Key("hints", "flag")}
"""The operator's statements about tools. A file that belongs to another host has no place for them."""

_GRANTS: Final = frozenset({"alwaysAllow", "autoApprove", "trust", "autoApproveTools", "alwaysAllowTools"})
"""Keys that other hosts take as consent. Here they grant nothing."""

_MEANINGLESS: Final = frozenset(
    {"name", "title", "description", "icon", "iconPath", "version", "gallery", "fromGalleryId", "dev", "metadata"}
    | {"note", "notes", "comment", "_comment", "$comment", "scope", "required", "alwaysLoad", "registryUrl", "tags"}
    | {"sandboxEnabled", "sandbox", "isActive", "provider", "providerUrl", "logoUrl", "installSource", "watch", "debug"}
)
"""Keys for the use of other hosts."""

_NOT_HERE: Final[Mapping[str, str]] = {
    "headersHelper": REASON_HEADERS_COMMAND,
    "authProviderType": REASON_AUTH_PROVIDER,
}

_SIGNING_IN: Final = frozenset({"oauth", "auth"})

_TYPES: Final[Mapping[str, Literal["command", "url"]]] = {
    "stdio": "command",
    "local": "command",
    "http": "url",
    "https": "url",
    "remote": "url",
    "streamable-http": "url",
    "streamable_http": "url",
    "streamableHttp": "url",
    "streamablehttp": "url",
    "sse": "url",
}

_KIND_LABELS: Final[Mapping[_Kind, str]] = {
    "text": LABEL_TEXT,
    "texts": LABEL_LIST_OF_TEXTS,
    "map": LABEL_OBJECT_OF_TEXTS,
    "number": LABEL_NUMBER_ABOVE_ZERO,
    "flag": LABEL_TRUE_OR_FALSE,
    "table": LABEL_OBJECT_OF_LISTS,
}


class _Entry:
    """Reads one server."""

    def __init__(self, file: str, path: str, is_toml: bool, notes: list[ConfigurationError]) -> None:
        self._file = file
        self._path = path
        self._keys = {**_KEYS, **(_IN_TOML if is_toml else {})}
        self._notes = notes

    def read(self, label: str, entry: Any) -> ServerConfig:
        if not is_object(entry):
            raise self._misfit("", Worded(LABEL_OBJECT_WITH_COMMAND_OR_URL, {}))
        fields: dict[str, Any] = {}
        unsupported: ConfigurationError | None = None
        for key, value in entry.items():
            if key in self._keys:
                fields[self._keys[key].name] = self._value(key, self._keys[key].kind, value)
            elif key in _NOT_HERE:
                unsupported = self._about(CLIENT_CONFIG_KEY_NOT_SUPPORTED, key, why=Worded(_NOT_HERE[key], {}))
            elif key in _GRANTS or key in _MEANINGLESS or key in _SIGNING_IN:
                code = (
                    CLIENT_CONFIG_GRANT_IGNORED
                    if key in _GRANTS
                    else CLIENT_CONFIG_SIGN_IN_IGNORED
                    if key in _SIGNING_IN
                    else CLIENT_CONFIG_KEY_IGNORED
                )
                self._notes.append(self._about(code, key))
            else:
                options = tuple(self._keys)
                near = _near(key, options) or ", ".join(("command", "args", "env", "cwd", "url", "headers"))
                raise self._about(CLIENT_CONFIG_KEY_UNKNOWN, key, near=near)
        self._check_way(fields)
        return ServerConfig(label, self._path, unsupported=unsupported, **_settings(fields))

    def _about(self, code: str, key: str, **facts: Any) -> ConfigurationError:
        path = f"{self._path}.{_step(key)}" if key else self._path
        return ConfigurationError.of(code, file=self._file, path=path, **facts)

    def _misfit(self, key: str, expected: Worded) -> ConfigurationError:
        return self._about(CLIENT_CONFIG_VALUE_INVALID, key, wanted=expected)

    def _value(self, key: str, kind: _Kind, value: Any) -> Any:
        fits, convert = _KINDS[kind]
        if not fits(value):
            raise self._misfit(key, Worded(_KIND_LABELS[kind], {}))
        return convert(value)

    def _check_way(self, fields: dict[str, Any]) -> None:
        """Check that there is exactly one of command and URL, and that a given type fits it."""
        ways = [way for way in ("command", "url") if fields.get(way)]
        kind = fields.pop("type", None)
        if kind is not None and kind not in _TYPES:
            raise self._misfit("type", Worded(LABEL_ONE_OF, {"names": ", ".join(_TYPES)}))
        if len(ways) != 1 or (kind is not None and _TYPES[kind] != ways[0]):
            raise self._about(CLIENT_CONFIG_TRANSPORT_AMBIGUOUS, "")
        if "args" in fields and ways == ["url"]:
            raise self._about(CLIENT_CONFIG_TRANSPORT_AMBIGUOUS, "")
        if kind == "sse":
            fields["transport"] = "sse"
            self._notes.append(self._about(CLIENT_CONFIG_SSE_DEPRECATED, "type"))
        if fields.get("revision", versions.LATEST) not in versions.BY_NAME:
            raise self._misfit("revision", Worded(LABEL_ONE_OF, {"names": ", ".join(versions.ALL)}))


def _is_texts(value: Any) -> bool:
    return is_array(value) and all(isinstance(text, str) for text in value)


def _is_map(value: Any) -> bool:
    return is_object(value) and all(isinstance(one, str | int | float | None) for one in value.values())


def _as_text(value: str | int | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _same(value: Any) -> Any:
    return value


_KINDS: Final[Mapping[_Kind, tuple[Callable[[Any], bool], Callable[[Any], Any]]]] = {
    "text": (lambda value: isinstance(value, str), _same),
    "texts": (_is_texts, tuple),
    "map": (_is_map, lambda value: {name: _as_text(one) for name, one in value.items() if one is not None}),
    "number": (lambda value: type(value) in (int, float) and 0 < value < float("inf"), float),
    "flag": (lambda value: isinstance(value, bool), _same),
    "table": (
        lambda value: is_object(value) and all(map(_is_texts, value.values())),
        lambda value: {name: tuple(one) for name, one in value.items()},
    ),
}
"""The check of a value, and its conversion."""


_MILLISECONDS_FROM: Final = 1000.0


def _settings(fields: dict[str, Any]) -> dict[str, Any]:
    """Merge keys with the same meaning into the fields of a server."""
    enabled, disabled = fields.pop("enabled", True), fields.pop("disabled", False)
    fields["enabled"] = enabled and not disabled
    timeout = fields.pop("timeout", None)
    if timeout is not None:
        # Some hosts count seconds, some milliseconds; a quarter of an hour, or half a second, is never meant.
        fields.setdefault("seconds", timeout / 1000 if timeout >= _MILLISECONDS_FROM else timeout)
    passed_on = {name: f"${{env:{name}}}" for name in fields.pop("env_vars", ())}
    fields["env"] = {**passed_on, **fields.get("env", {})}
    headers = {name: f"${{env:{variable}}}" for name, variable in fields.pop("env_headers", {}).items()}
    if (bearer := fields.pop("bearer", None)) is not None:
        headers["Authorization"] = f"Bearer ${{env:{bearer}}}"
    fields["headers"] = {**headers, **fields.get("headers", {})}
    return fields


# -- filling in --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Launch:
    """A server to start. ``display`` is ``argv`` for display: it names secrets instead of containing them. ``env`` is
    added to a small environment, and ``env_written`` is the same as written in the file. ``inputs`` are the inputs that
    it refers to: their defaults come from the file too.
    """

    argv: tuple[str, ...] = field(repr=False)
    cwd: str
    env: Mapping[str, str] = field(repr=False)
    display: tuple[str, ...]
    env_written: Mapping[str, str] = field(repr=False)
    inputs: tuple[Input, ...] = ()


@dataclass(frozen=True, slots=True)
class RemoteEndpoint:
    """A server to connect to. ``takes`` are the variables and inputs that it is sent, and ``inputs`` those inputs."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    display: str = ""
    takes: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()


async def resolved(
    server: ServerConfig,
    config: HostConfig,
    ask: AskInput | None = None,
    input_answers: dict[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    read_secret: ReadSecret | None = None,
) -> Launch | RemoteEndpoint:
    """Return the server with its variables filled in. Raises ``ConfigurationError`` that names the missing one.

    ``ask`` is asked for each input once: ``input_answers`` stores the answers. ``read_secret`` reads the values of
    ``${keyring:NAME}``, by default from the keyring of the system.
    """
    if server.unsupported is not None:
        raise server.unsupported
    filling = _Filling(server, config, os.environ if environ is None else environ)
    await filling.ask(ask, {} if input_answers is None else input_answers)
    await filling.unlock(_read_secret if read_secret is None else read_secret)
    if server.url is not None:
        headers = {name: filling.filled(value) for name, value in server.headers.items()}
        takes = filling.referred((server.url, *server.headers.values()))
        return RemoteEndpoint(
            filling.filled(server.url), headers, filling.for_display(server.url), takes, filling.inputs
        )
    words = (server.command or "", *server.args)
    env = {name: filling.filled(value) for name, value in server.env.items()}
    from_file = _read_env(filling, server.env_file)
    env_written = {**from_file, **server.env}
    env = {**from_file, **env}
    return Launch(
        tuple(filling.filled(word) for word in words),
        _folder(config.folder, filling.filled(server.cwd or "")),
        env,
        tuple(filling.filled(word) if place == 0 else filling.for_display(word) for place, word in enumerate(words)),
        dict(sorted(env_written.items())),
        filling.inputs,
    )


def unset_variables(server: ServerConfig, config: HostConfig, environ: Mapping[str, str]) -> ConfigurationError | None:
    """Return the error with which :func:`resolved` would end for a variable that is not set, if there is one. No person
    and no keyring is asked."""
    filling = _Filling(server, config, environ)
    texts = (server.command, server.url, server.cwd, server.env_file, *server.args)
    try:
        for body in _named_by("", (*texts, *server.env.values(), *server.headers.values())):
            if not body.startswith(("input:", "keyring:")):
                filling.filled(f"${{{body}}}")
    except ConfigurationError as error:
        return error
    return None


def _folder(around: Path, folder: str) -> str:
    return os.path.abspath(os.path.join(around, os.path.expanduser(folder)))


# A program that asks for a password (ASKPASS), and the name of a setting (KEY_0), are code rather than secrets.
_SECRET: Final = re.compile(
    r"TOKEN|KEY(?!_\d)|SECRET|(?<!ASK)PASS|AUTH|CREDENTIAL|COOKIE|SESSION|PRIVATE", re.IGNORECASE
)

_REFERENCE: Final = re.compile(r"\$\{([^{}]*)\}")
_VARIABLE: Final = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)


def is_secret(name: str) -> bool:
    """Whether the value of a variable with this name must not be shown."""
    return _SECRET.search(name) is not None


def refers_only(text: str) -> bool:
    """Whether ``text`` consists of references alone, and has no part of a value."""
    return not _REFERENCE.sub("", text).strip()


def _inputs_of(texts: Iterable[str | None]) -> tuple[str, ...]:
    """Return the inputs that are referred to, each once."""
    return _named_by("input:", texts)


def _named_by(kind: str, texts: Iterable[str | None]) -> tuple[str, ...]:
    """Return the names of the references that begin with ``kind``, each once."""
    bodies = (body for text in texts if text is not None for body in _REFERENCE.findall(text))
    return tuple(dict.fromkeys(body.removeprefix(kind) for body in bodies if body.startswith(kind)))


async def _read_secret(name: str) -> str | None:
    from tooltrue.client.auth.keyring_variables import read_variable  # noqa: PLC0415 - few files refer to the keyring

    return await read_variable(name)


class _Filling:
    """Fills in the references of one server."""

    def __init__(self, server: ServerConfig, config: HostConfig, environ: Mapping[str, str]) -> None:
        self._server = server
        self._config = config
        self._environ = environ
        self._answers: dict[str, str] = {}
        self._secrets: dict[str, str] = {}
        self.inputs: tuple[Input, ...] = ()
        self._places = {
            "workspaceFolder": str(config.folder),
            "workspaceFolderBasename": config.folder.name,
            "userHome": str(Path.home()),
            "pathSeparator": os.sep,
            "/": os.sep,
        }

    async def ask(self, ask: AskInput | None, input_answers: dict[str, str]) -> None:
        """Ask for each input that is referred to."""
        server = self._server
        words = (server.command, server.url, server.cwd, server.env_file, *server.args)
        in_words = _inputs_of(words)
        for id in _inputs_of((*words, *server.env.values(), *server.headers.values())):
            one = self._config.inputs.get(id)
            if one is None:
                raise self._error(CLIENT_CONFIG_REFERENCE_UNKNOWN, reference=f"${{input:{id}}}")
            self.inputs = (*self.inputs, one)
            is_answered = id in input_answers
            if id in in_words and self._is_secret(f"input:{id}"):
                # A hidden word of a command has to come from a person, and not from the file.
                is_answered = is_answered and input_answers[id] != one.default
                one = replaced(one, default=None)
            if not is_answered:
                reply = None if ask is None else ask(one)
                answer = await reply if inspect.isawaitable(reply) else reply
                answer = one.default if answer is None else answer
                if answer is None or (one.options and answer not in one.options):
                    raise self._error(CLIENT_CONFIG_INPUT_MISSING, id=id)
                input_answers[id] = answer
            self._answers[id] = input_answers[id]

    async def unlock(self, read_secret: ReadSecret) -> None:
        """Read the values that stand in the keyring."""
        server = self._server
        words = (server.command, server.url, server.cwd, server.env_file, *server.args)
        for name in _named_by("keyring:", (*words, *server.env.values(), *server.headers.values())):
            try:
                value = await read_secret(name)
            except StateError as error:
                raise self._error(CLIENT_CONFIG_SECRET_UNREADABLE, name=name, problem=fact_of(error)) from None
            if value is None:
                raise self._error(CLIENT_CONFIG_SECRET_MISSING, name=name)
            self._secrets[name] = value

    def filled(self, text: str) -> str:
        return _REFERENCE.sub(lambda match: self._value(match[1]), text)

    def for_display(self, text: str) -> str:
        """Fill in for display: secrets stay references."""
        return _REFERENCE.sub(lambda match: match[0] if self._is_secret(match[1]) else self._value(match[1]), text)

    def referred(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return the references of ``texts`` whose values are not the same everywhere on this machine."""
        bodies = {body for text in texts for body in _REFERENCE.findall(text)}
        return tuple(sorted(body.partition(":-")[0].removeprefix("env:") for body in bodies - self._places.keys()))

    def _value(self, body: str) -> str:
        if body in self._places:
            return self._places[body]
        if body.startswith("input:"):
            return self._answers[body[6:]]
        if body.startswith("keyring:") and body[8:] in self._secrets:
            return self._secrets[body[8:]]
        variable = _VARIABLE.fullmatch(body)
        if variable is None:
            raise self._error(CLIENT_CONFIG_REFERENCE_UNKNOWN, reference=f"${{{body[:80]}}}")
        name, default = variable.groups()
        # As in shells: an empty variable counts as unset if there is a default.
        value = self._environ.get(name) or default if default is not None else self._environ.get(name)
        if value is None:
            raise self._error(CLIENT_CONFIG_VARIABLE_UNSET, name=name)
        return value

    def _is_secret(self, body: str) -> bool:
        if body.startswith("input:"):
            one = self._config.inputs.get(body[6:])
            return one is None or one.secret or is_secret(one.id)
        return body.startswith("keyring:") or (body not in self._places and is_secret(body))

    def _error(self, code: str, **facts: Any) -> ConfigurationError:
        return ConfigurationError.of(code, file=self._config.name, path=self._server.path, **facts)


_ENV_LINE: Final = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|(.*?))\s*")


def _read_env(filling: _Filling, file: str | None) -> dict[str, str]:
    """Read the variables of a file of ``NAME=value`` lines, as VS Code and Cursor do."""
    if file is None:
        return {}
    lines = _text_of(filling.filled(file)).splitlines()
    matches = (_ENV_LINE.fullmatch(line) for line in lines if not line.lstrip().startswith("#"))
    return {one[1]: next((text for text in one.groups()[1:] if text is not None), "") for one in matches if one}
