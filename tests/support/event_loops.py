"""The event loops on which the product runs: asyncio's, and uvloop's, which uvicorn takes where it is installed."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from support.platforms import FEATURES

__all__ = ["each_event_loop"]

_LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
}
if FEATURES["uvloop"].is_there():
    _LOOPS["uvloop"] = importlib.import_module("uvloop").new_event_loop


@pytest.fixture(params=_LOOPS)
def each_event_loop(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the test once on each event loop: ``asyncio.run`` takes it."""

    def run(main: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=_LOOPS[request.param]) as runner:
            return runner.run(main)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "run", run)
        yield
