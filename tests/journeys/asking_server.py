"""A session-based server behind the gateways of several machines. ``PORT`` in its environment: it serves HTTP there."""

from __future__ import annotations

import asyncio
import os

from typing_extensions import TypedDict

from tooltrue import Context, Form, Server
from tooltrue.policy.layers.confirm import Confirm

server = Server("asking", confirm=Confirm.never())


class Name(TypedDict):
    name: str


@server.tool(effect="read")
def greet(context: Context) -> str:
    """Ask for a name, and greet it from this process."""
    name = context.ask(Form("Your name?", Name))
    for number in range(1, 51):
        context.progress(number, 50)
    return f"Hello {'nobody' if name.value is None else name.value['name']}, says {os.getpid()}"


@server.tool(effect="read")
async def hang(context: Context) -> str:
    """Ask for a name, and then wait."""
    context.ask(Form("Your name?", Name))
    context.progress(1)
    await asyncio.Event().wait()
    return ""


@server.tool(effect="read")
def rare() -> str:
    """Called often."""
    return "granted"


@server.tool(effect="destructive")
def wipe(path: str) -> str:
    """Wipe a path."""
    return f"wiped {path}"


if "PORT" in os.environ:
    server.run("http", port=int(os.environ["PORT"]))
server.run()
