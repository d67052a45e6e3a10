"""The pytest plugin: one fixture. pytest finds it by itself where tooltrue is installed.

It loads no other module of tooltrue before a test asks for the fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Protocol

import pytest

from tooltrue import testing

__all__ = ["Connect", "mcp_client"]


class Connect(Protocol):
    """The type of the fixture ``mcp_client``, for annotations."""

    def __call__(self, target: Any, **settings: Any) -> testing.BlockingClient: ...


@pytest.fixture
def mcp_client() -> Iterator[Connect]:
    """``mcp_client(target, …)``: a client that is connected and has no ``async``; closed when the test ends.

    ``target`` is a server, a command, the path of a ``.py`` file or a URL; settings are those of ``BlockingClient``.
    """
    with ExitStack() as stack:

        def connect(target: Any, **settings: Any) -> testing.BlockingClient:
            return stack.enter_context(testing.BlockingClient(target, **settings))

        yield connect
