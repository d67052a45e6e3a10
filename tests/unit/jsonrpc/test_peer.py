"""A peer: it correlates, cancels, owns its tasks, and survives arbitrary input."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.growth import grows_in_proportion
from tooltrue.errors import ConnectionLost, InvalidAnswer, InvalidParams, RequestTimeout, UnknownTool
from tooltrue.jsonrpc.messages import Notification, RpcRequest, answered_ids, encode
from tooltrue.jsonrpc.peer import (
    MAX_BATCH,
    MAX_RUNNING,
    NotificationChannel,
    Peer,
    _Wait,  # pyright: ignore[reportPrivateUsage]
)
from tooltrue.testing.state import LIMIT


class Handler:
    """``echo`` answers with its params, ``refuse`` with our error, ``crash`` with another's, ``wait`` never."""

    def __init__(self, *, takes_batches: bool = False) -> None:
        self.takes_batches = takes_batches
        self.noted: list[Notification] = []
        self.cancelled: list[Any] = []
        self.gate = asyncio.Event()

    async def on_request(self, request: RpcRequest, exchange: NotificationChannel) -> bytes:
        match request.method:
            case "echo":
                return encode(request.params)
            case "refuse":
                raise UnknownTool("x")
            case "crash":
                raise ValueError("postgres://root:hunter2@db")
            case "tell":
                exchange.notify("told", {"id": request.id})
                return b"{}"
            case "gate":
                await self.gate.wait()
                return b"{}"
            case _:
                try:
                    await asyncio.get_running_loop().create_future()
                except asyncio.CancelledError:
                    self.cancelled.append(request.id)
                    raise
                raise AssertionError("unreachable")

    def on_notification(self, notification: Notification) -> None:
        self.noted.append(notification)
        if notification.method == "crash":
            raise ValueError("hunter2")


class Wire:
    """Collects the frames that a peer writes."""

    def __init__(self) -> None:
        self.written: list[Any] = []
        self._more = asyncio.Event()

    def write(self, frame: bytes) -> None:
        self.written.append(json.loads(frame))
        self._more.set()

    async def count(self, number: int) -> list[Any]:
        """Wait until that many frames have been written."""
        async with asyncio.timeout(LIMIT):
            while len(self.written) < number:
                self._more.clear()
                await self._more.wait()
        return self.written


def request(method: str, id: Any = 1, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


def result(id: Any, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


async def turns() -> None:
    """Let everything that is ready run."""
    for _ in range(5):
        await asyncio.sleep(0)


def conversation(test: Callable[[Peer, Handler, Wire], Any], *, takes_batches: bool = False) -> None:
    async def main() -> None:
        wire, handler = Wire(), Handler(takes_batches=takes_batches)
        peer = Peer(wire.write, handler)
        async with asyncio.timeout(LIMIT):
            await test(peer, handler, wire)
            await peer.close()
        assert len(asyncio.all_tasks()) == 1, "a task was left behind"

    asyncio.run(main())


# -- answering ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("BASE-07", "BASE-08")
def test_a_request_is_answered_under_its_id():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(request("echo", "x", a=1))
        assert await wire.count(1) == [result("x", {"a": 1})]

    conversation(test)


@pytest.mark.twin("B35")
@pytest.mark.requirement("STATE-02")
def test_answers_come_as_they_are_ready():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(request("gate", 1))
        peer.feed(request("echo", 2))
        assert await wire.count(1) == [result(2, {})]
        handler.gate.set()
        assert await wire.count(2) == [result(2, {}), result(1, {})]

    conversation(test)


@pytest.mark.parametrize(
    ("frame", "code", "id"),
    [(b"{", -32700, None), (b"7", -32600, None), (b'{"jsonrpc":"2.0","id":5}', -32600, 5), (b"[]", -32600, None)],
)
def test_a_broken_frame_is_answered_and_the_next_one_works(frame: bytes, code: int, id: Any):
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(frame)
        peer.feed(request("echo", 9))
        broken, echoed = await wire.count(2)
        assert broken["error"]["code"] == code
        assert broken.get("id") == id
        assert echoed == result(9, {})

    conversation(test)


@pytest.mark.parametrize(
    "frame",
    [b"\xff" * 10, b"[" * 100_000, b"1" * 10_000, b'"\\ud800"', b'{"a":1,"a":2}', b"NaN", b"", b"null", b"[[[]]]"],
)
def test_no_frame_makes_feed_raise(frame: bytes):
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(frame)
        await wire.count(1)

    conversation(test, takes_batches=True)


def test_an_error_of_ours_is_answered_as_it_is():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(request("refuse"))
        [failure] = await wire.count(1)
        assert failure["error"]["code"] == -32602

    conversation(test)


def test_j07_a_crash_is_answered_with_an_id_that_the_log_explains(caplog: pytest.LogCaptureFixture):
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(request("crash"))
        [failure] = await wire.count(1)
        assert failure["error"]["code"] == -32603
        assert "hunter2" not in json.dumps(failure)
        [record] = caplog.records
        assert isinstance(record.args, tuple)
        assert str(record.args[0]) in failure["error"]["message"]
        assert "hunter2" in caplog.text

    with caplog.at_level(logging.ERROR, "tooltrue"):
        conversation(test)


@pytest.mark.requirement("BASE-17")
def test_a_notification_is_never_answered_even_when_it_crashes(caplog: pytest.LogCaptureFixture):
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(b'{"jsonrpc":"2.0","method":"crash"}')
        peer.feed(b'{"jsonrpc":"2.0","method":"note","params":{"a":1}}')
        peer.feed(request("echo"))
        assert await wire.count(1) == [result(1, {})]
        assert handler.noted == [Notification("crash", {}), Notification("note", {"a": 1})]

    conversation(test)


def test_notifications_of_a_request_come_before_its_answer():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(request("tell", 4))
        told, answer = await wire.count(2)
        assert told == {"jsonrpc": "2.0", "method": "told", "params": {"id": 4}}
        assert answer == result(4, {})

    conversation(test)


def test_an_id_that_is_in_use_is_refused_and_the_first_request_keeps_its_answer():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(request("gate", 1))
        peer.feed(request("echo", 1))
        [refused] = await wire.count(1)
        assert refused["error"]["code"] == -32600
        handler.gate.set()
        assert (await wire.count(2))[1] == result(1, {})
        peer.feed(request("echo", 1))  # free again
        assert (await wire.count(3))[2] == result(1, {})

    conversation(test)


def test_b34_the_ids_1_and_one_are_two():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(request("wait", 1))
        peer.feed(request("wait", "1"))
        await turns()
        assert peer.cancel("1")
        await turns()
        assert handler.cancelled == ["1"]

    conversation(test)


# -- cancelling and ending ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("CANC-05", "CANC-08")
def test_b35_a_cancelled_request_gets_no_answer_and_frees_its_id():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(request("wait", 1))
        await turns()
        assert peer.cancel(1)
        assert not peer.cancel(1)
        await turns()
        assert handler.cancelled == [1]
        peer.feed(request("echo", 1))
        assert await wire.count(1) == [result(1, {})]

    conversation(test)


def test_a_request_that_is_not_running_cannot_be_cancelled():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        assert not peer.cancel("never")

    conversation(test)


def test_close_cancels_running_requests_and_stops_all_writes():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(request("wait", 1))
        await turns()
        await peer.close()
        peer.notify("late", {})
        assert handler.cancelled == [1]
        assert wire.written == []

    conversation(test)


def test_drain_waits_for_running_requests():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(request("gate", 1))
        await turns()
        handler.gate.set()
        await peer.drain()
        assert wire.written == [result(1, {})]

    conversation(test)


# -- asking ------------------------------------------------------------------------------------------------------------


@pytest.mark.twin("B33")
def test_a_response_reaches_the_request_with_its_id():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        asked = [asyncio.ensure_future(peer.request("m", {"n": n}, timeout=LIMIT)) for n in range(2)]
        first, second = await wire.count(2)
        peer.feed(json.dumps(result(second["id"], "two")).encode())
        peer.feed(json.dumps(result(first["id"], "one")).encode())
        assert await asyncio.gather(*asked) == ["one", "two"]

    conversation(test)


def test_an_error_of_the_peer_is_raised():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        asked = asyncio.ensure_future(peer.request("m", {}, timeout=LIMIT))
        [sent] = await wire.count(1)
        peer.feed(json.dumps({"jsonrpc": "2.0", "id": sent["id"], "error": {"code": -32602, "message": "no"}}).encode())
        with pytest.raises(InvalidParams, match="no"):
            await asked

    conversation(test)


@pytest.mark.requirement("BASE-04", "BASE-05")
@pytest.mark.parametrize(
    "id",
    [
        *("01", " 1", "1.0", "\uff11", "-1", "x", "1 ", "+1", "0x1", "\u0661", "1e0", "", "null", "true"),
        *(2, None, 99, 0, -1, 10**20, True, False, [1], {"id": 1}),
    ],
)
def test_b33_an_unsolicited_response_changes_no_pending_request(id: Any):
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        asked = asyncio.ensure_future(peer.request("m", {}, timeout=LIMIT))
        [sent] = await wire.count(1)
        assert sent["id"] == 1
        peer.feed(json.dumps(result(id, "spoofed")).encode())
        peer.feed(json.dumps(result(1, "real")).encode())
        peer.feed(json.dumps(result(1, "twice")).encode())
        assert await asked == "real"

    conversation(test)


NO_VERSION = ("jsonrpc", None)
INVALID = {
    "an error that is null": ({"id": 1, "result": {}, "error": None}, "both"),
    "a result that is null beside an error": ({"id": 1, "result": None, "error": {"code": 1, "message": ""}}, "both"),
    "both": ({"id": 1, "result": {}, "error": {"code": 1, "message": ""}}, "both"),
    "neither, but an error that is null": ({"id": 1, "error": None}, '"error" must be an object'),
    "an error that is text": ({"id": 1, "error": "no"}, '"error" must be an object'),
    "an error that is a list": ({"id": 1, "error": [1, "no"]}, '"error" must be an object'),
    "a code that is text": ({"id": 1, "error": {"code": "1", "message": "no"}}, "integer"),
    "a code with a fraction": ({"id": 1, "error": {"code": 1.0, "message": "no"}}, "integer"),
    "no code": ({"id": 1, "error": {"message": "no"}}, "integer"),
    "a message that is null": ({"id": 1, "error": {"code": 1, "message": None}}, "string"),
    "an id that is text": ({"id": "1", "result": {}}, "string '1'"),
    "an id that is text, of an error": ({"id": "1", "error": {"code": 1, "message": "no"}}, "string '1'"),
    "an id with a point": ({"id": 1.0, "result": {}}, '"id" must be'),
    "an id with a point, of an error": ({"id": 1.0, "error": {"code": 1, "message": "no"}}, '"id" must be'),
    "no version": ({"jsonrpc": None, "id": 1, "result": {}}, '"jsonrpc"'),
    "a version that is a number": ({"jsonrpc": 2.0, "id": 1, "result": {}}, '"jsonrpc"'),
    "an old version": ({"jsonrpc": "1.0", "id": 1, "result": {}}, '"jsonrpc"'),
    "a long version": ({"jsonrpc": "2.0.0", "id": 1, "result": {}}, '"jsonrpc"'),
    "an old version of an error": ({"jsonrpc": "1.0", "id": 1, "error": {"code": 1, "message": ""}}, '"jsonrpc"'),
    "a version that is missing, and an id that is text": ({"jsonrpc": "", "id": 1.0, "result": {}}, '"'),
}


@pytest.mark.parametrize("is_batch", [False, True], ids=["alone", "in a batch"])
@pytest.mark.parametrize("case", INVALID)
def test_an_invalid_response_fails_its_pending_request_with_the_problem(case: str, is_batch: bool):
    answer, problem = INVALID[case]
    message = {name: value for name, value in {"jsonrpc": "2.0", **answer}.items() if (name, value) != NO_VERSION}

    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        asked = asyncio.ensure_future(peer.request("m", {}, timeout=None))
        assert (await wire.count(1))[0]["id"] == 1
        peer.feed(json.dumps([message] if is_batch else message).encode())
        async with asyncio.timeout(LIMIT):
            with pytest.raises(InvalidAnswer, match=re.escape(problem)) as caught:
                await asked
        assert caught.value.code == "TT5009"

    conversation(test, takes_batches=True)


DEEP = "[" * 101 + "]" * 101
MANY = "[" + "[]," * 1_000_001 + "[]]"
UNDECODED = {
    "too deep": ('{"jsonrpc":"2.0","id":1,"result":{"tools":%s}}'.replace("%s", DEEP), "100 levels"),
    "too deep, with blanks": (
        '{ "jsonrpc": "2.0", "id": 1, "result": {"tools": %s} }\n'.replace("%s", DEEP),
        "100 levels",
    ),
    "too deep, the id last": ('{"result":{"tools":%s},"id":1,"jsonrpc":"2.0"}'.replace("%s", DEEP), "100 levels"),
    "too deep, the id between": ('{"id":1,"result":{"tools":%s},"jsonrpc":"2.0"}'.replace("%s", DEEP), "100 levels"),
    "a deep error": (
        '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":%s}}'.replace("%s", DEEP),
        "100 levels",
    ),
    "too deep, and unfinished": ('{"jsonrpc":"2.0","id":1,"result":%s'.replace("%s", DEEP[:101]), "100 levels"),
    "too many": ('{"jsonrpc":"2.0","id":1,"result":%s}'.replace("%s", MANY), "1000000 arrays"),
    "a key twice": ('{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}', "stands twice"),
    "not a number": ('{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}', "not JSON"),
    "cut short": ('{"jsonrpc":"2.0","id":1,"result":{"a":', "not JSON"),
}


def undecoded(frame: str, problem: str) -> Callable[[Peer, Handler, Wire], Awaitable[None]]:
    """A conversation in which ``frame`` answers the only request, which fails because of the problem."""

    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        asked = asyncio.ensure_future(peer.request("m", {}, timeout=None))
        await wire.count(1)
        peer.feed(frame.encode())
        async with asyncio.timeout(LIMIT):
            with pytest.raises(InvalidAnswer, match=re.escape(problem)) as caught:
                await asked
        assert caught.value.code == "TT5009"

    return test


@pytest.mark.parametrize("case", UNDECODED)
def test_an_undecodable_response_fails_its_pending_request_with_the_problem(case: str):
    conversation(undecoded(*UNDECODED[case]))


BATCHES = {
    "alone": "[%s]",
    "the last": '[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":9,"result":[]},%s]',
    "the first": ' [ %s , {"jsonrpc":"2.0","id":9,"result":{}} ] ',
    "behind text that looks like a part": '[{"id":9,"result":"]},{\\"id\\":3,"},%s]',
}


@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("case", UNDECODED)
def test_so_it_is_in_a_batch(case: str, batch: str):
    answer, problem = UNDECODED[case]
    if "unfinished" not in case and "cut" not in case and ("many" not in case or batch == BATCHES["alone"]):
        conversation(undecoded(batch.replace("%s", answer), problem), takes_batches=True)


@pytest.mark.parametrize("beside", ['"ok"', "{}", "[1]", "null", '{"a":[{"b":"]"}]}'])
def test_an_array_that_cannot_be_decoded_ends_every_request_that_it_answers(beside: str):
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        asked = [asyncio.ensure_future(peer.request("m", {}, timeout=None)) for _ in range(3)]
        await wire.count(3)
        deep = '{"jsonrpc":"2.0","id":2,"result":%s}'.replace("%s", DEEP)
        request = '{"jsonrpc":"2.0","id":3,"method":"m","params":{"result":[]}}'
        peer.feed(f'[{{"jsonrpc":"2.0","id":1,"result":{beside}}},{request},{deep}]'.encode())
        async with asyncio.timeout(LIMIT):
            for one in asked[:2]:
                with pytest.raises(InvalidAnswer, match="100 levels"):
                    await one
        peer.feed(json.dumps(result(3, "real")).encode())
        assert await asked[2] == "real"

    conversation(test, takes_batches=True)


@pytest.mark.parametrize(
    "piece",
    ['"', '\\"', '"\\', "[", "]", "{},", '[{"id":1,"result":[', '"a",', "\\", "[[[]],", '{"id":1,"result":{},"id":1},'],
)
def test_an_array_of_anything_is_looked_at_in_one_pass(piece: str):
    assert grows_in_proportion(
        lambda frame: answered_ids(frame, 100), lambda count: b"[" + piece.encode() * count, 2_000
    )


@pytest.mark.parametrize(
    "frame",
    [
        '{"jsonrpc":"2.0","id":1,"method":"m","params":%s}'.replace("%s", DEEP),
        '{"jsonrpc":"2.0","id":1,"result":1,"method":"m","params":%s}'.replace("%s", DEEP),
        '{"jsonrpc":"2.0","params":{"result":{"id":1,"a":%s}},"method":"m"}'.replace("%s", DEEP),
        '{"result":%s,"id":1,"method":"m"}'.replace("%s", DEEP),
        '{"id":2,"result":%s,"id":1}'.replace("%s", DEEP),
        '{"id":2,"result":[%s,{"a":[],"id":1}]}'.replace("%s", DEEP),
        '{"id":true,"result":%s}'.replace("%s", DEEP),
        '{"result":["%s],\\"id\\":1}"}'.replace("%s", DEEP),
    ],
)
def test_an_undecodable_frame_that_is_not_a_response_ends_no_pending_request(frame: str):
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        asked = asyncio.ensure_future(peer.request("m", {}, timeout=LIMIT))
        await wire.count(1)
        peer.feed(frame.encode())
        peer.feed(json.dumps(result(1, "real")).encode())
        assert await asked == "real"

    conversation(test)


@pytest.mark.parametrize(
    "request_",
    [{"id": 1, "method": 7}, {"id": 1, "method": "m", "params": []}, {"jsonrpc": "1.0", "id": 1, "method": "m"}],
    ids=["method", "params", "version"],
)
def test_an_invalid_request_with_the_same_id_ends_no_pending_request(request_: Any):
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        asked = asyncio.ensure_future(peer.request("m", {}, timeout=LIMIT))
        await wire.count(1)
        peer.feed(json.dumps({"jsonrpc": "2.0", **request_}).encode())
        peer.feed(json.dumps(result(1, "real")).encode())
        assert await asked == "real"

    conversation(test)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"ready to serve", "not JSON"),
        (b"\xff", "not JSON"),
        (b'{"jsonrpc": "2.0", "id": 7, "result": {}}', "id '7', which no request has"),
        (b'{"jsonrpc": "2.0", "id": "x", "result": {}}', "id 'x', which no request has"),
        (b'{"jsonrpc": "2.0", "result": {}}', "Not a JSON-RPC 2.0 message"),
        (b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "odd"}}', "without an id: odd"),
        (b'{"jsonrpc": "2.0", "id": true, "result": {}}', "Not a JSON-RPC 2.0 message"),
        (b"7", "not an object"),
    ],
)
def test_the_text_of_a_timeout_quotes_the_frame_that_came_instead_of_a_response(frame: bytes, reason: str):
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(b"before")
        asked = asyncio.ensure_future(peer.request("m", {}, timeout=0.01))
        await asyncio.sleep(0)  # it has been sent, and no timer runs before the next lines
        peer.feed(b"noise")
        peer.feed(frame)
        with pytest.raises(RequestTimeout) as caught:
            await asked
        assert caught.value.code == "TT5029"
        assert "2 messages" in str(caught.value)
        assert reason in str(caught.value)

    conversation(test)


@pytest.mark.requirement("LIFE-14")
def test_an_answered_request_leaves_nothing_to_the_garbage_collector():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        asked = asyncio.ensure_future(peer.request("answered", {}, timeout=LIMIT))
        await turns()
        assert len(waits()) == 1
        peer.feed(encode({"jsonrpc": "2.0", "id": 1, "result": {}}))
        await asked
        assert waits() == []

    def waits() -> list[object]:
        return [one for one in gc.get_objects() if type(one) is _Wait and one.method == "answered"]

    gc.disable()
    try:
        conversation(test)
    finally:
        gc.enable()


def test_no_id_is_used_for_two_requests():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        for count in range(1, 4):
            asked = asyncio.ensure_future(peer.request("m", {}, timeout=LIMIT))
            sent = (await wire.count(count))[-1]
            peer.feed(json.dumps(result(sent["id"], count)).encode())
            assert await asked == count
        assert len({message["id"] for message in wire.written}) == 3

    conversation(test)


@pytest.mark.requirement("CANC-12")
def test_the_end_of_patience_is_told_to_the_other_end():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        abandoned: list[Any] = []
        with pytest.raises(RequestTimeout) as caught:
            await peer.request("m", {}, timeout=0, abandoned=abandoned.append)
        assert caught.value.code == "TT5002"
        assert abandoned == [1]

    conversation(test)


def test_a_cancelled_wait_is_told_to_the_other_end_too():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        abandoned: list[Any] = []
        asked = asyncio.ensure_future(peer.request("m", {}, timeout=LIMIT, abandoned=abandoned.append))
        await wire.count(1)
        asked.cancel()
        await asyncio.wait([asked])
        assert asked.cancelled()
        assert abandoned == [1]

    conversation(test)


def test_a_lost_connection_fails_all_pending_requests():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        asked = [asyncio.ensure_future(peer.request("m", {}, timeout=LIMIT)) for _ in range(2)]
        await wire.count(2)
        peer.fail(1, UnknownTool("x"))
        peer.lose(ConnectionLost.of("TT5001"))
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [UnknownTool, ConnectionLost]
        with pytest.raises(ConnectionLost):
            await peer.request("m", {}, timeout=LIMIT)

    conversation(test)


@pytest.mark.parametrize("frame", [request("gate"), request("refuse"), b"{", b"[]", b"[%b]" % request("gate")])
def test_an_answer_that_the_connection_cannot_take_fails_no_task(frame: bytes):
    async def main() -> None:
        failures: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context["message"]))

        def write(frame: bytes) -> None:
            raise ConnectionLost.of("TT5001")

        handler = Handler(takes_batches=True)
        peer = Peer(write, handler)
        peer.feed(frame)
        handler.gate.set()
        async with asyncio.timeout(LIMIT):
            await peer.drain()
        await turns()
        gc.collect()
        assert failures == []

    asyncio.run(main())


# -- batches -----------------------------------------------------------------------------------------------------------


def batch(*frames: bytes) -> bytes:
    return b"[" + b",".join(frames) + b"]"


@pytest.mark.requirement("LIFE-16")
def test_a_batch_is_answered_with_one_array():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        note = b'{"jsonrpc":"2.0","method":"note"}'
        peer.feed(batch(request("echo", 1), note, b"7", request("refuse", 2)))
        [answers] = await wire.count(1)
        assert {answer.get("id") for answer in answers} == {1, 2, None}
        assert len(answers) == 3
        assert handler.noted == [Notification("note", {})]

    conversation(test, takes_batches=True)


def test_a_batch_of_notifications_is_not_answered():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(batch(b'{"jsonrpc":"2.0","method":"note"}'))
        await turns()
        peer.feed(request("echo"))
        assert await wire.count(1) == [result(1, {})]

    conversation(test, takes_batches=True)


@pytest.mark.parametrize(
    ("frame", "takes"), [(batch(request("wait")), False), (b"[]", True), (batch(*[request("wait")] * 101), True)]
)
def test_a_batch_that_is_not_allowed_empty_or_too_large_runs_nothing(frame: bytes, takes: bool):
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        assert MAX_BATCH == 100
        peer.feed(frame)
        [refused] = await wire.count(1)
        assert refused["error"]["code"] == -32600
        await peer.close()
        assert handler.cancelled == []

    conversation(test, takes_batches=takes)


def test_an_element_that_is_cancelled_leaves_the_answers_of_the_others():
    async def test(peer: Peer, handler: Handler, wire: Wire) -> None:
        peer.feed(batch(request("wait", 1), request("echo", 2)))
        await turns()
        peer.cancel(1)
        assert await wire.count(1) == [[result(2, {})]]

    conversation(test, takes_batches=True)


@pytest.mark.requirement("CANC-06", "CANC-08")
def test_b35_a_cancelled_request_that_goes_on_sends_no_messages():
    async def main() -> list[Any]:
        wire, finished = Wire(), asyncio.Event()

        class Stubborn(Handler):
            async def on_request(self, request: RpcRequest, exchange: NotificationChannel) -> bytes:
                if request.method == "echo":
                    return b"{}"
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    exchange.notify("told", {})
                    finished.set()
                return b'"late"'

        peer = Peer(wire.write, Stubborn())
        peer.feed(request("stubborn"))
        peer.feed(request("echo", 2))
        await wire.count(1)
        assert peer.cancel(1)
        peer.feed(request("echo", 1))
        async with asyncio.timeout(LIMIT):
            await finished.wait()
        written = await wire.count(2)
        await peer.close()
        return written

    assert [(answer["id"], answer["result"]) for answer in asyncio.run(main())] == [(2, {}), (1, {})]


def test_there_is_an_end_to_how_many_requests_run():
    async def main() -> Any:
        wire = Wire()
        peer = Peer(wire.write, Handler())
        for id in range(MAX_RUNNING + 1):
            peer.feed(request("wait", id))
        [refused] = await wire.count(1)
        await peer.close()
        return refused

    assert asyncio.run(main())["error"]["message"].endswith("[TT1021]")


def test_while_it_is_held_nothing_begins_and_a_cancellation_is_heard():
    async def main() -> list[Any]:
        wire = Wire()
        peer = Peer(wire.write, Handler())
        peer.hold(True)
        for id in (1, 2, 3):
            peer.feed(request("echo", id))
        await asyncio.sleep(0)
        assert wire.written == []
        assert peer.cancel(2)
        peer.hold(False)
        await wire.count(2)
        await peer.close()
        return wire.written

    assert [answer["id"] for answer in asyncio.run(main())] == [1, 3]
