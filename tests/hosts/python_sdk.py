"""A server of the official Python SDK 1.x: ``python python_sdk.py TRANSPORT PORT``."""

import sys

from mcp.server.fastmcp import FastMCP

server = FastMCP("adder", host="127.0.0.1", port=int(sys.argv[2]))


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    server.run(transport=sys.argv[1])
