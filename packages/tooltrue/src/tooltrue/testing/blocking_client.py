"""A client for code that is not ``async``, as most tests are."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, Self, TypeVar

from tooltrue.client.answers import Elicit
from tooltrue.client.client import Client, Progress, Result, Target
from tooltrue.client.eras import ServerFacts
from tooltrue.errors import ConnectionLost
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED
from tooltrue.protocol.types import ToolDefinition

__all__ = ["BlockingClient"]

T = TypeVar("T")


class BlockingClient:
    """``with BlockingClient(target) as client: client.call("add", a=1, b=2).value``.

    Its settings are among those of ``Client``. It has an event loop of its own that runs only during its methods:
    between calls a server in this process stands still. Within a running loop it raises ``RuntimeError``; use
    ``async with Client(target)`` there.
    """

    def __init__(
        self,
        target: Target,
        *,
        timeout: float = 60.0,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        revision: str | None = None,
        elicit: Elicit | None = None,
    ) -> None:
        self._client = Client(target, timeout=timeout, headers=headers, env=env, revision=revision, elicit=elicit)
        self._runner: asyncio.Runner | None = None

    def __enter__(self) -> Self:
        self._runner = asyncio.Runner()
        try:
            self._run(self._client.__aenter__())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, and stop a server that was started for it."""
        if self._runner is not None:
            try:
                self._run(self._client.close())
            finally:
                self._end()

    @property
    def facts(self) -> ServerFacts:
        """The server's name, version, capabilities and instructions."""
        return self._client.facts

    def tools(self) -> list[ToolDefinition]:
        """All tools, every page of them."""
        return self._run(self._client.list_tools())

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        **more: Any,
    ) -> Result:
        """Call a tool, as ``Client.call_tool`` does: a failure is a result with ``is_error``; its ``value`` raises."""
        return self._run(self._client.call_tool(name, arguments, timeout=timeout, progress=progress, **more))

    def ping(self) -> None:
        """Check that the server answers."""
        self._run(self._client.ping())

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            if self._runner is None:
                raise ConnectionLost.of(CONNECTION_CLOSED)
            return self._runner.run(work)
        finally:
            work.close()  # where it was not even begun

    def _end(self) -> None:
        if self._runner is not None:
            runner, self._runner = self._runner, None
            runner.close()
