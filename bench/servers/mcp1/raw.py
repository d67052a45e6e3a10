"""Seven tools of a JSON Schema each, on the official SDK, 1.x. `ours/raw.py` is the same server on tooltrue.

Only the SDK's low-level server takes a schema as it is.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

server = Server("bench")
TOOLS = [types.Tool(**tool) for tool in json.loads((Path(__file__).parents[1] / "raw_tools.json").read_text())]


@server.list_tools()
async def list_tools() -> list[types.Tool]:
    return TOOLS


@server.call_tool()
async def call_tool(name: str, arguments: dict[str, Any]) -> list[types.TextContent]:
    return [types.TextContent(type="text", text=json.dumps(arguments))]


async def serve() -> None:
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(serve())
