"""The tools of the call rows, on FastMCP. `ours/calls.py` is the same server on tooltrue.

stdio without arguments; with a port, HTTP with the SDK's quickest settings.
"""

import sys
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

import uvicorn
from fastmcp import FastMCP
from pydantic import BaseModel, Field

server = FastMCP("bench", version="1.0")


class Price(BaseModel):
    low: Annotated[float, Field(ge=0)]
    high: Annotated[float, Field(le=100_000)]


class Product(BaseModel):
    id: str
    title: str
    category: Literal["book", "music", "tool"]
    price: float
    in_stock: bool
    tags: list[str]


class Page(BaseModel):
    total: int
    products: list[Product]


# Made once: the cost of an author's own code is the same on either side and would only dilute the ratio.
PRODUCTS = [
    Product(
        id=f"p-{number}",
        title=f"lamp {number}",
        category="tool",
        price=10.0 + number,
        in_stock=number % 2 == 0,
        tags=["new", "sale"],
    )
    for number in range(100)
]

# The texts of 1 MB: prose in lines, rows of JSON, digits without a line break.
PROSE = (Path(__file__).parents[1] / "prose.txt").read_text()
LARGE_PROSE = (PROSE * (1_000_000 // len(PROSE) + 1))[:1_000_000]
ROWS = [
    f'{{"id":"p-{row:05}","title":"lamp #{row:05}","category":"tool","tags":["new","sale"]}}' for row in range(12_500)
]
LARGE_JSON = "[" + ",\n".join(ROWS) + "]"
LARGE_HEX = "".join(sha256(str(number).encode()).hexdigest() for number in range(15_625))


@server.tool()
async def echo(text: str) -> str:
    """Echo."""
    return text


@server.tool()
def echo_sync(text: str) -> str:
    """Echo."""
    return text


@server.tool()
def echo_inline(text: str) -> str:
    """Echo."""
    return text


@server.tool()
async def large_prose() -> str:
    """Read a large text."""
    return LARGE_PROSE


@server.tool()
async def large_json() -> str:
    """Read a large text."""
    return LARGE_JSON


@server.tool()
async def large_hex() -> str:
    """Read a large text."""
    return LARGE_HEX


@server.tool()
async def search_products(
    query: str,
    price: Price,
    category: Literal["book", "music", "tool"],
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
) -> Page:
    """Search the shop."""
    return Page(total=1_000, products=PRODUCTS[:limit])


def serve_http(port: int) -> None:
    """JSON answers, no sessions, no access log; uvicorn picks uvloop and httptools where its environment holds them."""
    app = server.http_app(path="/mcp", json_response=True, stateless_http=True)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


if __name__ == "__main__":
    if sys.argv[1:]:
        serve_http(int(sys.argv[1]))
    else:
        server.run(show_banner=False)
