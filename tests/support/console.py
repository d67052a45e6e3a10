"""The console without a socket: its application over real stores, and people who visit it with a browser's headers."""

from __future__ import annotations

import asyncio
import html
import json
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from tooltrue.policy.consent.approvals import ApprovalRequest, Ticket
from tooltrue.server.keys import ApiKeys, Key, new_key
from tooltrue.state.places import sqlite_url
from tooltrue.transport.http_server import AllowedHosts
from tooltrue_console.desk import Desk, DeskSettings
from tooltrue_console.sessions import ADMIN, APPROVE, READ, Sessions
from tooltrue_console.sign_in import WaysToSignIn
from tooltrue_console.tried import TriedServers
from tooltrue_console.web import alone

__all__ = ["House", "Stream", "Visitor", "fields_of", "request"]

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds that a page waits for the counts of the hour: they are there before, however busy the machine is."""
ORIGIN = "http://127.0.0.1:8765"


def request(tool: str = "burn", **more: Any) -> ApprovalRequest:
    """A call that needs an approval."""
    members = {"server": "attic", "principal": "ann", "effect": "destructive", "pin": "p1", "arguments": {"box": "old"}}
    return ApprovalRequest(**{**members, "tool": tool, **more})


class House:
    """The state of a user in a folder, and a console over it."""

    def __init__(
        self,
        folder: Path,
        *,
        by_link: bool = True,
        clock: Callable[[], float] = time.time,
        tried: TriedServers | None = None,
        **settings: Any,
    ) -> None:
        self.folder = folder
        stores = {name: sqlite_url(folder / f"{name}.db") for name in ("approvals", "acts")}
        self.settings = DeskSettings(**{**stores, **settings})
        keys = {
            "reader": [READ],
            "ann": [READ, APPROVE],
            "bob": [READ, APPROVE],
            "admin": [READ, ADMIN],
            "caller": ["tools"],
        }
        made = {name: new_key(name) for name in keys}
        self.keys = {name: key for name, (key, _) in made.items()}
        table = {name: Key(made[name][1], frozenset(scopes)) for name, scopes in keys.items()}
        self.desk = Desk(self.settings, tried=tried, clock=clock, patience=PATIENCE)
        self.app = alone(self.desk, WaysToSignIn(by_link, lambda: [ApiKeys(table)]), AllowedHosts())

    def visited(self, scenario: Callable[[House], Awaitable[T]]) -> T:
        """The result of a scenario on an event loop of its own."""
        return asyncio.run(self._run(scenario))

    async def _run(self, scenario: Callable[[House], Awaitable[T]]) -> T:
        return await scenario(self)

    async def ticket(self, call: ApprovalRequest | None = None) -> Ticket:
        async with self.desk.approvals() as approvals:
            return await approvals.open(call or request())

    async def state_of(self, call: ApprovalRequest | None = None) -> str:
        async with self.desk.approvals() as approvals:
            ticket = await approvals.ticket(call or request())
        return "none" if ticket is None else ticket.state

    async def link(self) -> str:
        async with self.desk.facts() as facts:
            return await Sessions(facts).new_link()

    @asynccontextmanager
    async def stream(self, visitor: Visitor, path: str) -> AsyncGenerator[Stream]:
        """The events at an address, for as long as the visitor stays."""
        request = visitor.client.build_request("GET", f"/console{path}")
        events, left = asyncio.Queue[str](), asyncio.Event()
        scope = {
            "type": "http",
            "method": "GET",
            "path": request.url.path,
            "query_string": request.url.query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "scheme": "http",
            "server": ("127.0.0.1", 8765),
            "client": ("127.0.0.1", 50_000),
            "http_version": "1.1",
            "extensions": {},
        }

        async def send(message: Any) -> None:
            if message.get("body"):
                events.put_nowait(message["body"].decode())

        async def receive() -> Any:
            await left.wait()
            return {"type": "http.disconnect"}

        task = asyncio.create_task(self.app(scope, receive, send))
        try:
            yield Stream(events)
        finally:
            left.set()
            await task

    @asynccontextmanager
    async def visitor(self, name: str | None = None, **headers: str) -> AsyncGenerator[Visitor]:
        """A browser; signed in by the key of this name, or for ``operator`` by a link."""
        transport = httpx2.ASGITransport(self.app, client=("127.0.0.1", 50_000))
        async with httpx2.AsyncClient(
            transport=transport, base_url=ORIGIN, headers={"user-agent": "Browser/1", **headers}
        ) as client:
            visitor = Visitor(client)
            if name == "operator":
                assert (await visitor.sign_in(token=await self.link())).status_code == 200
            elif name is not None:
                assert (await visitor.sign_in(key=self.keys[name])).status_code == 200
            yield visitor


class Stream:
    """The events of a part of a page that renews itself."""

    def __init__(self, events: asyncio.Queue[str]) -> None:
        self._events = events

    async def next(self) -> tuple[str, str]:
        """The name of the next event, and its HTML."""
        async with asyncio.timeout(PATIENCE):
            name, data = (await self._events.get()).removeprefix("event: ").removesuffix("\n\n").split("\ndata: ", 1)
        return name, json.loads(data)

    @property
    def is_empty(self) -> bool:
        return self._events.empty()


class Visitor:
    """One browser with its cookies."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.client = client

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        return await self.client.get(f"/console{path}", headers=headers)

    async def text(self, path: str) -> str:
        """The page as a person reads it: its text without markup."""
        page = await self.get(path)
        return html.unescape(re.sub(r"<[^>]*>", "", page.text))

    async def post(self, path: str, fields: Mapping[str, str], **headers: str) -> httpx2.Response:
        """Send a form as the script of the page does."""
        sent = {"origin": ORIGIN, "hx-request": "true", **headers}
        return await self.client.post(f"/console{path}", data=dict(fields), headers=sent)

    async def sign_in(self, **fields: str) -> httpx2.Response:
        shown = fields_of((await self.get("/sign-in")).text)
        return await self.post("/sign-in", {"form_token": shown["form_token"], **fields})

    async def form(self, path: str) -> dict[str, str]:
        """The hidden fields of the first decision on a page."""
        fields = fields_of((await self.get(path)).text.partition("<main")[2])
        return {name: value for name, value in fields.items() if name != "scope"}


def fields_of(page: str) -> dict[str, str]:
    """The hidden fields that a page has, the first of each name."""
    pairs = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page)
    return {name: html.unescape(value) for name, value in reversed(pairs)}
