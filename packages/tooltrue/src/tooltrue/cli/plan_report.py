"""``tooltrue inspect TARGET --plan TOOL``: the steps that a call of one tool passes, and the layers without a step."""

from __future__ import annotations

from typing import Any

from tooltrue.app import Server
from tooltrue.cli.output import show_wrapped
from tooltrue.cli.printing import one_line, tell
from tooltrue.cli.wording import POLICY_ENTRY_NOT_FOUND
from tooltrue.errors import ConfigurationError, UnknownTool
from tooltrue.policy.pipeline import STAGES
from tooltrue.policy.placing import by_gap, forms
from tooltrue.policy.plan import CallPlan, Planned
from tooltrue.server.service import SILENT
from tooltrue.spelling import closest
from tooltrue.tools.vocabulary import LOCAL, RequestContext

__all__ = ["plan_report", "show_plan"]

_PARTS = ("before", "after", "failed")


async def plan_report(server: Server, name: str) -> dict[str, Any]:
    """Return the plan of a tool for the local caller. ``general`` is the reason for which calls of this name take the
    general form, empty if they do not."""
    provider, context = server.provider, RequestContext(LOCAL, SILENT)
    try:
        tool = await provider.find_tool(name, context)
    except UnknownTool:
        names = [tool.name for tool in await provider.list_tools(context)]
        raise ConfigurationError.of(POLICY_ENTRY_NOT_FOUND, name=name, nearest=closest(name, names)) from None
    plan = provider.plan_of(tool, LOCAL) if isinstance(provider, Planned) else None
    names = () if plan is None else plan.names
    return {
        "tool": tool.name,
        "principal": LOCAL.id,
        "general": _general(server, provider, name, tool.name, context),
        "steps": [] if plan is None else _steps(plan),
        "absent": [one for one in _layers(server) if one["layer"] not in names],
    }


_OF_AUTHOR = "the author's layer"


def _layers(server: Server) -> list[dict[str, str]]:
    """All layers, outermost first, each with the reason for its place."""
    layers = [{"layer": stage.name, "why": stage.why} for stage in STAGES]
    gaps = by_gap(server.settings.layers, [stage.name for stage in STAGES])
    for gap in sorted(gaps, reverse=True):
        layers[gap:gap] = [{"layer": layer.name, "why": _OF_AUTHOR} for layer in gaps[gap]]
    return layers


def _general(server: Server, provider: object, name: str, present: str, context: RequestContext) -> str:
    if not isinstance(provider, Planned):
        own = forms(server.settings.layers, [stage.name for stage in STAGES])
        names = sorted(layer for layer, form in own.items() if form == "general")
        return f"a layer of the pipeline has no steps{': ' if names else ''}{', '.join(names)}"
    if name != present:
        return f"{name} is an old name of the tool"
    if provider.innermost.known_tool(name, context) is None:
        return "the tool can only be found by waiting"
    return ""


def _steps(plan: CallPlan) -> list[dict[str, Any]]:
    why = {stage.name: stage.why for stage in STAGES} | {"errors_as_results (2)": "answers what a layer raises here"}
    return [
        {
            "layer": name,
            "parts": [part for part in _PARTS if getattr(step, part) is not None],
            "why": why.get(name, _OF_AUTHOR),
        }
        for name, step in zip(plan.names, plan.steps, strict=True)
    ]


def show_plan(report: dict[str, Any]) -> None:
    tell(one_line(f"The plan of {report['tool']} for {report['principal']}, outermost first"), bold=True)
    if report["general"]:
        tell(one_line(f"Calls take the general form, through the same layers: {report['general']}."))
    show_wrapped(
        (step["layer"], *(part if part in step["parts"] else "" for part in _PARTS), step["why"])
        for step in report["steps"]
    )
    tell("\nNot in this plan", bold=True)
    show_wrapped((layer["layer"], layer["why"]) for layer in report["absent"])
