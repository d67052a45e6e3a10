"""A server of FastMCP 4 over stdio: ``python fastmcp_stdio_server.py``."""

from fastmcp import FastMCP

server = FastMCP("adder")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    server.run(transport="stdio", show_banner=False)
