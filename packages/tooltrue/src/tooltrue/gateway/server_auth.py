"""The credentials of the gateway at its servers: ``[servers.NAME.auth]`` of the operator's file.

Each secret is read before anything starts, and sent to its own server or issuer alone.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Generator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from tooltrue.client.auth.metadata import is_loopback_url
from tooltrue.client.config import ServerConfig
from tooltrue.client.oauth import ClientCredentials
from tooltrue.client.wording import TOKEN_OVER_PLAIN_HTTP
from tooltrue.errors import ConfigurationError, StateError, fact_of
from tooltrue.extras import install_command
from tooltrue.gateway.caller_grants import GrantSettings
from tooltrue.gateway.enterprise_exchange import EnterpriseSettings
from tooltrue.gateway.token_exchange import ExchangeSettings
from tooltrue.gateway.wording import (
    GATEWAY_AUTH_INVALID,
    GATEWAY_AUTH_WITHOUT_URL,
    GATEWAY_SECRET_NOT_AVAILABLE,
    LABEL_CLIENT_CREDENTIALS,
    LABEL_ENTERPRISE_TOKEN,
    LABEL_EXCHANGED_TOKEN,
    LABEL_GRANT_OF_CALLER,
    LABEL_HEADER_OF_GATEWAY,
    LABEL_HEADERS_OF_FILE,
    REASON_ENDPOINT_NOT_HTTPS,
    REASON_HEADER_NOT_USABLE,
    REASON_HEADER_SET_TWICE,
    REASON_NO_KEYRING,
    REASON_ONE_METHOD,
    REASON_SECRET_NOT_SENDABLE,
)
from tooltrue.policy.config import OperatorConfig
from tooltrue.server.wording import REASON_SECRET_ABSENT, REASON_SECRET_NAMED_NOWHERE, REASON_SECRET_NAMED_TWICE
from tooltrue.transport.carrier import Auth, Refusal
from tooltrue.wording import Worded, sentence

__all__ = [
    "HeaderSecret",
    "SecretAbsent",
    "auth_of",
    "described_auth",
    "enterprise_of",
    "exchange_of",
    "grants_of",
    "has_credentials_of_callers",
    "secret_of",
    "secret_or_none",
]

_SOURCES: Final = ("secret_env", "secret_file", "secret_keyring")
_OWN: Final = ("header", "client")
_CALLER: Final = "caller"
_EXCHANGE: Final = "exchange"
_ENTERPRISE: Final = "enterprise"
_OF_CALLERS: Final = (_CALLER, _EXCHANGE, _ENTERPRISE)
_HEADER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_PLAIN: Final = re.compile(r"[\x20-\x7e]{1,16384}")
_OURS: Final = frozenset({"accept", "connection", "content-length", "content-type", "host", "last-event-id", "te"})


class HeaderSecret:
    """Authenticates each request to a server by a header. Its refusal is final."""

    def __init__(self, name: str, value: str) -> None:
        self._name = name
        self._value = value

    def for_server(self, url: str) -> HeaderSecret:
        if not url.lower().startswith("https://") and not is_loopback_url(url):
            raise ConfigurationError.of(TOKEN_OVER_PLAIN_HTTP, url=url)
        return self

    async def headers(self, method: str) -> Mapping[str, str]:
        return self.ready()

    def ready(self) -> Mapping[str, str]:
        return {self._name: self._value}

    async def challenged(self, refusal: Refusal) -> bool:
        return False


def auth_of(one: ServerConfig, operator: OperatorConfig) -> Auth | None:
    """Return the credentials of the gateway itself at a server that has a table of them, if that has some. Raises
    ``ConfigurationError``, with its place, for a secret that is missing, and for a server without a URL."""
    path = ("servers", one.label, "auth")
    table = _table_of(one, operator)
    place = operator.place(path)
    if one.url is None and not _is_url(one.target):
        raise ConfigurationError.of(GATEWAY_AUTH_WITHOUT_URL, place=place, server=one.label)
    own = [name for name in _OWN if name in table]
    of_callers = [name for name in _OF_CALLERS if name in table]
    if not table or len(own) > 1 or len(of_callers) > 1:
        methods = _OWN if len(own) > 1 else of_callers or (*_OWN, *_OF_CALLERS)
        problem = Worded(REASON_ONE_METHOD, {"methods": ", ".join(methods)})
        raise ConfigurationError.of(GATEWAY_AUTH_INVALID, place=place, server=one.label, problem=problem)
    if not own:
        return None
    with _placed(one, operator.place((*path, own[0]))):
        secret = secret_of(table[own[0]])
        return _header(one, table[own[0]], secret) if own[0] == "header" else _client(table[own[0]], secret)


def _is_url(target: object) -> bool:
    return isinstance(target, str) and target.startswith(("https://", "http://"))


def grants_of(one: ServerConfig, operator: OperatorConfig) -> GrantSettings | None:
    """Return the settings for the grants of callers at a server, if its callers have some. Raises
    ``ConfigurationError``."""
    table = _table_of(one, operator)
    if _CALLER not in table:
        return None
    with _placed(one, operator.place(("servers", one.label, "auth", _CALLER))):
        return _caller(one, table[_CALLER])


def exchange_of(one: ServerConfig, operator: OperatorConfig) -> ExchangeSettings | None:
    """Return the settings of the token exchange for a server, if it has one. Raises ``ConfigurationError``."""
    table = _table_of(one, operator)
    if _EXCHANGE not in table:
        return None
    with _placed(one, operator.place(("servers", one.label, "auth", _EXCHANGE))):
        return _exchange(one, table[_EXCHANGE])


def enterprise_of(one: ServerConfig, operator: OperatorConfig) -> EnterpriseSettings | None:
    """Return the settings of the enterprise extension for a server, if it has some. Raises ``ConfigurationError``."""
    table = _table_of(one, operator)
    if _ENTERPRISE not in table:
        return None
    with _placed(one, operator.place(("servers", one.label, "auth", _ENTERPRISE))):
        return _enterprise(one, table[_ENTERPRISE])


def has_credentials_of_callers(one: ServerConfig, operator: OperatorConfig | None) -> bool:
    """Whether the calls of each caller at a server are made with credentials of its own."""
    return operator is not None and any(name in _table_of(one, operator) for name in _OF_CALLERS)


def described_auth(one: ServerConfig, operator: OperatorConfig | None, language: str = "en") -> list[str]:
    """The credentials at a server in words: their method, and the place of the secret, but not the secret."""
    table: Mapping[str, Mapping[str, Any]] = {} if operator is None else _table_of(one, operator)
    names = ", ".join(one.headers)
    of_file = [sentence(LABEL_HEADERS_OF_FILE, language, {"names": names})] if one.headers else []
    return of_file + [
        " ".join((sentence(_WORDS[name], language, settings), *_sources_of(settings)))
        for name, settings in table.items()
    ]


_WORDS: Final = {
    "header": LABEL_HEADER_OF_GATEWAY,
    "client": LABEL_CLIENT_CREDENTIALS,
    _CALLER: LABEL_GRANT_OF_CALLER,
    _EXCHANGE: LABEL_EXCHANGED_TOKEN,
    _ENTERPRISE: LABEL_ENTERPRISE_TOKEN,
}


def _sources_of(settings: Mapping[str, Any]) -> list[str]:
    return [f"({source} {settings[source]})" for source in _SOURCES if source in settings]


def _table_of(one: ServerConfig, operator: OperatorConfig) -> Mapping[str, Any]:
    return operator.tables.get("servers", {}).get(one.label, {}).get("auth", {})


@contextlib.contextmanager
def _placed(one: ServerConfig, place: str) -> Generator[None]:
    """Name the place of a mistake."""
    try:
        yield
    except SecretAbsent as error:
        facts = {"place": place, "server": one.label, "problem": error.problem}
        raise ConfigurationError.of(GATEWAY_SECRET_NOT_AVAILABLE, **facts) from None
    except _Misfit as error:
        facts = {"place": place, "server": one.label, "problem": error.problem}
        raise ConfigurationError.of(GATEWAY_AUTH_INVALID, **facts) from None


class _Misfit(Exception):
    def __init__(self, problem: Worded) -> None:
        super().__init__(problem)
        self.problem = problem


class SecretAbsent(Exception):
    """A table names no secret, or one that is not there."""

    def __init__(self, problem: Worded | str) -> None:
        super().__init__(problem)
        self.problem = problem


def _header(one: ServerConfig, settings: Mapping[str, Any], secret: str) -> HeaderSecret:
    name: str = settings["name"]
    if not _HEADER.fullmatch(name) or name.lower() in _OURS or name.lower().startswith("mcp-"):
        raise _Misfit(Worded(REASON_HEADER_NOT_USABLE, {"header": name[:80]}))
    if name.lower() in map(str.lower, one.headers):
        raise _Misfit(Worded(REASON_HEADER_SET_TWICE, {"header": name}))
    value = f"{settings['scheme']} {secret}" if "scheme" in settings else secret
    if not _PLAIN.fullmatch(value):
        raise _Misfit(Worded(REASON_SECRET_NOT_SENDABLE, {}))
    return HeaderSecret(name, value)


def _client(settings: Mapping[str, Any], secret: str) -> ClientCredentials:
    named = {name: settings[name] for name in ("issuer", "scopes", "trusted") if name in settings}
    return ClientCredentials(settings["client_id"], secret, **named)


def _caller(one: ServerConfig, settings: Mapping[str, Any]) -> GrantSettings:
    _check_authorization(one)
    named = {name: settings[name] for name in ("client_id", "issuer", "metadata_url") if name in settings}
    secret = secret_or_none(settings)
    scopes: tuple[str, ...] = tuple(settings.get("scopes", ()))
    trusted: tuple[str, ...] = tuple(settings.get("trusted", ()))
    return GrantSettings(client_secret=secret, scopes=scopes, trusted=trusted, **named)


def _exchange(one: ServerConfig, settings: Mapping[str, Any]) -> ExchangeSettings:
    _check_authorization(one)
    endpoint, secret = _endpoint(settings), secret_of(settings)
    scopes: tuple[str, ...] = tuple(settings.get("scopes", ()))
    return ExchangeSettings(endpoint, settings["client_id"], secret, settings.get("audience"), scopes)


def _enterprise(one: ServerConfig, settings: Mapping[str, Any]) -> EnterpriseSettings:
    _check_authorization(one)
    client: Mapping[str, Any] = settings["client"]
    return EnterpriseSettings(
        _endpoint(settings),
        settings["client_id"],
        secret_of(settings),
        client["issuer"],
        client["client_id"],
        secret_or_none(client),
        settings.get("subject_token", "access_token"),
        tuple(settings.get("scopes", ())),
        tuple(settings.get("trusted", ())),
    )


def _endpoint(settings: Mapping[str, Any]) -> str:
    endpoint: str = settings["token_endpoint"]
    if not endpoint.lower().startswith("https://") and not is_loopback_url(endpoint):
        raise _Misfit(Worded(REASON_ENDPOINT_NOT_HTTPS, {}))
    return endpoint


def _check_authorization(one: ServerConfig) -> None:
    if "authorization" in map(str.lower, one.headers):
        raise _Misfit(Worded(REASON_HEADER_SET_TWICE, {"header": "Authorization"}))


def secret_of(settings: Mapping[str, Any]) -> str:
    """Return the secret that a table names. Raises :class:`SecretAbsent`."""
    sources = [name for name in _SOURCES if name in settings]
    if len(sources) != 1:
        raise SecretAbsent(Worded(REASON_SECRET_NAMED_TWICE if sources else REASON_SECRET_NAMED_NOWHERE, {}))
    source: str = settings[sources[0]]
    match sources[0]:
        case "secret_env":
            secret = os.environ.get(source, "")
        case "secret_file":
            secret = _of_file(source)
        case _:
            secret = _of_keyring(source)
    if not secret:
        raise SecretAbsent(Worded(REASON_SECRET_ABSENT, {"source": source}))
    return secret


def secret_or_none(settings: Mapping[str, Any]) -> str | None:
    """Return the secret that a table names, if it names one."""
    return secret_of(settings) if any(name in settings for name in _SOURCES) else None


def _of_file(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SecretAbsent(f"{name}: {problem}") from None


def _of_keyring(name: str) -> str:
    if find_spec("keyring") is None:
        facts = {"extra": "keyring", "command": install_command("keyring")}
        raise SecretAbsent(Worded(REASON_NO_KEYRING, facts))
    from tooltrue.client.auth.keyring_credentials import secret_in_keyring  # noqa: PLC0415 - comes with an extra

    try:
        return secret_in_keyring(name) or ""
    except StateError as error:
        raise SecretAbsent(fact_of(error)) from None
