"""Retries, only of calls that are safe to repeat."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from support.guarded_host import Person, Place, text_of
from tooltrue.errors import ConfigurationError, ConnectionLost, Unreachable
from tooltrue.policy.rules.globs import globs
from tooltrue.policy.tasks.retry import Retry
from tooltrue.protocol.types import ToolOutcome, replaced
from tooltrue.tools.toolset import Provider, Wrapper
from tooltrue.tools.vocabulary import RequestContext, Tool, ToolCall


class Broken(Wrapper, frozen=True):
    """A carrier that fails ``times``, to tools of a server elsewhere."""

    failures: list[Exception]
    calls: list[str]
    server: str = "far"

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return replaced(await self.inner.find_tool(name, context), server=self.server)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        self.calls.append(call.name)
        if self.failures:
            raise self.failures.pop(0)
        return await self.inner.call_tool(replaced(call, tool=None))


def broken(*failures: Exception, server: str = "far", **settings: Any) -> tuple[Place, list[str]]:
    calls: list[str] = []
    around: Callable[[Provider], Provider] = lambda tools: Broken(tools, list(failures), calls, server)  # noqa: E731
    place = Place(Person.willing(), around=around, **settings)
    place.add("look", effect="read")
    place.add("put", effect="write", idempotent=True)
    return place, calls


def lost() -> Exception:
    return ConnectionLost.of("TT5001")


def test_a_read_is_retried_with_growing_back_off():
    place, calls = broken(lost(), lost())
    assert asyncio.run(place.code("look")) == ""
    assert len(calls) == 3
    assert 0.25 <= place.slept[0] <= 0.5 <= place.slept[1] <= 1.0


def test_there_is_an_end_to_it():
    place, calls = broken(*(lost() for _ in range(9)))
    assert asyncio.run(place.code("look")) == "TT9390"
    assert len(calls) == 3


def test_a_stranger_that_calls_itself_idempotent_is_not_believed():
    place, calls = broken(lost())
    text = text_of(asyncio.run(place.call("put")))
    assert "it is not known whether the tool has run" in text
    assert len(calls) == 1


@pytest.mark.parametrize(
    "settings", [{"server": ""}, {"retry": Retry(idempotent=globs(["put"]))}], ids=["an author of ours", "the operator"]
)
def test_a_trusted_author_or_operator_may_declare_a_tool_idempotent(settings: dict[str, Any]):
    place, calls = broken(lost(), **settings)
    assert asyncio.run(place.code("put")) == ""
    assert len(calls) == 2


def test_a_failure_that_the_tool_answered_is_not_retried():
    place, calls = broken(ValueError("a bug"))
    assert asyncio.run(place.code("look")) == "TT2004"
    assert len(calls) == 1


def test_words_of_a_server_that_is_away_are_told_at_last():
    place, calls = broken(*(Unreachable.of("TT9390", tool="look", attempts=1) for _ in range(3)))
    assert asyncio.run(place.code("look")) == "TT9390"
    assert len(calls) == 3


def test_attempts_are_in_the_record():
    place, _ = broken(lost())

    async def main() -> Any:
        await place.call("look")
        return (await place.records())[0]["notes"]

    assert asyncio.run(main()) == ["attempt 1: TT5001"]


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"pause": 0}, {"pause": 9, "longest": 1}])
def test_figures_that_cannot_be_meant_are_refused(wrong: dict[str, Any]):
    with pytest.raises(ConfigurationError):
        Retry(**wrong)
