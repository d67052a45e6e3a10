"""A server of FastMCP 2 or 3: ``python fastmcp_server.py TRANSPORT PORT``."""

import sys

from fastmcp import FastMCP

server = FastMCP("adder")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    server.run(transport=sys.argv[1], host="127.0.0.1", port=int(sys.argv[2]), show_banner=False)
