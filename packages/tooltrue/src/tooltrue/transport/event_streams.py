"""The events of an HTTP answer, which httpx2 parses.

Few answers are event streams, and the import of httpx2 takes longer than that of a whole client, so that this module is
imported with the first of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TypeAlias

import httpx2

from tooltrue.transport.http_connection import Broken, HttpResponse
from tooltrue.transport.lines import InputPace

__all__ = ["StreamEvent", "events"]

_EVENTS_OF_A_TURN = 100

StreamEvent: TypeAlias = httpx2.ServerSentEvent


class _Parts(httpx2.AsyncByteStream):
    """The body of an answer as a byte stream for httpx2."""

    def __init__(self, answer: HttpResponse) -> None:
        self._answer = answer

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._answer.parts()


async def events(answer: HttpResponse, url: str, most: int, pace: InputPace) -> AsyncGenerator[StreamEvent]:
    """The events of a stream, at ``pace``. Raises ``Broken`` for a malformed or compressed stream, and for an event of
    more than ``most`` bytes."""
    if answer.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        raise Broken("its answer is compressed, although the request excludes that")
    # A stream of events is UTF-8. httpx2 would take the charset that the server names, and some codecs decompress.
    headers = {"content-type": "text/event-stream"}
    response = httpx2.Response(
        answer.status, headers=headers, stream=_Parts(answer), request=httpx2.Request("GET", url)
    )
    loop, count = asyncio.get_running_loop(), 0
    try:
        async for event in httpx2.EventSource(response, max_event_size=most):
            yield event
            count += 1
            pause = pace.take(1, len(event.data), loop.time())
            if pause or count % _EVENTS_OF_A_TURN == 0:
                await asyncio.sleep(pause)
    except httpx2.HTTPError as error:
        raise Broken(str(error)) from None
