"""Attacks of servers on the callers of a gateway, and of callers on each other through it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from security.test_hostile import HIDDEN, check_harmless
from tooltrue import Client, RpcError, Server
from tooltrue.client.answers import Elicitation
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.errors import InvalidParams
from tooltrue.gateway.gateway import Gateway
from tooltrue.host.launches import Launches
from tooltrue.host.pins import Pins
from tooltrue.host.servers import Patience
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.testing.hostile import TRICKS, Era, Hostile
from tooltrue.testing.state import LIMIT

T = TypeVar("T")
Use = Callable[[Gateway, Client], Awaitable[T]]


def gateway_before(evil: Any, folder: Path, settings: str = "", *, hints: bool = False, **more: Any) -> Gateway:
    """A gateway before ``evil`` and a good server, with the settings of the operator's file."""
    good = Server("good", audit=False)

    @good.tool(effect="read")
    def truth() -> str:
        """Tell the truth."""
        return "true"

    file = folder / "tooltrue.toml"
    file.write_text(settings)
    servers = (
        ServerConfig("evil", "evil", target=evil, hints=hints),
        ServerConfig("good", "good", target=good, hints=True),
    )
    return Gateway(
        HostConfig(str(folder / "servers.json"), folder, servers),
        operator=read_operator_config(file),
        host_settings={"pins": Pins(folder / "pins"), "patience": Patience(ready=LIMIT)},
        audit=False,
        **{"confirm": Confirm.never(), **more},
    )


def used(gateway: Gateway, use: Use[T], **settings: Any) -> T:
    """Return the result of ``use`` for a client of the gateway, whose good server works in the end."""

    async def run() -> T:
        async with asyncio.timeout(LIMIT), Client(gateway, **settings) as client:
            result = await use(gateway, client)
            assert "true" in (await client.call_tool("good_truth")).text
            return result

    return asyncio.run(run())


async def names_of(gateway: Gateway, client: Client) -> list[str]:
    return [tool.name for tool in await client.list_tools() if tool.name.startswith("evil_")]


def row_of(name: str) -> Any:
    return pytest.param(name, id=name, marks=[pytest.mark.attack(*TRICKS[name].rows.split())])


# --- definitions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [row_of(name) for name in HIDDEN])
def test_a_gateway_lists_no_deceptive_definition_and_calls_none(name: str, tmp_path: Path) -> None:
    async def use(gateway: Gateway, client: Client) -> list[str]:
        (held,) = gateway.host.quarantined
        with pytest.raises(InvalidParams):
            await client.call_tool(f"evil_{held.name}")
        return await names_of(gateway, client)

    assert used(gateway_before(Hostile(name), tmp_path), use) == ["evil_look"]


@pytest.mark.twin("A01", "A02", "A03", "A04", "A05", "A08", "A10", "A11", "A12", "A13", "A14", "A15")
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_twin_a_gateway_lists_a_good_definition_and_calls_it(era: Era, tmp_path: Path) -> None:
    async def use(gateway: Gateway, client: Client) -> str:
        assert await names_of(gateway, client) == ["evil_look"]
        return (await client.call_tool("evil_look")).text

    assert "blue" in used(gateway_before(Hostile(era=era), tmp_path), use)


def test_a06_poisoned_instructions_of_a_server_are_none_of_the_gateway(tmp_path: Path) -> None:
    async def use(gateway: Gateway, client: Client) -> str | None:
        return client.facts.instructions

    assert used(gateway_before(Hostile("order-in-instructions"), tmp_path), use) is None


def test_a20_the_names_that_a_gateway_has_for_itself_are_those_of_no_server(tmp_path: Path) -> None:
    assert used(gateway_before(Hostile("reserved"), tmp_path), names_of) == [
        "evil_call_tool",
        "evil_look",
        "evil_search_tools",
    ]


def test_a22_a_tool_that_lies_about_its_effects_needs_a_person(tmp_path: Path) -> None:
    evil = Hostile("lying-hint")

    async def use(gateway: Gateway, client: Client) -> bool:
        return (await client.call_tool("evil_delete_all")).is_error

    assert used(gateway_before(evil, tmp_path, confirm=Confirm()), use)
    assert "tools/call" not in evil.methods


def test_a22_twin_a_tool_runs_whose_annotations_the_operator_trusts(tmp_path: Path) -> None:
    evil = Hostile()

    async def use(gateway: Gateway, client: Client) -> str:
        return (await client.call_tool("evil_look")).text

    assert "blue" in used(gateway_before(evil, tmp_path, confirm=Confirm(), hints=True), use)


@pytest.mark.parametrize("name", [row_of(name) for name in ("rug-pull", "new-parameter", "loosened", "flip-flop")])
def test_a_gateway_holds_back_a_definition_that_changes(name: str, tmp_path: Path) -> None:
    evil = Hostile(name)

    async def use(gateway: Gateway, client: Client) -> list[str]:
        assert await names_of(gateway, client) == sorted(["evil_look", f"evil_{name}"])
        changes = aiter(gateway.host.changes())
        told = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0)
        await client.call_tool("evil_look")  # whereupon it announces a changed list, over the connection of the caller
        gateway.host.servers_of("evil")[0].life.wake.refresh_now()
        while (await told).kind != "held":
            told = asyncio.ensure_future(anext(changes))
        with pytest.raises(InvalidParams):
            await client.call_tool(f"evil_{name}")
        return [tool.name for tool in await client.list_tools(refresh=True) if tool.name.startswith("evil_")]

    assert used(gateway_before(evil, tmp_path), use) == ["evil_look"]


def test_a27_a_server_cannot_show_each_caller_another_list(tmp_path: Path) -> None:
    evil = Hostile("two-faced", era="legacy")  # each caller has a session of its own: a visit
    gateway = gateway_before(evil, tmp_path)

    async def use(gateway: Gateway, client: Client) -> list[str]:
        first = await client.list_tools(refresh=True)
        await client.call_tool("evil_look")
        async with Client(gateway) as other:
            await other.call_tool("evil_look")
            second = await other.list_tools()
        assert evil.visits > 1
        assert first == second
        return [tool.description or "" for tool in second]

    assert not any("mail" in text for text in used(gateway, use))


def test_a36_an_icon_that_is_a_script_reaches_no_caller(tmp_path: Path) -> None:
    async def use(gateway: Gateway, client: Client) -> list[str]:
        return [icon.src for tool in await client.list_tools() for icon in tool.icons or ()]

    sources = used(gateway_before(Hostile("icon"), tmp_path), use)
    assert all(source.startswith(("https:", "data:image/")) for source in sources)


# --- calls and answers ------------------------------------------------------------------------------------------------


@pytest.mark.attack("B06")
@pytest.mark.parametrize("extra", ["admin", "__proto__", "Where", "where ", "_meta"])
def test_b06_an_undeclared_argument_does_not_pass_a_closed_schema(extra: str, tmp_path: Path) -> None:
    ran = list[dict[str, Any]]()
    upstream = Server("evil", confirm=Confirm.never(), audit=False)

    @upstream.tool(effect="read")
    def look(where: str = "up") -> str:
        """Look."""
        ran.append({"where": where})
        return "blue"

    async def use(gateway: Gateway, client: Client) -> bool:
        return (await client.call_tool("evil_look", {"where": "up", extra: True})).is_error

    assert used(gateway_before(upstream, tmp_path), use)
    assert ran == []


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("name", ["wrong-ids", "twice", "both"])
@pytest.mark.attack("B33")
def test_b33_a_spoofed_or_second_answer_reaches_no_other_call(name: str, era: Era, tmp_path: Path) -> None:
    evil = Hostile(name, era=era)
    settings = "[servers.evil]\nseconds = 0.05\n" if name == "wrong-ids" else ""

    async def use(gateway: Gateway, client: Client) -> list[str]:
        calls = [client.call_tool(f"evil_{name}"), *(client.call_tool("good_truth") for _ in range(5))]
        first, *others = await asyncio.gather(*calls)
        check_harmless(first) if first.is_error else None
        assert all("true" in other.text for other in others)
        return [first.text, *(other.text for other in others)]

    texts = used(gateway_before(evil, tmp_path, settings), use)
    assert not any("an answer to somebody else" in text or "another answer" in text for text in texts)


def test_c15_a_result_against_its_schema_is_an_error_for_the_caller(tmp_path: Path) -> None:
    evil = Hostile("says-structure")

    async def use(gateway: Gateway, client: Client) -> int:
        return len(str((await client.call_tool("evil_says-structure")).raw))

    assert used(gateway_before(evil, tmp_path), use) < 3_000_000


@pytest.mark.attack("C27", "B50", "B51")
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_c27_a_server_asks_no_caller_for_a_password_or_without_end(era: Era, tmp_path: Path) -> None:
    asked = list[str]()

    def elicit(question: Elicitation) -> bool:
        asked.append(question.message)
        return False

    async def use(gateway: Gateway, client: Client) -> None:
        for _ in range(15):
            try:
                await client.call_tool("evil_asks")
            except RpcError:
                continue

    used(gateway_before(Hostile("asks", era=era), tmp_path, "[gateway]\nquestions = 3\n"), use, elicit=elicit)
    assert not any("password" in message.casefold() for message in asked)
    assert len(asked) <= 3


# --- commands ---------------------------------------------------------------------------------------------------------


def started(folder: Path, *, approved: bool) -> tuple[str, bool, str | None]:
    """The state of a server that a file names as a command, whether the command has run, and the instructions."""
    code = f"open({str(folder / 'ran')!r}, 'w').close()"
    one = ServerConfig("evil", "evil", command=sys.executable, args=("-c", code), start_seconds=LIMIT)
    gateway = Gateway(
        HostConfig(str(folder / "servers.json"), folder, (one,)),
        host_settings={
            "launches": Launches(folder / "launches"),
            "pins": Pins(folder / "pins"),
            "patience": Patience(ready=LIMIT, again=LIMIT),
        },
        approve_launch=(lambda request: True) if approved else None,
        audit=False,
    )

    async def run() -> tuple[str, bool, str | None]:
        async with Client(gateway) as client:
            return gateway.host.servers[0].state, (folder / "ran").exists(), client.facts.instructions

    return asyncio.run(run())


def test_b48_a_gateway_runs_no_command_that_no_person_has_approved(tmp_path: Path) -> None:
    state, has_run, instructions = started(tmp_path, approved=False)
    assert (state, has_run) == ("refused", False)
    assert "tooltrue trust" in (instructions or "")


def test_b48_twin_an_approved_command_runs(tmp_path: Path) -> None:
    _, has_run, _ = started(tmp_path, approved=True)
    assert has_run


@pytest.mark.attack("B48")
@pytest.mark.parametrize(
    "method", ["servers/add", "servers/start", "gateway/configure", "tools/register", "config/set", "logging/command"]
)
def test_b48_no_method_of_a_caller_configures_a_gateway(method: str, tmp_path: Path) -> None:
    gateway = gateway_before(Hostile(), tmp_path)

    async def use(gateway: Gateway, client: Client) -> None:
        with pytest.raises(RpcError) as error:
            await client._connection.request(method, {"command": "touch", "args": [str(tmp_path / "ran")]})  # pyright: ignore[reportPrivateUsage]
        assert error.value.number == -32601
        assert [one.name for one in gateway.host.servers] == ["evil", "good"]

    used(gateway, use)
    assert not (tmp_path / "ran").exists()
