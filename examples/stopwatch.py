import sys
import time
from typing import Any

from tooltrue import Layer, Server


class Stopwatch(Layer, frozen=True):
    """Print the duration of each call, read and prompt."""

    async def around(self, operation: Any, proceed: Any) -> Any:
        began = time.perf_counter()
        try:
            return await proceed(operation)
        finally:
            print(type(operation).__name__, f"{time.perf_counter() - began:.3f} s", file=sys.stderr)


server = Server("timed", layers=[Stopwatch])


@server.tool(effect="read")
def greet(name: str) -> str:
    """Greet a person by name."""
    return f"Hello, {name}!"
