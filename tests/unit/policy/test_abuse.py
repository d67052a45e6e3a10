"""Callers with too many refusals are paused, longer each time; callers with occasional mistakes are not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tooltrue import Abuse, Rate
from tooltrue.errors import ConfigurationError, InvalidArguments, StateError, ToolError, UnknownTool
from tooltrue.policy.layers.abuse import abuse
from tooltrue.policy.layers.abuse_events import AbuseEvent, AbuseEvents
from tooltrue.policy.layers.validate import validate
from tooltrue.server.service import SILENT
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import Principal, RequestContext, ToolCall


class World:
    """Servers that share their facts, and a clock that stands still."""

    def __init__(self, limits: Abuse | None = None, workers: int = 1) -> None:
        self.now = 1_000.0
        self.signs: list[AbuseEvent] = []
        signals = AbuseEvents()
        signals.listen(self.signs.append)
        facts = MemoryFacts(lambda: self.now)
        tools = LocalToolset()
        tools.add(double)
        tools.add(sulk)
        self.workers = [
            abuse(limits or LIMITS, facts, signals, lambda: self.now)(validate(tools)) for _ in range(workers)
        ]

    def ask(self, name: str, worker: int = 0, who: str = "ann", **arguments: Any) -> str:
        return asked(self.workers[worker], name, who, arguments)


def asked(provider: Provider, name: str, who: str, arguments: dict[str, Any]) -> str:
    """The error code; empty without an error."""
    try:
        asyncio.run(provider.call_tool(ToolCall(name, arguments, RequestContext(Principal(who), SILENT))))
    except (ToolError, UnknownTool) as error:
        return error.code
    return ""


LIMITS = Abuse(refusals=Rate(0.01, 6), unknown=Rate(0.01, 3), repeated=Rate(0.01, 2))


def double(number: int) -> int:
    return 2 * number


def sulk() -> str:
    raise ToolError("not today")


def test_a_principal_that_guesses_tool_names_is_paused_and_other_principals_are_not():
    world = World()
    assert [world.ask(f"guess{number}") for number in range(5)] == ["TT1010"] * 4 + ["TT2103"]
    assert world.ask("double", number=2) == "TT2103"
    assert world.ask("double", who="bob", number=2) == ""
    assert [(sign.kind, sign.principal.id, sign.seconds) for sign in world.signs] == [("unknown", "ann", 5.0)]


def test_the_same_invalid_call_again_and_again_is_paused_before_different_ones_are():
    world = World()
    assert [world.ask("double", number="x") for _ in range(4)] == ["TT2001"] * 3 + ["TT2103"]
    world = World()
    assert [world.ask("double", number=f"x{number}") for number in range(8)] == ["TT2001"] * 7 + ["TT2103"]


def test_a_tool_that_fails_is_not_the_callers_fault():
    world = World()
    assert {world.ask("sulk") for _ in range(50)} == {""}
    assert world.ask("double", number=1) == ""


def test_a_pause_ends_and_the_next_is_twice_as_long_up_to_the_longest():
    world = World(Abuse(unknown=Rate(0.001, 1), pause=5, longest=12))
    lengths: list[float] = []
    for _ in range(4):
        while not world.signs:
            world.ask("guess")
        lengths.append(world.signs.pop().seconds)
        world.now += lengths[-1] + 0.01
        assert world.ask("double", number=1) == ""
    assert lengths == [5, 10, 12, 12]


def test_a_pause_holds_at_every_worker_within_a_second():
    world = World(workers=2)
    assert world.ask("double", worker=1, number=1) == ""
    for number in range(4):
        world.ask(f"guess{number}")
    world.now += 1.0
    assert world.ask("double", worker=1, number=1) == "TT2103"


def test_requests_during_a_pause_do_not_extend_it():
    world = World()
    for number in range(4):
        world.ask(f"guess{number}")
    for _ in range(100):
        assert world.ask("guess") == "TT2103"
    world.now += 5.01
    assert world.ask("double", number=1) == ""


class Broken(MemoryFacts):
    async def get(self, key: str) -> bytes | None:
        raise StateError.of("TT7005", path="x")


def test_b57_a_failed_look_up_of_paused_principals_blocks_all_calls():
    tools = LocalToolset()
    tools.add(double)
    provider = abuse(LIMITS, Broken(), AbuseEvents())(tools)
    assert asked(provider, "double", "ann", {"number": 1}) == "TT2101"


def test_a_listener_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture):
    heard: list[AbuseEvent] = []

    def fails(sign: AbuseEvent) -> None:
        raise RuntimeError("no")

    signals = AbuseEvents()
    signals.listen(fails)
    signals.listen(heard.append)
    signals.publish(AbuseEvent("rate", Principal("ann"), "a"))
    assert len(heard) == 1
    assert "a listener for abuse events failed" in caplog.text


@pytest.mark.parametrize("wrong", [{"pause": 0}, {"pause": 10, "longest": 5}, {"unknown": Rate(0, 1)}])
def test_a_limit_that_is_none_fails_at_start(wrong: dict[str, Any]):
    with pytest.raises(ConfigurationError):
        Abuse(**wrong)


def test_refused_arguments_are_told_as_before():
    world = World()
    with pytest.raises(InvalidArguments):
        asyncio.run(world.workers[0].call_tool(ToolCall("double", {}, RequestContext(Principal("eve"), SILENT))))
