"""The pipeline of a host: the settings of the operator's file, and the same layers for a server object."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.guarded_host import Person, Place, text_of
from tooltrue import Server
from tooltrue.errors import ConfigurationError
from tooltrue.host.approval_prompts import PromptLimits
from tooltrue.host.host_guard import Hosting, hosted
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.consent.approvals import Approvals
from tooltrue.policy.guard import Guard
from tooltrue.policy.rules.globs import globs
from tooltrue.policy.tasks.declared_effects import effect_of
from tooltrue.policy.tasks.lethal_trifecta import Flow
from tooltrue.policy.tasks.loop_detection import Loops
from tooltrue.policy.tasks.retry import Retry
from tooltrue.protocol.types import CallToolResult, ToolAnnotations
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.null import SILENT
from tooltrue.tools.tasks import Budget
from tooltrue.tools.vocabulary import LOCAL, Effect, RequestContext, ToolCall

FILE = """
[effects]
read = ["disk_read", "web_*"]
write = "disk_put"

[flow]
public = "web_*"
stays = ["disk_*"]

[budget]
calls = 5
money = 0.5

[loops]
patient = "job_*"

[retry]
attempts = 2
idempotent = "disk_put"

[asking]
seconds = 60

[repair]
tools = "disk_*"

[[rules]]
then = "allow"
tools = "disk_*"
"""


def test_the_file_of_the_operator_configures_the_settings_of_a_host(tmp_path: Path):
    file = tmp_path / "tooltrue.toml"
    file.write_text(FILE)
    config = read_operator_config(file)
    hosting = Hosting().over(config)
    assert hosting.effects == {"read": globs(["disk_read", "web_*"]), "write": globs(["disk_put"])}
    assert hosting.flow == Flow(public=globs(["web_*"]), stays=globs(["disk_*"]))
    assert hosting.budget == Budget(calls=5, money=0.5)
    assert hosting.loops == Loops(patient=globs(["job_*"]))
    assert hosting.retry == Retry(attempts=2, idempotent=globs(["disk_put"]))
    assert hosting.asking == PromptLimits(seconds=60)
    assert config.over(Guard(), "desk").repair == globs(["disk_*"])


@pytest.mark.parametrize("text", ["[effects]\nreading = 'x'", "[budget]\ncalls = 0", "[flow]\nsends = 5", "[repair]"])
def test_an_invalid_setting_in_the_file_of_the_operator_is_refused_with_its_line(tmp_path: Path, text: str):
    file = tmp_path / "tooltrue.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=r"tooltrue\.toml:"):
        read_operator_config(file)


@pytest.mark.parametrize(
    ("said", "hints", "effect"),
    [
        ("read", None, "read"),
        ("read", ToolAnnotations(readOnlyHint=True), "read"),
        ("read", ToolAnnotations(readOnlyHint=False), "write"),
        ("read", ToolAnnotations(readOnlyHint=False, openWorldHint=True), "open-world"),
        ("write", ToolAnnotations(readOnlyHint=False, destructiveHint=True), "destructive"),
        ("read", ToolAnnotations(destructiveHint=True), "destructive"),
        ("destructive", ToolAnnotations(readOnlyHint=True, destructiveHint=False), "destructive"),
    ],
)
def test_the_hints_of_a_tool_can_only_raise_its_effect(said: Effect, hints: ToolAnnotations | None, effect: Effect):
    assert effect_of(said, hints) == effect


def test_each_layer_sees_the_effect_that_the_operator_declared():
    person = Person()
    place = Place(person, effects={"read": globs(["look"]), "destructive": globs(["put"])})
    place.add("look")
    place.add("put", effect="read")

    async def main() -> list[Any]:
        tools = await place.provider.list_tools(place.context())
        assert tools is await place.provider.list_tools(place.context())
        return [[tool.effect for tool in tools], await place.code("look"), await place.code("put")]

    assert asyncio.run(main()) == [["read", "destructive"], "", "TT2401"]


def test_a_server_object_is_guarded_like_any_provider():
    server = Server("attic", audit=False)
    burnt: list[str] = []

    @server.tool(effect="destructive", confirm=False)
    def burn(box: str) -> str:
        """Burn a box."""
        burnt.append(box)
        return f"{box} is ashes"

    person = Person.willing()
    facts = MemoryFacts()
    provider = hosted(server.provider, Guard(server="attic"), facts=facts, approvals=Approvals(facts), front=person)

    async def main() -> str:
        context = RequestContext(LOCAL, SILENT, stored=[])
        outcome = await provider.call_tool(ToolCall("burn", {"box": "maps"}, context))
        assert isinstance(outcome, CallToolResult)
        return text_of(outcome)

    assert "maps is ashes" in asyncio.run(main())
    assert burnt == ["maps"]
    assert "attic" in person.asked[0].text
