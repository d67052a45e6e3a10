"""The official Python client, 2.x: its report on a server, as one line of JSON.

Usage: python_sdk_v2.py CALLS (URL | COMMAND ARGUMENT...)
"""

import asyncio
import json
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters


def server(target: list[str]) -> str | StdioServerParameters:
    if target[0].startswith("http://"):
        return target[0]
    return StdioServerParameters(command=target[0], args=target[1:])


async def call(client: Client, name: str, arguments: dict) -> dict:
    result = await client.call_tool(name, arguments)
    text = "".join(block.text for block in result.content if block.type == "text")
    return {"text": text, "structured": result.structured_content, "is_error": bool(result.is_error)}


async def seen(calls: dict, target: list[str]) -> dict:
    async with Client(server(target), read_timeout_seconds=20) as client:
        listed = await client.list_tools()
        return {
            "revision": client.protocol_version,
            "tools": [tool.name for tool in listed.tools],
            "results": {key: await call(client, *made) for key, made in calls.items()},
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(seen(json.loads(sys.argv[1]), sys.argv[2:]))))
