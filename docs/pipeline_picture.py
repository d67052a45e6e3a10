"""Draws the picture of `concepts.md`: the layers of a call, outermost first, from the pipeline itself."""

from collections.abc import Iterator
from xml.sax.saxutils import escape

from tooltrue.policy.pipeline import STAGES

__all__ = ["LANGUAGES", "picture"]

LANGUAGES = {
    "en": {
        "client": "client: a model and its user",
        "call": "call",
        "result": "result",
        "tool": "toolset: your functions, other servers",
        "audit": "records and reports",
        "abuse": "refuses, or corrects",
        "confirm": "asks a person",
        "concurrency": "bounds the run",
        "store_results": "checks and cleans the result",
    },
    "zh": {
        "client": "客户端：模型与用户",
        "call": "调用",
        "result": "结果",
        "tool": "工具集：您的函数、其他服务器",
        "audit": "记录与报告",
        "abuse": "拒绝或更正",
        "confirm": "询问人",
        "concurrency": "约束运行",
        "store_results": "检查并清理结果",
    },
}
"""The words of the picture. A layer that is named here begins a band, up to the next one."""

COLOURS = {
    "audit": "#e8eef7",
    "abuse": "#fbe9e7",
    "confirm": "#fff3d6",
    "concurrency": "#e6f4ea",
    "store_results": "#f1e8f7",
}
ROW, TOP, LEFT, WIDTH, BOX = 24, 64, 90, 640, 460
FONT = "font-family='system-ui, sans-serif' fill='#1f2933'"


def picture(language: str = "en") -> str:
    words = LANGUAGES[language]
    end = TOP + ROW * len(STAGES)
    parts = [
        f"<rect width='{WIDTH}' height='{end + 64}' fill='#ffffff'/>",
        _box(12, words["client"]),
        *_bands(words),
        *(_row(number, stage.name) for number, stage in enumerate(STAGES)),
        _box(end + 14, words["tool"]),
        _arrow(LEFT - 30, 34, end + 30, words["call"]),
        _arrow(LEFT + BOX + 30, end + 30, 34, words["result"]),
    ]
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {end + 64}' width='{WIDTH}' height='{end + 64}'>"
    )
    return "\n".join((head, *parts, "</svg>\n"))


def _bands(words: dict[str, str]) -> Iterator[str]:
    starts = [number for number, stage in enumerate(STAGES) if stage.name in COLOURS]
    for start, stop in zip(starts, (*starts[1:], len(STAGES)), strict=True):
        name = STAGES[start].name
        y, height = TOP + ROW * start, ROW * (stop - start)
        yield f"<rect x='{LEFT}' y='{y}' width='{BOX}' height='{height}' fill='{COLOURS[name]}' stroke='#9aa5b1'/>"
        yield _text(
            LEFT + BOX - 12, y + height / 2 + 5, words[name], "text-anchor='end' font-size='14' font-weight='600'"
        )


def _row(number: int, name: str) -> str:
    return _text(LEFT + 14, TOP + ROW * number + 17, name, "font-size='13' style='font-family: monospace'")


def _box(y: int, text: str) -> str:
    box = f"<rect x='{LEFT}' y='{y}' width='{BOX}' height='36' rx='6' fill='#ffffff' stroke='#1f2933'/>"
    return box + _text(LEFT + BOX / 2, y + 23, text, "text-anchor='middle' font-size='14'")


def _arrow(x: int, start: int, end: int, text: str) -> str:
    """A line from `start` to `end` with a head, and its word beside it."""
    back = -8 if end > start else 8
    way = f"M {x} {start} V {end} l -5 {back} m 5 {-back} l 5 {back}"
    line = f"<path d='{way}' fill='none' stroke='#1f2933' stroke-width='1.5'/>"
    return line + _text(x, min(start, end) - 10, text, "text-anchor='middle' font-size='13'")


def _text(x: float, y: float, text: str, more: str) -> str:
    return f"<text x='{x:g}' y='{y:g}' {FONT} {more}>{escape(text)}</text>"
