"""The redirect target of the browser: one page on loopback, open during a sign-in (RFC 8252, section 7.3)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from secrets import compare_digest
from typing import Self
from urllib.parse import parse_qsl, urlsplit

__all__ = ["Redirect"]

_MAX_HEAD = 16_384
_MAX_FIELDS = 32
_READ_SECONDS = 10.0
_HOST = "127.0.0.1"

_PAGE = "<!doctype html><html><head><meta charset=utf-8><title>tooltrue</title></head><body><p>{}</p></body></html>"
_DONE = "You may close this page and go back to the program. 您可以关闭此页面并返回程序。"
_NOT_HERE = "Nothing is here. 此处没有内容。"
_HEAD = (
    "HTTP/1.1 {}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n"
    "referrer-policy: no-referrer\r\ncontent-security-policy: default-src 'none'; frame-ancestors 'none'\r\n"
    "connection: close\r\n\r\n"
)


class Redirect:
    """``async with Redirect("http://127.0.0.1/callback", state) as redirect``. Without a port, any free one is used; a
    port in use raises ``OSError``.

    Only a request with the ``state`` is an answer. Others may come from any page that the browser has open: they get a
    404, and the wait goes on.
    """

    def __init__(self, uri: str, state: str) -> None:
        self._parts = urlsplit(uri)
        self._state = state
        self._answer: asyncio.Future[Mapping[str, str]] | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._answer = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(self._accepted, _HOST, self._parts.port or 0, limit=_MAX_HEAD)
        port = self._server.sockets[0].getsockname()[1]
        self._parts = self._parts._replace(netloc=f"{self._parts.hostname}:{port}")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def uri(self) -> str:
        return self._parts.geturl()

    async def answer(self) -> Mapping[str, str]:
        """Wait for the parameters that the browser brings back. Only inside of ``async with``."""
        assert self._answer is not None
        return await self._answer

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(_READ_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                    answer = self._read(head.partition(b"\r\n")[0].decode("latin-1"))
                    await _write(
                        writer, "404 Not Found" if answer is None else "200 OK", _NOT_HERE if answer is None else _DONE
                    )
                    if answer is not None and self._answer is not None and not self._answer.done():
                        self._answer.set_result(answer)
        finally:
            writer.close()

    def _read(self, line: str) -> Mapping[str, str] | None:
        """Return the parameters of the expected answer, or ``None``. A repeated parameter is refused (RFC 6749,
        3.1).
        """
        method, _, rest = line.partition(" ")
        try:
            target = urlsplit(rest.partition(" ")[0])
            fields = parse_qsl(target.query, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
        except ValueError:
            return None
        answer = dict(fields)
        ours = method == "GET" and target.path == self._parts.path and len(answer) == len(fields)
        is_answer = compare_digest(answer.get("state", "").encode(), self._state.encode())
        return answer if ours and is_answer else None


async def _write(writer: asyncio.StreamWriter, status: str, text: str) -> None:
    body = _PAGE.format(text).encode()
    writer.write(_HEAD.format(status, len(body)).encode() + body)
    await writer.drain()
