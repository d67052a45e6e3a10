"""Properties of the shorter ways of a call: each gives what the longer way gives, which is the reference."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tooltrue.client.eras import Modern
from tooltrue.errors import RpcError
from tooltrue.jsonrpc.messages import Json, Notification, RpcRequest, encode, is_finite
from tooltrue.jsonrpc.peer import NotificationChannel, Peer
from tooltrue.protocol import modern, versions
from tooltrue.testing.state import LIMIT

ids = st.sampled_from([1, 2, 3, 0, True, 1.0, "1", None, [1]])
members: Mapping[str, st.SearchStrategy[Any]] = {
    "jsonrpc": st.sampled_from(["2.0", "1.0", 2.0]),
    "id": ids,
    "result": st.sampled_from([{}, {"a": [1]}, None, 1]),
    "error": st.just({"code": -32_600, "message": "no"}),
    "method": st.just("m"),
    "more": st.just(1),
}
plain = st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "id": ids, "result": members["result"]})
frames = (
    (plain | st.fixed_dictionaries({}, optional=members)).map(lambda value: json.dumps(value).encode())
    | st.just(b'{"jsonrpc":"2.0","id":1,"id":2,"result":{}}')
    | st.just(b'{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}')
    | st.just(b"1")
)


class _Deaf:
    """Answers nothing."""

    takes_batches = True

    async def on_request(self, request: RpcRequest, exchange: NotificationChannel) -> bytes:
        return b"{}"

    def on_notification(self, notification: Notification) -> None: ...


class _Long(Peer):
    """The reference: every answer takes the longer way."""

    def _settle_plain(self, value: Json) -> bool:
        return False


def outcomes(kind: type[Peer], frames: Sequence[bytes]) -> tuple[Any, ...]:
    """All that two pending requests, and what listens to the peer, learn of these frames."""
    unreadable: list[RpcError] = []

    async def main() -> tuple[Any, ...]:
        peer = kind(lambda frame: None, _Deaf(), unreadable=unreadable.append)
        asked = [asyncio.ensure_future(peer.request("m", {}, timeout=LIMIT)) for _ in range(2)]
        await asyncio.sleep(0)
        for frame in frames:
            peer.feed(frame)
        awaited, dropped = [peer.awaits(id) for id in (1, 2)], peer.dropped
        await peer.close()
        results = await asyncio.gather(*asked, return_exceptions=True)
        return awaited, dropped, list(map(repr, results)), list(map(repr, unreadable))

    return asyncio.run(main())


@given(st.lists(frames, max_size=4))
@example([b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}'])
@example([b'{"jsonrpc":"2.0","id":true,"result":{}}', b'{"jsonrpc":"2.0","id":1.0,"result":{}}'])
def test_an_answer_settles_the_same_request_on_both_ways(frames: list[bytes]):
    assert outcomes(Peer, frames) == outcomes(_Long, frames)


numbers = st.floats() | st.integers() | st.booleans()
leaves = numbers | st.none() | st.text(max_size=2) | st.binary(max_size=2)
anything = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3).map(MappingProxyType)
    ),
    max_leaves=8,
)


@given(anything)
def test_a_value_is_finite_if_each_float_in_it_is(value: Any):
    def floats(value: Any) -> list[float]:
        inside: Any = (
            value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
        )
        return [value] if isinstance(value, float) else [one for each in inside for one in floats(each)]

    assert is_finite(value) == all(map(math.isfinite, floats(value)))


@given(
    st.dictionaries(st.sampled_from(["elicitation", "sampling", "roots"]), st.just({})),
    st.none() | st.sampled_from(modern.LOG_LEVELS),
)
def test_the_encoded_facts_of_a_request_are_those_of_one_that_asks_for_progress(
    capabilities: dict[str, Json], level: str | None
):
    era = Modern(versions.LATEST, capabilities, level)
    meta = json.loads(encode(era.params({"name": "a"}, None)))["_meta"]
    assert meta | {"progressToken": 7} == json.loads(encode(era.params({"name": "a"}, 7)))["_meta"]
