"""Seven tools of a JSON Schema each, on FastMCP. `ours/raw.py` is the same server on tooltrue."""

import json
from pathlib import Path
from typing import Any

from fastmcp import FastMCP
from fastmcp.tools import Tool
from fastmcp.tools.base import ToolResult

server = FastMCP("bench", version="1.0")


class Described(Tool):
    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(content=json.dumps(arguments))


for tool in json.loads((Path(__file__).parents[1] / "raw_tools.json").read_text()):
    server.add_tool(Described(name=tool["name"], description=tool["description"], parameters=tool["inputSchema"]))

if __name__ == "__main__":
    server.run(show_banner=False)
