"""Paging: under any changes between two pages, each tool that stays is listed exactly once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tooltrue.errors import InvalidParams
from tooltrue.protocol.types import Implementation
from tooltrue.server.sealed_tokens import Sealer, new_key
from tooltrue.server.service import LISTINGS, SILENT, ServedProvider, page_of
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.vocabulary import LOCAL, Principal, RequestContext

CONTEXT = RequestContext(LOCAL, SILENT)
names = st.text("ab_-.Z9", min_size=1, max_size=4)
changes = st.lists(st.tuples(st.booleans(), names), max_size=4)


@dataclass
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def served(size: int, clock: Clock | None = None) -> tuple[ServedProvider, LocalToolset]:
    tools = LocalToolset()
    sealer = Sealer((new_key(),), clock=clock or Clock())
    return ServedProvider(Implementation(name="x", version="1"), tools, sealer, MemoryFacts(), page_size=size), tools


def put(tools: LocalToolset, name: str) -> None:
    tools.add_raw(name, {"type": "object"}, lambda arguments: None)


def page(
    here: ServedProvider, tools: LocalToolset, cursor: str | None, principal: Principal = LOCAL
) -> tuple[list[str], Any]:
    got = page_of(here, LISTINGS[0], asyncio.run(tools.list_tools(CONTEXT)), cursor, principal)
    return [tool.name for tool in got.items], got.next_cursor


@pytest.mark.requirement("PAGE-02")
@settings(deadline=None)
@given(st.sets(names, max_size=12), st.integers(1, 5), st.lists(changes, max_size=8))
def test_each_tool_that_stays_is_seen_once_and_none_twice(own: set[str], size: int, between: list[Any]):
    here, tools = served(size)
    for name in own:
        put(tools, name)
    stayed, now, seen, cursor, step = set(own), set(own), [], None, 0
    while True:
        got, cursor = page(here, tools, cursor)
        assert len(got) <= size
        seen += got
        if cursor is None:
            break
        for adds, name in between[step] if step < len(between) else []:
            if adds and name not in now:
                put(tools, name)
                now.add(name)
            elif not adds and name in now:
                tools.remove(name)
                now.discard(name)
                stayed.discard(name)
        step += 1
    assert seen == sorted(set(seen)), "in order, and none twice"
    assert stayed <= set(seen)


@settings(deadline=None)
@given(st.sets(names, max_size=12), st.integers(1, 5))
def test_without_changes_paging_is_the_list_and_no_page_is_empty(own: set[str], size: int):
    here, tools = served(size)
    for name in own:
        put(tools, name)
    seen: list[str] = []
    got, cursor = page(here, tools, None)
    seen += got
    while cursor is not None:
        got, cursor = page(here, tools, cursor)
        assert got
        seen += got
    assert seen == sorted(own)


@pytest.mark.requirement("PAGE-07")
@settings(deadline=None)
@given(st.text(max_size=60))
def test_a_cursor_that_is_not_ours_is_invalid(cursor: str):
    here, tools = served(1)
    with pytest.raises(InvalidParams) as caught:
        page(here, tools, cursor)
    assert caught.value.code == "TT1015"


def test_a_cursor_belongs_to_its_principal_and_ends_after_an_hour():
    clock = Clock()
    here, tools = served(1, clock)
    put(tools, "a")
    put(tools, "b")
    _, cursor = page(here, tools, None)
    with pytest.raises(InvalidParams):
        page(here, tools, cursor, Principal("other"))
    clock.now += 3_599
    assert page(here, tools, cursor) == (["b"], None)
    clock.now += 2
    with pytest.raises(InvalidParams):
        page(here, tools, cursor)
