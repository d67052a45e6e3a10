"""The client of tooltrue for `bench/instructions.py` and `bench/gateway.py`: for each line of its input, two numbers,
calls `echo` so many times, so many at once, and writes an empty line.

counted.py (URL | COMMAND ARGUMENT...)
"""

import asyncio
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
import harness.signalled_waits  # noqa: F401  before the client starts a thread
from tooltrue import Client


async def main(target: list[str]) -> None:
    async with Client(target[0] if target[0].startswith("http") else target) as client:
        await client.list_tools()
        for line in sys.stdin:  # nothing else runs meanwhile
            count, at_once = map(int, line.split())
            if at_once == 1:
                await call(client, count)
            else:
                await asyncio.gather(*(call(client, count // at_once) for _ in range(at_once)))
            print(flush=True)


async def call(client: Client, count: int) -> None:
    for number in range(count):
        result = await client.call_tool("echo", {"text": f"text {number}"})
        assert result.content[0].text == f"text {number}"


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
