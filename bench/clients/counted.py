"""The client of tooltrue for `bench/instructions.py`: for each line of its input, calls `echo` so many times, one after
the other, and writes an empty line.

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
            for number in range(int(line)):
                result = await client.call_tool("echo", {"text": f"text {number}"})
                assert result.content[0].text == f"text {number}"
            print(flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
