"""Calls that the author of a tool declares as dry runs: approval is skipped for these calls, and for no others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.hosting import OPEN
from tooltrue import Client, Confirm, Server
from tooltrue.errors import DefinitionError
from tooltrue.host.host import Host
from tooltrue.policy.rules.globs import globs
from tooltrue.policy.rules.rule import Rule, Rules
from tooltrue.policy.tasks.declared_effects import declare_effects
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext

BEFORE_ALL = Confirm(effects=frozenset({"write", "destructive"}))


def wipe(name: str, dry_run: bool = False, careful: bool = True) -> str:
    """Wipe something."""
    return f"{name} {'would be' if dry_run else 'is'} gone"


def server_of(asks: Confirm = BEFORE_ALL, rules: Rules | None = None, **settings: Any) -> Server:
    tools = LocalToolset()
    said: Any = {"effect": "destructive", "read_when": {"dry_run": True}, **settings}
    tools.add(wipe, **said)
    return Server("wiper", toolsets=[tools], confirm=asks, rules=rules, audit=False)


def asked(server: Server, **arguments: Any) -> bool:
    """Whether a person is asked; they say no."""
    questions: list[str] = []

    def elicit(question: Any) -> bool:
        questions.append(question.message)
        return False

    async def once() -> str:
        async with Client(server, elicit=elicit) as client:
            return (await client.call_tool("wipe", {"name": "maps", **arguments})).text

    text = asyncio.run(once())
    assert (text == "maps would be gone") is not bool(questions), text
    return bool(questions)


@pytest.mark.parametrize("effect", ["write", "destructive"])
def test_a_person_is_asked_about_a_call_and_not_about_its_dry_run(effect: str) -> None:
    server = server_of(effect=effect)
    assert not asked(server, dry_run=True)
    assert asked(server, dry_run=False)
    assert asked(server)


def test_each_argument_that_is_named_has_to_be_there() -> None:
    server = server_of(read_when={"dry_run": True, "careful": True})
    assert not asked(server, dry_run=True)
    assert asked(server, dry_run=True, careful=False)


@pytest.mark.parametrize("mark", [1, "true", 1.0, None, [True]])
def test_a_value_that_only_resembles_the_dry_run_argument_is_refused_without_a_question(mark: object) -> None:
    async def once() -> str:
        async with Client(server_of(), elicit=lambda question: True) as client:
            return (await client.call_tool("wipe", {"name": "maps", "dry_run": mark})).text

    assert "[TT2001]" in asyncio.run(once())


def test_approval_of_reads_includes_dry_runs() -> None:
    assert asked(server_of(Confirm(effects=frozenset({"read"}))), dry_run=True)


def test_a_tool_that_asks_before_each_call_asks_before_a_dry_run() -> None:
    assert asked(server_of(confirm=True), dry_run=True)


def test_a_rule_that_asks_asks_before_a_dry_run() -> None:
    assert asked(server_of(rules=Rules((Rule("ask"),))), dry_run=True)


def test_where_the_operator_declares_worse_a_dry_run_is_asked_about() -> None:
    context = RequestContext(LOCAL, SILENT)
    tools = LocalToolset()
    tools.add(wipe, effect="write", read_when={"dry_run": True})
    [same] = asyncio.run(declare_effects({"write": globs(["wipe"])})(tools).list_tools(context))
    assert same.effect_with({"dry_run": True}) == "read"
    [worse] = asyncio.run(declare_effects({"destructive": globs(["wipe"])})(tools).list_tools(context))
    assert worse.effect_with({"dry_run": True}) == "destructive"


def test_a_server_of_others_cannot_say_it_of_its_tools() -> None:
    said = {"read_when": {"dry_run": True}, "tooltrue/read_when": {"dry_run": True}, "readWhen": {"dry_run": True}}
    server = server_of(meta=said)

    async def once() -> str:
        async with Host({"a": server}, **OPEN, audit=False) as host:
            [row] = host.rows
            return row.tool.effect_with({"name": "maps", "dry_run": True})

    assert asyncio.run(once()) == "destructive"


def test_an_invalid_dry_run_argument_is_refused_when_the_tool_is_added() -> None:
    for said, code in (({"dryrun": True}, "TT3060"), ({"dry_run": "yes"}, "TT3016"), ("dry_run", "TT3016")):
        with pytest.raises(DefinitionError) as caught:
            server_of(read_when=said)
        assert caught.value.code == code
