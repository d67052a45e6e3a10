"""``tooltrue inspect``: the state of a server, its limits, and the origin of each setting."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import click

from tooltrue.app import Server
from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.language import current_language
from tooltrue.cli.numbers import SECONDS
from tooltrue.cli.output import show_json, show_wrapped
from tooltrue.cli.plan_report import plan_report, show_plan
from tooltrue.cli.printing import one_line, tell
from tooltrue.cli.server_connection import connected, gateway_words, revision_option, target_of
from tooltrue.cli.targets import Spec, is_ours, load_server
from tooltrue.cli.terminal_host import TYPED, is_config, opened, speaking_only
from tooltrue.cli.wording import PLAN_FOR_LOCAL_SERVER_ONLY
from tooltrue.client.client import Target
from tooltrue.client.eras import ServerFacts
from tooltrue.errors import ConfigurationError
from tooltrue.extras import install_command
from tooltrue.protocol import versions
from tooltrue.protocol.types import ToolDefinition
from tooltrue.tools.meta_keys import CONFINED_BY, NOT_CONFINED, WALLS

__all__ = ["command"]


@click.command(
    "inspect", cls=TargetVerb, example="tooltrue inspect notes.py", short_help="Show a server and its guards."
)
@click.argument("target")
@click.option("--config", metavar="FILE", help="The operator's rules and settings, such as tooltrue.toml.")
@click.option("--timeout", type=SECONDS, default=30.0, show_default=True, help="Seconds to wait for an answer.")
@revision_option
@click.option("--plan", "tool", metavar="TOOL", help="Print the steps that a call of TOOL passes, and nothing else.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    target: str,
    family: FamilyOptions,
    config: str | None,
    timeout: float,
    revision: str | None,
    tool: str | None,
    as_json: bool,
) -> None:
    """Inspect TARGET.

    TARGET is a server of ours (toolbox name, FILE.py, module:NAME), a URL, a command in quotes, or a file of servers
    (mcpServers JSON, TOML). For a command "tooltrue gateway FILE", print the map of the gateway; a server whose command
    no person has approved is not started.
    """
    if tool is not None:
        plan = asyncio.run(plan_report(_server_of(target, family, config), tool))
        show_json(plan) if as_json else show_plan(plan)
        return
    if is_config(target):
        host = asyncio.run(_look_at_all(target, timeout, revision))
        show_json(host) if as_json else _show_host(host)
        return
    if (words := gateway_words(target)) is not None and config is None:
        _inspect_gateway(words, timeout, revision, as_json)
        return
    resolved_target = target_of(target, family, config, only_lists=True)
    facts, tools = asyncio.run(_look(resolved_target, timeout, revision))
    report = {
        "server": _server(facts),
        "tools": len(tools),
        "guard": _guard(resolved_target),
        "routes": _routes(resolved_target),
        "lifespan": _lifespans(resolved_target),
        "exceptions": asyncio.run(_exceptions(resolved_target)),
        "held": _confinement(resolved_target, tools),
        "walls": _walls(resolved_target, tools),
        "speed": _speed(resolved_target),
    }
    show_json(report) if as_json else _show(report)


def _inspect_gateway(words: Sequence[str], timeout: float, revision: str | None, as_json: bool) -> None:
    from tooltrue.cli.gateway_map import gateway_map, show_gateway_map  # noqa: PLC0415 - few targets are gateways

    gateway, report = asyncio.run(gateway_map(words, timeout, revision))
    for note in gateway.host.config.notes:
        tell(one_line(note.say(current_language())), fg="yellow", err=True)
    report["guard"] = _guard(gateway)
    if as_json:
        show_json(report)
    else:
        show_gateway_map(report)
        _show_guard(report["guard"])


def _server_of(target: str, family: FamilyOptions, config: str | None) -> Server:
    if is_config(target) or not is_ours(target):
        raise ConfigurationError.of(PLAN_FOR_LOCAL_SERVER_ONLY, target=target)
    return load_server(Spec.of(target, family, config))


async def _look(target: Target, timeout: float, revision: str | None) -> tuple[ServerFacts, Sequence[ToolDefinition]]:
    async with connected(target, timeout=timeout, revision=revision) as client:
        return client.facts, await client.list_tools()


async def _look_at_all(file: str, timeout: float, revision: str | None) -> dict[str, Any]:
    """The servers of a file: their states, their tools, and the definitions that are quarantined or suspicious."""
    async with opened(file if revision is None else speaking_only(file, revision), timeout, **TYPED) as host:
        return {
            "servers": [
                {
                    "label": one.name,
                    "state": one.state,
                    "reason": None if one.reason is None else one.reason.say(),
                    "tools": one.tools,
                    "server": f"{one.server} {one.version}".strip(),
                    "revision": one.revision,
                }
                for one in host.servers
            ],
            "tools": [
                {"name": row.alias, "server": row.server, "tool": row.name, "effect": row.tool.effect}
                for row in host.rows
            ],
            "quarantined": [
                {"server": one.server, one.kind: one.name, "reason": one.problem.say()} for one in host.quarantined
            ],
            "suspicious": [
                {"server": one.server, one.kind: one.name, "findings": [finding.data() for finding in one.findings]}
                for one in host.suspicions
            ],
        }


def _show_host(report: dict[str, Any]) -> None:
    names = ("label", "state", "tools", "revision", "server")
    show_wrapped([tuple(str(server[name]) for name in names) for server in report["servers"]])
    tell("\nTools, by the name that a model sees", bold=True)
    show_wrapped([(row["name"], row["server"], row["tool"], row["effect"]) for row in report["tools"]])
    if report["quarantined"]:
        tell("\nQuarantined definitions", bold=True)
        show_wrapped([tuple(one.values()) for one in report["quarantined"]])
    if report["suspicious"]:
        tell("\nSuspicious definitions", bold=True)
        for server, name, findings in (tuple(one.values()) for one in report["suspicious"]):
            show_wrapped([(server, name, finding["path"], finding["text"]) for finding in findings])


def _show_guard(rows: Sequence[dict[str, str]]) -> None:
    tell("\nLayers of a call, outermost first", bold=True)
    show_wrapped([(row["layer"], row["state"], row["from"]) for row in rows])


def _server(facts: ServerFacts) -> dict[str, Any]:
    return {
        "name": facts.name,
        "version": facts.version,
        "revision": facts.revision,
        "supported": list(facts.supported),
        "capabilities": sorted(facts.capabilities),
        "instructions": facts.instructions,
    }


def _guard(target: Target) -> list[dict[str, str]]:
    """The layers of a tooltrue server, outermost first. Those of other servers cannot be seen from outside."""
    if not isinstance(target, Server):
        return []
    return [{"layer": layer, "state": state, "from": origin} for layer, state, origin in target.guard()]


def _routes(target: Target) -> list[dict[str, str]]:
    """The HTTP routes of a tooltrue server beside its endpoint, and the callers that each admits."""
    if not isinstance(target, Server):
        return []
    return [{"path": path, "methods": methods, "callers": callers} for path, methods, callers in target.http_routes()]


def _lifespans(target: Target) -> list[dict[str, str]]:
    """The functions that are entered when a tooltrue server starts, in order."""
    if not isinstance(target, Server):
        return []
    limit = f"left within {target.lifespan_seconds:g} s"
    return [{"server": one.name, "functions": one.shown, "limit": limit} for one in target.lifespans]


async def _exceptions(target: Target) -> list[dict[str, str]]:
    """The tools of a tooltrue server for which its author has set exceptions."""
    if not isinstance(target, Server):
        return []
    return [{"tool": tool, "setting": setting} for tool, setting in await target.exceptions()]


def _confinement(target: Target, tools: Sequence[ToolDefinition]) -> list[dict[str, str]]:
    """The confinement of the programs that a tool of a tooltrue server starts on this machine. Claims of other
    servers are ignored."""
    metas = [(tool.name, tool.meta or {}) for tool in tools] if isinstance(target, Server) else []
    return [
        {"tool": name, "by": ", ".join(by) or meta.get(NOT_CONFINED) or _NOT_HELD}
        for name, meta in metas
        if (by := meta.get(CONFINED_BY)) is not None
    ]


_NOT_HELD = "nothing: the kernel has none of what could hold them"


def _walls(target: Target, tools: Sequence[ToolDefinition]) -> list[dict[str, str]]:
    """The barriers between the statements of a tool of a tooltrue server and the data hidden from them."""
    claims = [(tool.name, (tool.meta or {}).get(WALLS)) for tool in tools] if isinstance(target, Server) else []
    return [{"tool": name, "walls": "; ".join(walls)} for name, walls in claims if walls is not None]


_SPEED = (
    ("hyperscan", "rules out long results"),
    ("orjson", "encodes long texts"),
    ("uvloop", "runs the event loop"),
)


def _speed(target: Target) -> list[dict[str, str]]:
    """The packages of the extra ``speed`` that a tooltrue server uses in this installation."""
    if not isinstance(target, Server):
        return []
    return [
        {"package": package, "use": use if find_spec(package) else f"not installed: {install_command('speed')}"}
        for package, use in _SPEED
    ]


def _show(report: dict[str, Any]) -> None:
    server = report["server"]
    tell(one_line(f"{server['name'] or '(unnamed)'} {server['version']}"), bold=True)
    newest = "modern" if server["revision"] in versions.MODERN else "legacy"
    show_wrapped(
        [
            ("speaks", f"{server['revision']} ({newest})"),
            ("also", ", ".join(name for name in server["supported"] if name != server["revision"]) or "nothing else"),
            ("offers", ", ".join(server["capabilities"]) or "nothing"),
            ("tools", str(report["tools"])),
        ]
    )
    if report["guard"]:
        _show_guard(report["guard"])
        if report["routes"]:
            tell("\nRoutes beside the endpoint, over HTTP", bold=True)
            show_wrapped([(row["path"], row["methods"], row["callers"]) for row in report["routes"]])
        tell("\nPackages for speed", bold=True)
        show_wrapped([(row["package"], row["use"]) for row in report["speed"]])
        if report["lifespan"]:
            tell("\nLifespan", bold=True)
            show_wrapped([(row["server"], row["functions"], row["limit"]) for row in report["lifespan"]])
        if report["exceptions"]:
            tell("\nTools with settings of their own", bold=True)
            show_wrapped([(row["tool"], row["setting"]) for row in report["exceptions"]])
        if report["held"]:
            tell("\nConfinement of the programs that a tool starts", bold=True)
            show_wrapped([(row["tool"], row["by"]) for row in report["held"]])
        if report["walls"]:
            tell("\nGuards of hidden data", bold=True)
            show_wrapped([(row["tool"], row["walls"]) for row in report["walls"]])
    else:
        tell("\nThe layers of this server cannot be seen from outside.")
