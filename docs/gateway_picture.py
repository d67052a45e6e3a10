"""Draws the picture of `gateway.md`: clients, the gateway with its layers, and servers."""

from collections.abc import Iterator
from xml.sax.saxutils import escape

__all__ = ["gateway_picture"]

CLIENTS = ("a client on a laptop (stdio)", "clients of a team (HTTP)", "an agent in a cluster (HTTP)")
LAYERS = ("callers, rules, limits", "approvals by a person", "pins, clean results", "audit log")
SERVERS = ("a program in Node (stdio)", "a program in Go (stdio)", "a remote server (HTTP)")

WIDTH, HEIGHT, ROW, BOX, TOP = 760, 230, 58, 200, 48
COLUMNS = {"clients": 20, "gateway": 280, "servers": 540}
FONT = "font-family='system-ui, sans-serif' fill='#1f2933' text-anchor='middle'"


def gateway_picture() -> str:
    parts = (
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='#ffffff'/>",
        *(_text(x + BOX / 2, 28, name, "font-size='14' font-weight='600'") for name, x in COLUMNS.items()),
        *_boxes(COLUMNS["clients"], CLIENTS),
        *_gateway(),
        *_boxes(COLUMNS["servers"], SERVERS),
        *_lines(COLUMNS["clients"] + BOX, COLUMNS["gateway"]),
        *_lines(COLUMNS["gateway"] + BOX, COLUMNS["servers"]),
    )
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' width='{WIDTH}' height='{HEIGHT}'>"
    return "\n".join((head, *parts, "</svg>\n"))


def _boxes(x: int, texts: tuple[str, ...]) -> Iterator[str]:
    for number, text in enumerate(texts):
        y = TOP + ROW * number
        yield f"<rect x='{x}' y='{y}' width='{BOX}' height='40' rx='6' fill='#ffffff' stroke='#1f2933'/>"
        yield _text(x + BOX / 2, y + 25, text, "font-size='13'")


def _gateway() -> Iterator[str]:
    x, height = COLUMNS["gateway"], ROW * 2 + 40
    yield f"<rect x='{x}' y='{TOP}' width='{BOX}' height='{height}' rx='6' fill='#e8eef7' stroke='#1f2933'/>"
    for number, layer in enumerate(LAYERS):
        yield _text(x + BOX / 2, TOP + 28 + number * 36, layer, "font-size='13'")


def _lines(start: int, end: int) -> Iterator[str]:
    for number in range(len(CLIENTS)):
        way = f"M {start} {TOP + 20 + ROW * number} H {end} l -8 -5 m 8 5 l -8 5"
        yield f"<path d='{way}' fill='none' stroke='#1f2933' stroke-width='1.5'/>"


def _text(x: float, y: float, text: str, more: str) -> str:
    return f"<text x='{x:g}' y='{y:g}' {FONT} {more}>{escape(text)}</text>"
