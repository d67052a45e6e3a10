"""Seven tools of a JSON Schema each, on the official SDK. `ours/raw.py` is the same server on tooltrue.

Only the SDK's low-level server takes a schema as it is. It does not validate the arguments.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

TOOLS = [
    types.Tool(name=tool["name"], description=tool["description"], input_schema=tool["inputSchema"])
    for tool in json.loads((Path(__file__).parents[1] / "raw_tools.json").read_text())
]


async def list_tools(context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=json.dumps(params.arguments))])


server = Server("bench", version="1.0", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve() -> None:
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(serve())
