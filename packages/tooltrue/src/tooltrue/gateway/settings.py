"""The settings of a gateway in the operator's file: ``[gateway]``, and ``[servers.NAME]`` for each of its servers."""

from __future__ import annotations

import base64
import binascii
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib.util import find_spec
from typing import Any, Final

from tooltrue.client.auth.metadata import is_loopback_url
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.client.oauth import SignIn
from tooltrue.client.question_limits import QuestionLimits
from tooltrue.errors import ConfigurationError
from tooltrue.extras import install_command
from tooltrue.gateway.caller_grants import CallerGrants
from tooltrue.gateway.callers import ConnectionBounds
from tooltrue.gateway.enterprise_exchange import EnterpriseExchange
from tooltrue.gateway.held_operations import MOST_HELD
from tooltrue.gateway.issuer_sign_in import SignInSettings
from tooltrue.gateway.server_auth import (
    SecretAbsent,
    auth_of,
    enterprise_of,
    exchange_of,
    grants_of,
    secret_of,
    secret_or_none,
)
from tooltrue.gateway.token_exchange import CallerExchange, TokenExchange
from tooltrue.gateway.upstream_traffic import UpstreamLimits
from tooltrue.gateway.wording import (
    GATEWAY_AUTH_INVALID,
    GATEWAY_SERVER_UNKNOWN,
    GRANT_PAGES_UNREACHABLE,
    LABEL_BROWSER_IDENTITY,
    LABEL_GATEWAY_URL,
    LABEL_GRANT_KEY,
    LABEL_ONE_BROWSER_IDENTITY,
    LABEL_SIGN_IN_SECRET,
    REASON_KEY_LENGTH,
    REASON_NOT_SHARED,
    TASKS_NEED_EXTRA,
    TASKS_WITHOUT_TOKEN,
)
from tooltrue.policy.config import OperatorConfig
from tooltrue.spelling import closest
from tooltrue.state.places import sqlite_url, state_folder
from tooltrue.tools.search.searchable import ToolSearch
from tooltrue.tools.vocabulary import TaskMode
from tooltrue.wording import Worded

__all__ = [
    "bounds_of",
    "caller_grants_of",
    "changed_tables",
    "check_task_modes",
    "entries_of",
    "exchanges_of",
    "has_common_lists",
    "has_pins",
    "is_program",
    "question_limits_of",
    "sign_in_of",
    "sign_in_settings",
    "task_mode_of",
    "tool_search_of",
    "upstream_limits_of",
    "with_settings",
]

_KEY_BYTES: Final = 32


def bounds_of(operator: OperatorConfig | None) -> ConnectionBounds:
    names = ConnectionBounds.__struct_fields__
    return ConnectionBounds(**{name: value for name, value in _gateway(operator).items() if name in names})


def question_limits_of(operator: OperatorConfig | None) -> QuestionLimits:
    settings = _gateway(operator)
    minute = {"per_minute": settings["questions"]} if "questions" in settings else {}
    return QuestionLimits(waiting=MOST_HELD, **minute)  # an operation is held while its question waits


def has_pins(operator: OperatorConfig | None) -> bool:
    return _gateway(operator).get("pins", True)


def has_common_lists(operator: OperatorConfig | None, label: str) -> bool:
    """Whether the operator says that the lists of a server are the same for all callers."""
    return _servers(operator).get(label, {}).get("common_lists", False)


def task_mode_of(operator: OperatorConfig | None, label: str) -> TaskMode | None:
    """When the calls of the tools of a server become tasks, which the gateway runs."""
    return _servers(operator).get(label, {}).get("tasks")


def check_task_modes(operator: OperatorConfig | None) -> bool:
    """Return whether calls of a server become tasks. Raises ``ConfigurationError`` for a server whose calls cannot: the
    package is missing, or a task would have no token of its caller."""
    if operator is None:
        return False
    labels = [label for label in _servers(operator) if task_mode_of(operator, label) is not None]
    for label in labels:
        place = operator.place(("servers", label, "tasks"))
        if find_spec("dbos") is None:
            raise ConfigurationError.of(TASKS_NEED_EXTRA, place=place, server=label, command=install_command("tasks"))
        auth = _servers(operator)[label].get("auth", {})
        if "exchange" in auth or "enterprise" in auth:
            raise ConfigurationError.of(TASKS_WITHOUT_TOKEN, place=place, server=label)
    return bool(labels)


def tool_search_of(operator: OperatorConfig | None) -> ToolSearch:
    """The settings of the search for tools, which begins where definitions take more than the budget."""
    return ToolSearch(**({} if operator is None else operator.tables.get("search", {})))


def _gateway(operator: OperatorConfig | None) -> Mapping[str, Any]:
    return {} if operator is None else operator.tables.get("gateway", {})


def upstream_limits_of(operator: OperatorConfig | None, label: str) -> UpstreamLimits:
    names, settings = UpstreamLimits.__struct_fields__, _servers(operator).get(label, {})
    return UpstreamLimits(**{name: value for name, value in settings.items() if name in names})


def _servers(operator: OperatorConfig | None) -> Mapping[str, Mapping[str, Any]]:
    return {} if operator is None else operator.tables.get("servers", {})


def caller_grants_of(config: HostConfig, operator: OperatorConfig | None) -> CallerGrants | None:
    """Return the grants of callers, if a server has callers with grants. Raises ``ConfigurationError`` for a setting
    that they lack."""
    if operator is None:
        return None
    servers = {one.label: grants for one in config.servers if (grants := grants_of(one, operator)) is not None}
    for label in servers:
        _check_grants(label, operator)
    if not servers:
        return None
    settings = _gateway(operator)
    store = settings.get("grants") or sqlite_url(state_folder() / "tooltrue-grants.db")
    keys = _grant_keys(next(iter(servers)), operator)
    return CallerGrants(servers, base=settings["url"], store=store, keys=keys)


def _check_grants(label: str, operator: OperatorConfig) -> None:
    place = operator.place(("servers", label, "auth", "caller"))
    _check_own(label, operator, "caller")
    url: str = _gateway(operator).get("url", "")
    lacks: Worded | None = Worded(LABEL_GATEWAY_URL, {})
    if url.startswith("https://") or (url.startswith("http://") and is_loopback_url(url)):
        lacks = _lack_of_browsers(operator)
    if lacks is not None:
        raise ConfigurationError.of(GRANT_PAGES_UNREACHABLE, place=place, server=label, problem=lacks)


def _lack_of_browsers(operator: OperatorConfig) -> Worded | None:
    """The setting that the pages lack to know the caller of a browser."""
    auth = operator.tables.get("auth", {})
    needed = "oauth" if "sign_in" in _gateway(operator) else "proxy"
    if needed == "oauth" and "proxy" in auth:
        return Worded(LABEL_ONE_BROWSER_IDENTITY, {})
    return None if not auth or needed in auth else Worded(LABEL_BROWSER_IDENTITY, {})


def sign_in_of(grants: CallerGrants, operator: OperatorConfig) -> SignInSettings | None:
    """Return the settings by which the browsers of callers sign in, if there are some. Raises
    ``ConfigurationError``."""
    table = _gateway(operator).get("sign_in")
    if table is None:
        return None
    try:
        return sign_in_settings(table)
    except SecretAbsent as error:
        problem = Worded(LABEL_SIGN_IN_SECRET, {"problem": error.problem})
        facts = {"place": operator.place(("gateway", "sign_in")), "server": next(iter(grants.servers))}
        raise ConfigurationError.of(GRANT_PAGES_UNREACHABLE, **facts, problem=problem) from None


def sign_in_settings(table: Mapping[str, Any]) -> SignInSettings:
    """Return the settings of a table ``sign_in``. Raises ``SecretAbsent``."""
    secret = secret_or_none(table)
    return SignInSettings(table["client_id"], secret, table.get("issuer"), tuple(table.get("trusted", ())))


def exchanges_of(config: HostConfig, operator: OperatorConfig | None) -> dict[str, CallerExchange]:
    """Return the exchange of callers' tokens for each server that has one: by the token endpoint, or by the enterprise
    extension. Raises ``ConfigurationError``, also for a server with one session for all callers."""
    if operator is None:
        return {}
    exchanges: dict[str, CallerExchange] = {}
    for one in config.servers:
        if (settings := exchange_of(one, operator)) is not None:
            _check_own(one.label, operator, "exchange")
            exchanges[one.label] = TokenExchange(settings)
        if (settings := enterprise_of(one, operator)) is not None:
            _check_own(one.label, operator, "enterprise")
            exchanges[one.label] = EnterpriseExchange(settings)
    return exchanges


def _check_own(label: str, operator: OperatorConfig, method: str) -> None:
    """Raise ``ConfigurationError`` for credentials of each caller in a session of all."""
    if operator.tables["servers"][label].get("shared", False):
        place = operator.place(("servers", label, "auth", method))
        problem = Worded(REASON_NOT_SHARED, {"method": method})
        raise ConfigurationError.of(GATEWAY_AUTH_INVALID, place=place, server=label, problem=problem)


def _grant_keys(label: str, operator: OperatorConfig) -> list[bytes]:
    """Return the keys that encrypt grants; the first is for new ones."""
    settings = _gateway(operator)
    keys: list[bytes] = []
    for name in ("grant_key", "old_grant_key"):
        if name == "old_grant_key" and name not in settings:
            continue
        try:
            key = base64.b64decode(secret_of(settings.get(name, {})), validate=True)
            if len(key) != _KEY_BYTES:
                raise SecretAbsent(Worded(REASON_KEY_LENGTH, {}))
        except (SecretAbsent, binascii.Error) as error:
            cause = error.problem if isinstance(error, SecretAbsent) else Worded(REASON_KEY_LENGTH, {})
            place = operator.place(("gateway", name) if name in settings else ("servers", label, "auth", "caller"))
            problem = Worded(LABEL_GRANT_KEY, {"problem": cause})
            raise ConfigurationError.of(GRANT_PAGES_UNREACHABLE, place=place, server=label, problem=problem) from None
        keys.append(key)
    return keys


def with_settings(config: HostConfig, operator: OperatorConfig | None, *, is_for_one: bool = False) -> HostConfig:
    """Apply ``[servers.NAME]``. With ``is_for_one``, the grant of the caller is the sign-in of this user. Raises
    ``ConfigurationError`` for a name that is no server of ``config``."""
    tables = _servers(operator)
    labels = [one.label for one in config.servers]
    for name in tables:
        if operator is not None and name not in labels:
            raise ConfigurationError.of(
                GATEWAY_SERVER_UNKNOWN,
                place=operator.place(("servers", name)),
                name=name,
                file=config.name,
                nearest=closest(name, labels) or ", ".join(labels),
            )
    if operator is None:
        return config
    servers = [_with(one, tables.get(one.label, {}), operator, is_for_one) for one in config.servers]
    return replace(config, servers=tuple(servers))


def entries_of(config: HostConfig, operator: OperatorConfig | None) -> dict[str, object]:
    """The entry of each server in both files, to be compared."""
    tables = _servers(operator)
    return {one.label: (one, tables.get(one.label)) for one in config.servers}


def changed_tables(before: OperatorConfig | None, after: OperatorConfig | None) -> list[str]:
    """Return the names of the tables that differ between two states of the operator's file, but for ``servers``."""
    old, new = ({} if one is None else tomllib.loads(one.text) for one in (before, after))
    return sorted(name for name in old.keys() | new.keys() if name != "servers" and old.get(name) != new.get(name))


def _with(one: ServerConfig, table: Mapping[str, Any], operator: OperatorConfig, is_for_one: bool) -> ServerConfig:
    settings = {name: table[name] for name in _OF_A_SERVER & table.keys()}
    if "auth" not in table:
        return replace(one, **settings)
    auth = auth_of(one, operator)
    if is_for_one and (grants := grants_of(one, operator)) is not None:
        auth = SignIn(
            client_id=grants.client_id,
            client_secret=grants.client_secret,
            issuer=grants.issuer,
            metadata_url=grants.metadata_url,
            scopes=grants.scopes,
            trusted=grants.trusted,
        )
    return replace(one, auth=auth, **settings)


_OF_A_SERVER = frozenset(field.name for field in fields(ServerConfig)) - {"auth"}
"""The keys of ``[servers.NAME]`` that apply as they are."""


def is_program(one: ServerConfig) -> bool:
    """Whether the gateway starts this server as a program."""
    return one.command is not None and one.enabled
