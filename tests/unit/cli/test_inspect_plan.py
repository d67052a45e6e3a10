"""``tooltrue inspect TARGET --plan TOOL``: the steps of one tool, and the layers that have none for it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tooltrue import LocalToolset, Server, prefixed
from tooltrue.cli.main import cli
from tooltrue.cli.plan_report import plan_report, show_plan
from tooltrue.policy.pipeline import STAGES
from tooltrue.protocol.types import ToolOutcome
from tooltrue.tools.toolset import Wrapper
from tooltrue.tools.vocabulary import RequestContext, Tool, ToolCall

SERVER = '''
from tooltrue import Server

server = Server("shop")


@server.tool(effect="read", repair=True, replaces="cost")
async def price(item: str) -> int:
    """Return the price of an item."""
    return len(item)


@server.tool(effect="destructive")
def burn(item: str) -> str:
    """Burn an item."""
    return item
'''
RULES = '[[rules]]\nthen = "allow"\n[audit]\non = false\n'


@pytest.fixture
def shop(tmp_path: Path) -> str:
    file = tmp_path / "shop.py"
    file.write_text(SERVER)
    return str(file)


def inspect(*words: str) -> Result:
    return CliRunner().invoke(cli, ["inspect", *words])


def report_of(*words: str) -> dict[str, Any]:
    return json.loads(inspect(*words, "--json").stdout)


def test_each_layer_is_a_step_or_listed_as_absent(shop: str):
    for tool in ("price", "burn"):
        report = report_of(shop, "--plan", tool)
        steps, absent = ([one["layer"] for one in report[part]] for part in ("steps", "absent"))
        assert sorted(steps + absent) == sorted(stage.name for stage in STAGES)
        assert steps == [stage.name for stage in STAGES if stage.name in steps]
        assert (report["tool"], report["principal"], report["general"]) == (tool, "local", "")


def test_the_parts_of_a_step_are_marked_and_its_place_has_a_reason(shop: str):
    steps = {one["layer"]: one for one in report_of(shop, "--plan", "price")["steps"]}
    assert steps["audit"]["parts"] == ["before", "after", "failed"]
    assert steps["validate"]["parts"] == ["before"]
    assert steps["store_results"]["parts"] == ["after"]
    assert steps["errors_as_results"] == {
        "layer": "errors_as_results",
        "parts": ["failed"],
        "why": "below, failures are exceptions; above, they are results",
    }


def test_the_settings_of_a_tool_change_its_plan(shop: str):
    price, burn = ({one["layer"] for one in report_of(shop, "--plan", tool)["steps"]} for tool in ("price", "burn"))
    assert price - burn == {"repair", "renames"}


def test_the_operators_file_changes_a_plan(shop: str, tmp_path: Path):
    file = tmp_path / "rules.toml"
    file.write_text(RULES)
    steps = {one["layer"] for one in report_of(shop, "--plan", "burn", "--config", str(file))["steps"]}
    assert "authorize_arguments" in steps
    assert not steps & {"audit", "write_ahead_audit"}


def test_a_person_reads_the_steps_in_their_order_and_then_the_rest(shop: str):
    lines = inspect(shop, "--plan", "burn").stdout.splitlines()
    assert lines[0] == "The plan of burn for local, outermost first"
    assert lines[1].split("  ")[0] == "audit"
    rest = lines.index("Not in this plan")
    assert any(line.startswith("renames") for line in lines[rest:])
    assert not any(line.startswith("renames") for line in lines[:rest])


def test_an_old_name_takes_the_general_form(shop: str):
    report = report_of(shop, "--plan", "cost")
    assert report["tool"] == "price"
    assert report["general"] == "cost is an old name of the tool"
    assert "take the general form" in inspect(shop, "--plan", "cost").stdout


def test_an_unknown_tool_is_an_error_in_both_languages(shop: str):
    english, chinese = inspect(shop, "--plan", "prize"), inspect(shop, "--plan", "prize", "--lang", "zh")
    assert english.exit_code == chinese.exit_code == 2
    assert "TT4313" in english.output
    assert "price" in english.output
    assert "本服务器没有名为" in chinese.output


@pytest.mark.parametrize("target", ["https://example.com/mcp", "servers.json", "python server.py"])
def test_another_server_shows_no_plan(target: str):
    refusal = inspect(target, "--plan", "price")
    assert refusal.exit_code == 2
    assert "TT4075" in refusal.output


class OnlyFinds(Wrapper, frozen=True):
    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return await self.inner.find_tool(name, context)


class Unplanned(Wrapper, frozen=True):
    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        return await self.inner.call_tool(call)


def test_a_toolset_that_waits_for_its_tools_takes_the_general_form():
    tools = LocalToolset()
    tools.add(test_a_toolset_that_waits_for_its_tools_takes_the_general_form, name="wait", description="Wait.")
    server = Server("s", toolsets=[OnlyFinds(tools), prefixed(OnlyFinds(tools), "v")])
    report = asyncio.run(plan_report(server, "v_wait"))
    assert report["general"] == "the tool can only be found by waiting"
    assert report["steps"]


def test_a_pipeline_without_steps_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    from tooltrue.policy import pipeline  # noqa: PLC0415 - its table is changed

    monkeypatch.setattr(pipeline, "renames", lambda language: Unplanned)
    server = Server("s")
    server.tool(lambda: "x", name="tool", description="Do.")
    report = asyncio.run(plan_report(server, "tool"))
    assert report["general"] == "a layer of the pipeline has no steps"
    assert report["steps"] == []
    show_plan(report)
    assert "a layer of the pipeline has no steps" in capsys.readouterr().out
