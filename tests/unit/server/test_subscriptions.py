"""The hub notifies current listeners of changes once a turn, from any thread; subscriptions forward real changes."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tooltrue.errors import InvalidParams
from tooltrue.policy.guard import Guard
from tooltrue.policy.pipeline import standard
from tooltrue.policy.rules.rule import ALLOW, Decide, Deny, Subject, Verdict, allow_all
from tooltrue.server.service import SILENT
from tooltrue.server.subscriptions import (
    KINDS,
    MAX_FOLLOWED,
    ChangeSubscription,
    Followed,
    Follows,
    Hub,
    Relay,
    SharedFollowed,
)
from tooltrue.state.facts import MemoryFacts
from tooltrue.testing.state import LIMIT
from tooltrue.tools.library import LocalLibrary
from tooltrue.tools.vocabulary import Kind, Principal, ProviderChange, RequestContext

TOOLS = ProviderChange("tools")


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_changes_of_one_turn_are_told_once():
    async def main() -> None:
        hub, told = Hub(), []
        hub.listen(lambda _: told.append(1))
        for _ in range(5):
            hub.changed(TOOLS)
        await turns()
        assert told == [1]
        hub.changed(TOOLS)
        await turns()
        assert told == [1, 1]

    asyncio.run(main())


def test_each_listener_is_notified_except_those_that_have_left():
    async def main() -> None:
        hub, told = Hub(), []
        hub.listen(lambda _: told.append("stays"))
        end = hub.listen(lambda _: told.append("leaves"))
        hub.changed(TOOLS)
        end()  # between the change and the telling
        end()
        await turns()
        assert told == ["stays"]

    asyncio.run(main())


def test_a_change_on_another_thread_is_told_on_the_listeners_loop():
    async def main() -> None:
        hub, told = Hub(), asyncio.Event()
        hub.listen(lambda _: told.set())
        thread = threading.Thread(target=hub.changed, args=(TOOLS,))
        thread.start()
        async with asyncio.timeout(LIMIT):
            await told.wait()
        thread.join()

    asyncio.run(main())


def test_a_listener_with_a_closed_loop_does_not_harm_other_listeners():
    hub, told = Hub(), []

    async def listen() -> None:
        hub.listen(lambda _: told.append("ended"))

    async def change() -> None:
        hub.listen(lambda _: told.append("lives"))
        hub.changed(TOOLS)
        await turns()

    asyncio.run(listen())
    asyncio.run(change())
    assert told == ["lives"]


def test_closing_a_hub_wakes_the_listeners_of_each_loop():
    hub, told = Hub(), []

    async def main() -> None:
        hub.listen(told.append)
        hub.close()
        await turns()

    asyncio.run(main())
    assert told == [frozenset()]
    assert hub.closed


# -- news --------------------------------------------------------------------------------------------------------------


class Desk:
    """A library behind a decision function, and the notifications that each principal receives."""

    def __init__(self, decide: Decide = allow_all) -> None:
        self.hub, self.library, self.told = Hub(), LocalLibrary(), list[tuple[str, str, Any]]()
        self.provider = standard(self.library, Guard(decide=decide))
        self.provider.watch(self.hub.changed)
        self.library.add_resource("a:b", lambda: "")

    def hears(self, principal: str, follows: Follows, kinds: tuple[Kind, ...] = KINDS) -> asyncio.Task[None]:
        news = ChangeSubscription(self.hub, self.provider, RequestContext(Principal(principal), SILENT), kinds, follows)
        news.listen()
        return asyncio.ensure_future(
            news.deliver(lambda method, params: self.told.append((principal, method.partition("/")[2], params)))
        )

    async def close(self, *tasks: asyncio.Task[None]) -> None:
        self.hub.close()
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(*tasks)


def hide_secrets(subject: Subject, context: RequestContext, arguments: Any) -> Verdict:
    hidden = "secret" in subject.name and context.principal.id != "root"
    return Deny("", hidden=True) if hidden else ALLOW


async def nothing_of(x: str) -> str:
    return ""


def test_a_list_is_news_only_to_whom_it_has_changed():
    async def main() -> None:
        desk = Desk(hide_secrets)
        tasks = [desk.hears(who, Followed()) for who in ("root", "guest")]
        await turns()
        desk.library.add_resource("a:secret", lambda: "", name="secret")
        desk.library.add_prompt(lambda: "", name="secret")
        await turns()
        for who in ("root", "guest"):
            assert [said for name, *said in desk.told if name == who] == (
                [["prompts/list_changed", {}], ["resources/list_changed", {}]] if who == "root" else []
            )
        desk.told.clear()
        desk.library.add_resource("b:{x}", nothing_of)
        await turns()
        assert sorted(desk.told) == [(who, "resources/list_changed", {}) for who in ("guest", "root")]
        await desk.close(*tasks)

    asyncio.run(main())


def test_a_list_that_is_as_it_was_is_no_news():
    async def main() -> None:
        desk = Desk()
        task = desk.hears("a", Followed())
        await turns()
        desk.library.add_prompt(lambda: "", name="p")
        desk.library.remove_prompt("p")
        await turns()
        assert desk.told == []
        await desk.close(task)

    asyncio.run(main())


def test_a_change_before_the_first_listing_is_notified():
    async def main() -> None:
        desk = Desk()
        task = desk.hears("a", Followed())
        desk.library.add_prompt(lambda: "", name="p")
        await turns()
        assert desk.told == [("a", "prompts/list_changed", {})]
        await desk.close(task)

    asyncio.run(main())


def test_a_resource_update_is_notified_only_to_subscribers_that_may_read_it():
    async def main() -> None:
        desk = Desk(hide_secrets)
        desk.library.add_resource("a:secret", lambda: "", name="secret")
        tasks = [desk.hears(who, Followed(["a:secret", "a:b", "a:gone"]), ()) for who in ("guest", "root")]
        tasks.append(desk.hears("nobody", Followed(), ()))
        await turns()
        for uri in ("a:secret", "a:b", "a:b", "a:gone", "a:other"):
            desk.library.resource_updated(uri)
        await turns()
        said = [(who, params["uri"]) for who, _, params in desk.told]
        assert sorted(said) == [("guest", "a:b"), ("root", "a:b"), ("root", "a:secret")]
        await desk.close(*tasks)

    asyncio.run(main())


@pytest.mark.parametrize(
    "make", [lambda: Followed(), lambda: SharedFollowed(MemoryFacts(), "s", 60.0)], ids=["here", "shared"]
)
def test_the_number_of_followed_resources_is_limited(make: Any):
    async def main() -> None:
        follows = make()
        for number in range(MAX_FOLLOWED):
            await follows.add(f"a:{number}")
        with pytest.raises(InvalidParams) as caught:
            await follows.add("a:more")
        assert caught.value.code == "TT1044"
        assert [await follows.holds(uri) for uri in ("a:0", "a:more")] == [True, False]
        await follows.remove("a:0")
        await follows.remove("a:nix")
        assert not await follows.holds("a:0")

    asyncio.run(main())


def test_rows_of_two_sessions_are_apart():
    async def main() -> None:
        facts = MemoryFacts()
        one, other = SharedFollowed(facts, "one", 60.0), SharedFollowed(facts, "other", 60.0)
        await one.add("a:b")
        assert (await one.holds("a:b"), await other.holds("a:b")) == (True, False)

    asyncio.run(main())


class SlowFacts(MemoryFacts):
    """Facts that publish when the test lets them."""

    def __init__(self) -> None:
        super().__init__()
        self.may_publish = asyncio.Event()
        self.published = 0

    async def publish(self, channel: str, payload: bytes) -> None:
        await self.may_publish.wait()
        self.published += 1


def test_a_resource_that_changes_often_is_told_to_other_workers_no_more_often_than_they_are_ready_for():
    async def main() -> int:
        facts, library = SlowFacts(), LocalLibrary()
        relay = Relay(facts, library, Hub())
        await relay.open()
        for _ in range(1_000):
            library.resource_updated("notes://a")
            await asyncio.sleep(0)
        facts.may_publish.set()
        await turns()
        return facts.published

    assert asyncio.run(main()) == 2  # the one under way, and one for all since
