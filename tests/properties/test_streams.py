"""Event streams: messages arrive however the stream is cut into chunks, and any other stream ends cleanly."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from properties.speaking import Answer, cut
from tooltrue.errors import RpcError, TransportError
from tooltrue.jsonrpc.messages import encode_answer
from tooltrue.jsonrpc.peer import Peer
from tooltrue.testing.state import LIMIT
from tooltrue.transport.http_client import HttpLink
from tooltrue.transport.http_server import Reply, Stream

lines = st.text(st.sampled_from('a: \r\n\u2028\u2029\x85\x00"\\é😀') | st.characters(codec="utf-8"), max_size=8)
said = st.dictionaries(lines, lines, max_size=2)
COSTLY = settings(deadline=None, max_examples=settings().max_examples // 5)  # a socket, and 30 ms each


class Listener:
    """A client's handler that records the received notifications."""

    takes_batches = False

    def __init__(self) -> None:
        self.told: list[Any] = []

    async def on_request(self, request: Any, exchange: Any) -> bytes:
        raise AssertionError("nobody asks")

    def on_notification(self, notification: Any) -> None:
        self.told.append((notification.method, notification.params))


@settings(deadline=None)
@given(st.lists(said, max_size=5), said, st.lists(st.booleans(), min_size=5, max_size=5))
def test_an_independent_parser_reads_the_events_of_a_stream_in_order(told: list[Any], result: Any, pauses: list[bool]):
    async def main() -> Answer:
        answer = Answer()
        stream = Stream(answer.take)
        for params, pause in zip(told, pauses, strict=False):
            stream.notify("notifications/progress", params)
            if pause:
                await asyncio.sleep(0)
        await stream.finish(Reply(200, encode_answer(1, json.dumps(result).encode())))
        stream.abandon()
        return answer

    answer = asyncio.run(main())
    assert answer.ended
    messages = [json.loads(frame) for frame in answer.frames]
    assert [message.get("params") for message in messages] == [*told, None]
    assert messages[-1]["result"] == result


async def answered_with(pieces: list[bytes], kind: str = "text/event-stream") -> tuple[Any, list[Any]]:
    """The outcome of one client request that a server answers in these chunks, and the received notifications."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
        writer.write(head.encode())
        for piece in pieces:
            if piece:  # an empty chunk is the last
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        writer.write(b"0\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    handler = Listener()
    async with asyncio.timeout(LIMIT), await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        link = HttpLink(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp")
        peer = Peer(lambda frame: None, handler)
        await link.open(peer)
        try:
            return await peer.request(
                "x", {}, timeout=None, send=lambda frame, id: link.send(frame, id, {})
            ), handler.told
        except (RpcError, TransportError) as error:
            return error, handler.told
        finally:
            await link.close()
            await peer.close()


@COSTLY
@given(
    st.lists(said, max_size=4),
    said,
    st.lists(st.integers(min_value=0), max_size=12),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_a_client_reads_a_stream_however_it_is_cut(told: list[Any], result: Any, cuts: list[int], end: str):
    messages = [{"jsonrpc": "2.0", "method": "m", "params": params} for params in told]
    events = [": hello", "", *(line for m in messages for line in (f"id: 7{end}data: {json.dumps(m)}", ""))]
    answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}, indent=1).split("\n")
    events += ["event: other", "data: {}", "", "event: message", *(f"data:{line}" for line in answer), "", ""]
    got, heard = asyncio.run(answered_with(cut(end.join(events).encode(), cuts)))
    assert got == result
    assert heard == [("m", params) for params in told]


@COSTLY
@given(
    st.lists(
        st.binary(max_size=20) | st.sampled_from([b"data: ", b"\n", b"\r\n\r\n", b'{"jsonrpc":"2.0","id":1', b"}"])
    ),
    st.sampled_from(["text/event-stream", "application/json", "text/html", ""]),
)
def test_a_client_whose_server_talks_nonsense_is_told_so_and_waits_no_longer(pieces: list[bytes], kind: str):
    got, _ = asyncio.run(answered_with(pieces, kind))
    assert isinstance(got, RpcError | TransportError)
