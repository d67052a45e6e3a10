"""The official Python client, 1.x: prints its view of a server as one line of JSON.

Usage: python_sdk_v1.py CALLS (URL | COMMAND ARGUMENT...)
"""

import asyncio
import json
import sys
from datetime import timedelta

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


def streams(target: list[str]):
    if target[0].startswith("http://"):
        return streamable_http_client(target[0])
    return stdio_client(StdioServerParameters(command=target[0], args=target[1:]))


async def call(session: ClientSession, name: str, arguments: dict) -> dict:
    result = await session.call_tool(name, arguments)
    text = "".join(block.text for block in result.content if block.type == "text")
    return {"text": text, "structured": result.structuredContent, "is_error": result.isError}


async def seen(calls: dict, target: list[str]) -> dict:
    limit = timedelta(seconds=20)
    # Over HTTP there is a third value, a way to ask for the session id.
    async with streams(target) as (read, write, *_), ClientSession(read, write, limit) as session:
        agreed = await session.initialize()
        listed = await session.list_tools()
        return {
            "revision": agreed.protocolVersion,
            "tools": [tool.name for tool in listed.tools],
            "results": {key: await call(session, *made) for key, made in calls.items()},
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(seen(json.loads(sys.argv[1]), sys.argv[2:]))))
