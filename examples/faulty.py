"""A server with the usual faults, for docs/troubleshooting.md."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Annotated

from tooltrue import Depends, Server, ToolError

server = Server("faulty")
shared = sqlite3.connect(":memory:")


def opened() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as database:
        yield database


@server.tool(effect="read")
def shared_rows() -> list[int]:
    """Read through a connection that another thread has opened."""
    return [row[0] for row in shared.execute("SELECT 1")]


@server.tool(effect="read")
def own_rows(database: Annotated[sqlite3.Connection, Depends(opened)]) -> list[int]:
    """Read through a connection that the thread of the call has opened."""
    return [row[0] for row in database.execute("SELECT 1")]


@server.tool(effect="read", seconds=0.2)
def slow() -> str:
    """Take longer than the time limit, on a thread."""
    time.sleep(0.5)
    return "done"


@server.tool(effect="read")
async def blocking() -> str:
    """Block the event loop."""
    time.sleep(1)  # noqa: ASYNC251 - the fault
    return "done"


@server.tool(effect="read")
def weather(city: str) -> str:
    """Tell the weather; fails with an exception of Python."""
    raise KeyError(city)


@server.tool(effect="read")
def forecast(city: str) -> str:
    """Tell the weather of tomorrow; fails with an error for the model."""
    raise ToolError(f"There is no station in {city}; try Paris or Oslo.")


@server.tool(effect="read")
def noisy() -> str:
    """Print to standard output."""
    print("a line of the tool")
    return "done"


@server.tool(effect="read", max_bytes=2_000)
def report() -> str:
    """Return far more than the limit."""
    return "word " * 10_000


@server.tool(effect="read")
def token() -> dict[str, str]:
    """Return a secret."""
    return {"token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"}
