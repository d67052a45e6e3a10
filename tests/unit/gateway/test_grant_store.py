"""Grants in the state: encrypted, for one caller, and gone once they are revoked."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tooltrue.gateway.grant_store import CallerGrant, GrantStore
from tooltrue.state.facts import MemoryFacts

OLD, NEW = secrets.token_bytes(32), secrets.token_bytes(32)
URL = "https://up.example/mcp"


class Recorded(MemoryFacts):
    """Everything that is put into the state, and its keys."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, bytes]] = []

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        self.seen.append((key, value))
        await super().put(key, value, seconds)


def kept(use: Callable[[Recorded, GrantStore], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with Recorded() as facts:
            store = GrantStore(facts, [OLD], clock=lambda: 7.0)
            await store.grant("user:ada", "up", "chat", URL, "tokens", "refresh-me")
            return await use(facts, store)

    return asyncio.run(run())


@pytest.mark.requirement("SEC-05")
def test_a_token_is_unreadable_in_the_state() -> None:
    async def use(facts: Recorded, store: GrantStore) -> list[tuple[str, bytes]]:
        assert await store.of("user:ada", "up").read("tokens") == "refresh-me"
        return facts.seen

    seen = kept(use)
    assert seen
    assert not any(b"refresh-me" in value or "ada" in key for key, value in seen)


def test_a_grant_of_another_caller_or_server_is_no_grant() -> None:
    async def use(facts: Recorded, store: GrantStore) -> list[str | None]:
        [(key, stolen), _] = [(key, value) for key, value in facts.seen if key.startswith("grant:")]  # then the clients
        await store.write(("user:bob", "up", "tokens"), "own")
        (target, _) = facts.seen[-1]
        assert target != key
        await facts.put(target, stolen, 60.0)  # copied below the name of bob
        owners = [("user:bob", "up"), ("user:ada", "other"), ("user:ad", "aup")]
        return [await store.of(*owner).read("tokens") for owner in owners]

    assert kept(use) == [None, None, None]


def test_two_keys_rotate() -> None:
    async def use(facts: Recorded, store: GrantStore) -> list[str | None]:
        both, new = GrantStore(facts, [NEW, OLD], clock=lambda: 8.0), GrantStore(facts, [NEW], clock=lambda: 8.0)
        before = [await one.of("user:ada", "up").read("tokens") for one in (both, new)]
        await both.of("user:ada", "up").write("tokens", "refreshed")
        after = [new.through(client, "user:ada", "up") for client in ("chat", "editor")]
        return [*before, *[await one.read("tokens") for one in after]]

    assert kept(use) == ["refresh-me", None, "refreshed", None]


def test_a_revoked_grant_does_not_come_back_by_a_refresh() -> None:
    async def use(facts: Recorded, store: GrantStore) -> Any:
        credentials = store.of("user:ada", "up")
        async with credentials.alone("tokens"):
            await credentials.write("tokens", None)
        await store.forget("user:ada", "up")
        await credentials.write("tokens", "refreshed")  # by a worker that was in the middle of it
        return await credentials.read("tokens"), await store.all()

    assert kept(use) == (None, [])


def test_a_person_sees_who_has_connected_what() -> None:
    async def use(facts: Recorded, store: GrantStore) -> list[CallerGrant]:
        await store.grant("user:ada", "up", "chat", URL, "tokens", "again")
        await store.grant("user:bob", "up", "chat", URL, "tokens", "other")
        return await store.all()

    assert kept(use) == [
        CallerGrant("user:ada", "up", URL, 7.0, ("chat",)),
        CallerGrant("user:bob", "up", URL, 7.0, ("chat",)),
    ]


# --- clients ----------------------------------------------------------------------------------------------------------


def test_a_grant_serves_the_clients_that_its_caller_has_consented_to() -> None:
    async def use(facts: Recorded, store: GrantStore) -> list[Any]:
        async def texts() -> list[str | None]:
            return [await store.through(client, "user:ada", "up").read("tokens") for client in ("chat", "editor", "")]

        before = await texts()
        assert await store.admit("user:ada", "up", "editor", await store.consents("user:ada", "up"))
        after = await texts()
        await store.dismiss("user:ada", "up", "chat")
        assert not any(b"editor" in value for _, value in facts.seen)
        return [before, after, await texts()]

    one = "refresh-me"
    assert kept(use) == [[one, None, None], [one, one, None], [None, one, None]]


def test_another_sign_in_ends_the_consents_to_clients_of_the_one_before() -> None:
    async def use(facts: Recorded, store: GrantStore) -> list[Any]:
        before = await store.consents("user:ada", "up")
        await store.grant("user:ada", "up", "editor", URL, "tokens", "of more rights")
        late = await store.admit("user:ada", "up", "late", before)  # it was shown the rights before
        return [late, (await store.consents("user:ada", "up")).clients]

    assert kept(use) == [False, ("editor",)]


def test_two_clients_that_are_consented_to_at_once_do_not_lose_each_other() -> None:
    async def use(facts: Recorded, store: GrantStore) -> list[Any]:
        before = await store.consents("user:ada", "up")
        return [await store.admit("user:ada", "up", client, before) for client in ("one", "two")]

    assert kept(use) == [True, False]


def test_a_revoked_grant_serves_no_client() -> None:
    async def use(facts: Recorded, store: GrantStore) -> list[Any]:
        before = await store.consents("user:ada", "up")
        await store.forget("user:ada", "up")
        await store.dismiss("user:ada", "up", "chat")
        late = await store.admit("user:ada", "up", "editor", before)
        return [late, (await store.consents("user:ada", "up")).clients]

    assert kept(use) == [False, ()]
