"""Lists of a server that differ by caller, through one gateway: each caller has its own, and none of another."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from support.exchanging import CallerTokens, InScope, exchanging_file, owned_at
from support.issuing.calling import RESOURCE, oauth
from support.issuing.server import Issuing
from support.wire.mounting import Mounts
from tooltrue import Client
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.errors import InvalidParams, RpcError
from tooltrue.gateway.gateway import Gateway
from tooltrue.gateway.relay import CallerRelay
from tooltrue.host.pins import Pin, Pins
from tooltrue.host.servers import Patience
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.protocol.types import TextResource
from tooltrue.testing.state import LIMIT

CALLERS = ("ada", "bob", "eve")
OWNERS = {"ada": "ada", "bob": "bob"}
"""Eve has nothing of her own."""


@pytest.fixture(autouse=True)
def secrets_of_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_SECRET", "secret")


def serving(mounts: Mounts, issuer: Issuing, scope: str = "private") -> contextlib.AbstractContextManager[str]:
    """The URL of a server whose lists depend on the caller."""
    return mounts.mounted_at(lambda url: InScope(owned_at(url, issuer, OWNERS).http_app(), scope))


@contextlib.contextmanager
def gateway_before(
    mounts: Mounts,
    issuer: Issuing,
    *,
    scope: str = "private",
    own: bool = True,
    more: str = "",
    tokens: CallerTokens | None = None,
    folder: Path | None = None,
    upstream: str | None = None,
) -> Iterator[str]:
    """The URL of a gateway before such a server. In a ``folder``, it has pins."""
    with contextlib.ExitStack() as stack:
        upstream = upstream or stack.enter_context(serving(mounts, issuer, scope))
        endpoint = stack.enter_context(mounts.mounted(tokens or CallerTokens(issuer), lives=False))
        text = exchanging_file(issuer, f"http://127.0.0.1:{mounts.port}{endpoint}", own) + more
        pins: dict[str, Any] = {} if folder is None else {"pins": Pins(folder)}
        gateway = Gateway(
            HostConfig("" if folder is None else "servers.json", Path(), (ServerConfig("up", "up", url=upstream),)),
            operator=read_operator_config("tooltrue.toml", text),
            confirm=Confirm.never(),
            host_settings={"patience": Patience(ready=LIMIT), **pins},
            authenticate=oauth(issuer),
        )
        with mounts.mounted(gateway.http_app()) as served:
            yield f"http://127.0.0.1:{mounts.port}{served}"


def talking(url: str, issuer: Issuing, talk: Callable[[dict[str, Client]], Awaitable[Any]], **settings: Any) -> Any:
    """The findings of ``talk``, with a client of each caller."""

    async def run() -> Any:
        async with AsyncExitStack() as stack:
            clients: dict[str, Client] = {}
            for caller in CALLERS:
                headers = {"Authorization": f"Bearer {issuer.signed(aud=RESOURCE, sub=caller)}"}
                clients[caller] = await stack.enter_async_context(Client(url, headers=headers, **settings))
            return await talk(clients)

    return asyncio.run(run())


def names_of(caller: str) -> list[str]:
    """The names that a caller has, in the order of a list."""
    return sorted(["common", *(name for name, owner in OWNERS.items() if owner == caller)])


async def listed(client: Client) -> list[list[str]]:
    return [
        [tool.name for tool in await client.list_tools(refresh=True)],
        [resource.uri for resource in await client.list_resources(refresh=True)],
        [prompt.name for prompt in await client.list_prompts(refresh=True)],
    ]


def lists_of(caller: str) -> list[list[str]]:
    return [
        [f"up_{name}_tool" for name in names_of(caller)],
        [f"owned://{name}/text" for name in names_of(caller)],
        [f"up_{name}_prompt" for name in names_of(caller)],
    ]


async def used(client: Client, name: str, kind: str) -> str | None:
    """The caller that an entry answers with; ``None`` where it is unknown."""
    try:
        match kind:
            case "tool":
                return (await client.call_tool(f"up_{name}_tool")).text
            case "resource":
                (part,) = await client.read_resource(f"owned://{name}/text")
                assert isinstance(part, TextResource)
                return part.text
            case _:
                return (await client.get_prompt(f"up_{name}_prompt")).messages[0].content.text
    except InvalidParams:
        return None
    except RpcError as error:  # the server has been asked for what it refuses
        return str(error)


async def leaks(clients: dict[str, Client], seed: int, steps: int = 25) -> list[str]:
    """The entries of others that callers see in a random conversation, and their own that they miss, by ``OWNERS``."""
    chance, found = random.Random(seed), list[str]()
    for _ in range(steps):
        caller = chance.choice(CALLERS)
        name, kind = chance.choice(("common", *OWNERS)), chance.choice(("tool", "resource", "prompt"))
        if chance.random() < 0.4:
            lists = await listed(clients[caller])
            found += [f"{caller} lists {lists}"] if lists != lists_of(caller) else []
        else:
            answer = await used(clients[caller], name, kind)
            wanted = caller if name in names_of(caller) else None
            found += [f"{caller} uses the {kind} {name}: {answer}"] if answer != wanted else []
    return found


REVISIONS = ("2026-07-28", "2025-11-25")


@pytest.mark.parametrize("more", ["", "[views.all]\ndefault = true\n", '[effects]\nread = ["up_*"]\n'])
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_caller_has_its_own_lists_and_nothing_of_others(
    mounts: Mounts, issuer: Issuing, revision: str, more: str
) -> None:
    with gateway_before(mounts, issuer, more=more) as url:
        found = talking(url, issuer, lambda clients: leaks(clients, REVISIONS.index(revision)), revision=revision)
    assert found == []


def test_the_test_finds_a_gateway_that_takes_all_callers_for_one(
    mounts: Mounts, issuer: Issuing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CallerRelay, "reader", lambda relay, context: relay._exchange.note(context))
    with gateway_before(mounts, issuer) as url:
        found = talking(url, issuer, lambda clients: leaks(clients, 0))
    assert any(f"{caller} lists" in leak for leak in found for caller in CALLERS)


async def tools_of_all(clients: dict[str, Client]) -> list[list[str]]:
    return [(await listed(client))[0] for client in clients.values()]


def test_a_public_list_is_read_once_and_served_to_all(mounts: Mounts, issuer: Issuing) -> None:
    tokens = CallerTokens(issuer)
    with gateway_before(mounts, issuer, scope="public", tokens=tokens) as url:
        assert talking(url, issuer, tools_of_all) == [["up_common_tool"]] * 3
    assert tokens.forms == []


def test_the_operator_can_say_that_all_see_the_same(mounts: Mounts, issuer: Issuing) -> None:
    with gateway_before(mounts, issuer, more="[servers.up]\ncommon_lists = true\n") as url:
        assert talking(url, issuer, tools_of_all) == [["up_common_tool"]] * 3


def test_callers_have_lists_of_a_server_that_lists_nothing_for_the_gateway(mounts: Mounts, issuer: Issuing) -> None:
    with gateway_before(mounts, issuer, own=False) as url:
        assert talking(url, issuer, lambda clients: leaks(clients, 3)) == []


def test_a_caller_that_the_server_does_not_admit_is_told_so_and_others_are_not_concerned(
    mounts: Mounts, issuer: Issuing
) -> None:
    tokens = CallerTokens(issuer)
    tokens.refused = {"ada"}

    async def talk(clients: dict[str, Client]) -> list[Any]:
        refused = await clients["ada"].call_tool("up_ada_tool")
        return [await tools_of_all(clients), refused.is_error, "[TT9365]" in refused.text]

    with gateway_before(mounts, issuer, tokens=tokens) as url:
        lists, is_error, says_why = talking(url, issuer, talk)
    assert lists == [[], lists_of("bob")[0], lists_of("eve")[0]]
    assert (is_error, says_why) == (True, True)


def test_a_pin_holds_what_the_gateway_was_not_shown_until_a_person_accepts_it(
    mounts: Mounts, issuer: Issuing, tmp_path: Path
) -> None:
    with serving(mounts, issuer) as upstream:
        with gateway_before(mounts, issuer, folder=tmp_path, upstream=upstream) as url:
            assert talking(url, issuer, tools_of_all) == [["up_common_tool"]] * 3
        [waiting] = tmp_path.glob("*.new.lock")
        pin = Pin("up", waiting.with_name(waiting.name.replace(".new", "")), waiting)
        review = pin.review()
        assert review is not None
        assert {"ada_tool", "bob_tool", "ada_prompt", "bob_prompt"} <= review.names
        pin.accept(review)
        with gateway_before(mounts, issuer, folder=tmp_path, upstream=upstream) as url:
            assert talking(url, issuer, lambda clients: leaks(clients, 4)) == []
