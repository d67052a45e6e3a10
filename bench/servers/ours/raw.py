"""Seven tools of a JSON Schema each, on tooltrue. `mcp2/raw.py` is the same server on the official SDK."""

import json
from pathlib import Path
from typing import Any

from tooltrue import Rate, Server

# The limit is there and is paid for; a figure of calls a second must not be that of a limit.
server = Server("bench", version="1.0", rate=Rate(per_second=1_000_000, burst=1_000_000))


async def describe(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments)


for tool in json.loads((Path(__file__).parents[1] / "raw_tools.json").read_text()):
    server.add_raw_tool(tool["name"], tool["inputSchema"], describe, description=tool["description"], effect="read")

if __name__ == "__main__":
    server.run()
