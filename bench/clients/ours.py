"""The client of tooltrue: the same as `mcp2.py`."""

import asyncio
import sys
import time

from harness.warm_up import WarmUp
from tooltrue import Client


async def rate(client: Client, seconds: float) -> float:
    count, begun = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begun) < seconds:
        result = await client.call_tool("echo", {"text": f"text {count}"})
        assert result.content[0].text == f"text {count}"
        count += 1
    return count / elapsed


async def main(seconds: float, target: list[str]) -> None:
    async with Client(target[0] if target[0].startswith("http") else target) as client:
        await client.list_tools()
        warm_up = WarmUp.before(seconds)
        while not warm_up.is_over:
            warm_up.rates.append(await rate(client, warm_up.window))
        print(await rate(client, seconds))


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), sys.argv[2:]))
