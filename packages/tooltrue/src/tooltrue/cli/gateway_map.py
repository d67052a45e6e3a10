"""``tooltrue inspect "tooltrue gateway FILE …"``: the map of a gateway. No server is started without an approval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from tooltrue.app import Server
from tooltrue.cli.gateway_verb import GatewaySpec, read_words
from tooltrue.cli.language import current_language
from tooltrue.cli.output import show_wrapped
from tooltrue.cli.printing import one_line, tell
from tooltrue.cli.terminal_host import speaking_only
from tooltrue.cli.wording import (
    GATEWAY_MAP_SERVERS,
    GATEWAY_MAP_TITLE,
    GATEWAY_MAP_WAYS,
    GATEWAY_MAP_WORKINGS,
    GATEWAY_RULES_ABSENT,
    GATEWAY_RULES_COUNTED,
)
from tooltrue.client.config import ServerConfig
from tooltrue.errors import TooltrueError
from tooltrue.gateway.gateway import Gateway
from tooltrue.gateway.server_auth import described_auth, has_credentials_of_callers
from tooltrue.gateway.servers_file import read_servers
from tooltrue.gateway.settings import tool_search_of, upstream_limits_of
from tooltrue.gateway.view import GatewayView
from tooltrue.host.host import ServerStatus
from tooltrue.host.inventory import configured
from tooltrue.host.servers import Patience
from tooltrue.host.wording import CREDENTIAL_SENDING_NOT_APPROVED, LAUNCH_NOT_APPROVED
from tooltrue.policy.audit.argument_masking import Masks
from tooltrue.policy.config import OperatorConfig
from tooltrue.protocol import versions
from tooltrue.tools.search.searchable import tokens_of
from tooltrue.tools.vocabulary import Tool
from tooltrue.version import __version__
from tooltrue.wording import coded_sentence, sentence

if TYPE_CHECKING:  # stdio needs no HTTP
    from tooltrue.server.http_serving import HttpSettings

__all__ = ["gateway_map", "show_gateway_map"]

_LONGEST_SEGMENT: Final = 20


async def gateway_map(words: Sequence[str], timeout: float, revision: str | None) -> tuple[Gateway, dict[str, Any]]:
    """Return the gateway that these words name, and its map. Raises ``ConfigurationError`` for all that its start would
    refuse."""
    spec, view, http = read_words(words)
    operator = spec.operator()
    servers = read_servers(spec.file) if revision is None else speaking_only(spec.file, revision)
    gateway = spec.gateway(servers, operator, patience=Patience(start=timeout, ready=timeout))
    await gateway.check_rules()
    ways = _ways_on_stdio(gateway, view) if http is None else _ways_over_http(gateway, http)
    async with gateway.host:
        statuses = {status.name: status for status in gateway.host.servers}
        rows = [(row.server, row.tool) for row in gateway.host.rows]
        return gateway, {
            "gateway": {
                "file": spec.file,
                "config": spec.config,
                "version": __version__,
                "workers": 1 if http is None else http.workers,
            },
            "ways_in": [{**way, **_content(server, rows, operator)} for way, server in ways],
            "servers": [
                _server(one, statuses[one.label], [tool for label, tool in rows if label == one.label], spec, operator)
                for one in gateway.host.config.servers
            ],
            "rules": _rules(operator),
        }


# --- ways in ----------------------------------------------------------------------------------------------------------


def _ways_on_stdio(gateway: Gateway, view: str | None) -> list[tuple[dict[str, Any], Server]]:
    server = gateway.view(view)
    return [({"address": "stdio", "callers": ["local"], "audience": None, "principals": None, "scopes": []}, server)]


def _ways_over_http(gateway: Gateway, settings: HttpSettings) -> list[tuple[dict[str, Any], Server]]:
    from tooltrue.server.identity import methods_of  # noqa: PLC0415 - stdio needs no HTTP
    from tooltrue.transport import http_runner  # noqa: PLC0415 - stdio needs no HTTP

    address = http_runner.parse_address(settings.address)
    gateway.use_auth(settings.callers.or_else(gateway.auth_settings))
    http_runner.check_bind(address, authenticates=gateway.authenticator() is not None)
    served: list[Server] = [*gateway.views.values()] or [gateway]
    return [
        (
            {
                "address": f"http://{address.netloc}{path}",
                "callers": [method.shown for method in methods_of(server.auth_settings.methods() or None)],
                "audience": server.auth_settings.table.get("oauth", {}).get("resource"),
                **_callers(server),
            },
            server,
        )
        for path, server in zip(gateway.endpoint_paths, served, strict=True)
    ]


def _callers(server: Server) -> dict[str, Any]:
    """Which of the callers of the gateway a view is for, over HTTP."""
    view = server.view if isinstance(server, GatewayView) else None
    principals = None if view is None or view.principals is None else list(view.principals.patterns)
    return {"principals": principals, "scopes": [] if view is None else sorted(view.scopes)}


def _content(server: Server, rows: Iterable[tuple[str, Tool]], operator: OperatorConfig | None) -> dict[str, Any]:
    """The part of the catalogue behind a way in, before the rules."""
    view = server.view if isinstance(server, GatewayView) else None
    tools = [
        tool
        for label, tool in rows
        if view is None or (view.selection.has_server(label) and view.selection.has_tool(tool.name))
    ]
    tokens, search = sum(map(tokens_of, tools)), tool_search_of(operator)
    search = search if view is None else view.search_in(search)
    return {
        "view": None if view is None else view.name,
        "tools": len(tools),
        "tokens": tokens,
        "search": search.replaces(tokens),
        "rules": _rules(operator, "" if view is None else view.name),
    }


def _rules(operator: OperatorConfig | None, view: str | None = None) -> int | None:
    """The number of rules, of those that hold in a view; ``None`` without a file of rules."""
    if operator is None or operator.rules is None:
        return None
    return sum(view is None or rule.is_for_view(view) for rule in operator.rules.rules)


# --- servers ----------------------------------------------------------------------------------------------------------


def _server(
    one: ServerConfig,
    status: ServerStatus,
    tools: Sequence[Tool],
    spec: GatewaySpec,
    operator: OperatorConfig | None,
) -> dict[str, Any]:
    limits = upstream_limits_of(operator, one.label)
    at = configured(one).how if one.url is None else _without_secrets(one.url)
    return {
        "server": one.label,
        "transport": "stdio" if one.command is not None else one.transport or "http",
        "at": at,
        "trusted": _is_trusted(status),
        "state": status.state,
        "reason": None if status.reason is None else _reason(status.reason, at),
        "revision": status.revision or one.revision,
        "tools": len(tools),
        "tokens": sum(map(tokens_of, tools)),
        "connections": _connections(one, status, spec, operator),
        "credentials": described_auth(one, operator, current_language()),
        "limits": {
            "seconds": one.seconds,
            "start_seconds": one.start_seconds or Patience().start,
            **{name: getattr(limits, name) for name in type(limits).__struct_fields__},
        },
    }


def _without_secrets(url: str) -> str:
    """A URL without its user, its query, and the parts of its path that are as long as a key."""
    try:
        parts = urlsplit(url)
    except ValueError:  # no URL, which its server has as the reason
        return "…"
    path = "/".join(part if len(part) <= _LONGEST_SEGMENT else "…" for part in parts.path.split("/"))
    return Masks().text(urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, "", "")))


def _reason(error: TooltrueError, at: str) -> str:
    """Why a server cannot be used, with its command or URL as the map has it."""
    facts = {name: at if name in ("command", "url") else fact for name, fact in error.facts.items()}
    return Masks().text(coded_sentence(error.code, current_language(), facts) if error.code else str(error))


def _is_trusted(status: ServerStatus) -> bool | None:
    """Whether a person has approved what is started or sent; ``None`` where that was not tried."""
    if status.state == "disabled":
        return None
    if status.state != "refused" or status.reason is None:
        return True
    return False if status.reason.code in (LAUNCH_NOT_APPROVED, CREDENTIAL_SENDING_NOT_APPROVED) else None


def _connections(one: ServerConfig, status: ServerStatus, spec: GatewaySpec, operator: OperatorConfig | None) -> str:
    """Which callers share a connection to a server."""
    if spec.is_for_one:
        return "one"
    if has_credentials_of_callers(one, operator):
        return "of each caller, with credentials of its own"
    if one.shared:
        return "one for all callers"
    if one.command is not None:
        return "a process for each caller"
    revision = status.revision or one.revision
    if not revision:
        return "unknown"
    return "stateless, for all callers" if revision in versions.MODERN else "a session for each caller"


# --- on a terminal ----------------------------------------------------------------------------------------------------


def show_gateway_map(report: Mapping[str, Any]) -> None:
    gateway, language = report["gateway"], current_language()
    tell(one_line(sentence(GATEWAY_MAP_TITLE, language, {**gateway, "config": gateway["config"] or "-"})), bold=True)
    rules = report["rules"]
    tell(sentence(GATEWAY_RULES_ABSENT if rules is None else GATEWAY_RULES_COUNTED, language, {"count": rules}))
    tell("\n" + sentence(GATEWAY_MAP_WAYS, language, {}), bold=True)
    show_wrapped([_WAY, *(_way(way) for way in report["ways_in"])])
    tell("\n" + sentence(GATEWAY_MAP_SERVERS, language, {}), bold=True)
    servers = report["servers"]
    show_wrapped([_SERVER, *(tuple(_cell(one[name]) for name in _SERVER) for one in servers)])
    for one in servers:
        if one["reason"] is not None:
            tell(one_line(f"{one['server']}: {one['reason']}"), fg="yellow")
    tell("\n" + sentence(GATEWAY_MAP_WORKINGS, language, {}), bold=True)
    show_wrapped([_WORKING, *(_working(one) for one in servers)])


_WAY: Final = ("address", "view", "callers", "tools", "tokens", "search", "rules")
_SERVER: Final = ("server", "state", "trusted", "transport", "revision", "tools", "tokens", "at")
_WORKING: Final = ("server", "connections", "credentials", "limits")


def _way(way: Mapping[str, Any]) -> tuple[str, ...]:
    callers = [*way["callers"]]
    callers += [] if way["principals"] is None else [f"only {', '.join(way['principals'])}"]
    callers += [f"with {', '.join(way['scopes'])}"] if way["scopes"] else []
    return tuple("; ".join(callers) if name == "callers" else _cell(way[name]) for name in _WAY)


def _working(one: Mapping[str, Any]) -> tuple[str, ...]:
    limits = one["limits"]
    seconds = "" if limits["seconds"] is None else f"{limits['seconds']:g} s a call; "
    text = (
        f"{seconds}{limits['start_seconds']:g} s a start; {limits['at_once']} at once; {limits['waiting']} of a caller "
        f"wait {limits['waiting_seconds']:g} s; {limits['failures']} failures pause {limits['pause_seconds']:g} s"
    )
    return one["server"], one["connections"], "; ".join(one["credentials"]) or "-", text


def _cell(value: object) -> str:
    match value:
        case None | "":
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case _:
            return str(value)
