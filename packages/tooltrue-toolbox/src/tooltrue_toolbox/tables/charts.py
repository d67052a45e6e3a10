"""Owner of ``matplotlib``: points to a picture, by its objects alone, without a window or global state."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Sequence
from typing import Any, Literal

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

__all__ = ["draw"]

LABEL = 24
"""Characters of a label below the axis."""

_FONTS = ("Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Zen Hei", "PingFang SC", "Microsoft YaHei", "SimHei")

# A font that lacks a character draws a box; that is not worth an entry in the log of a server.
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)


def draw(
    points: Sequence[tuple[str, float]], *, kind: Literal["bar", "line"], title: str, horizontal: str, vertical: str
) -> bytes:
    """A PNG of 1,000 by 600 pixels. Texts are drawn literally: dollar signs do not start a formula."""
    figure = Figure(figsize=(10, 6), dpi=100, layout="constrained")
    axes: Any = figure.add_subplot()  # matplotlib types its methods in part only
    places = list(range(len(points)))
    heights = [height for _, height in points]
    if kind == "bar":
        axes.bar(places, heights)
    else:
        axes.plot(places, heights, marker="." if len(points) <= 60 else "")
    ticks = places[:: max(1, len(places) // 30)]
    labels = [_brief(points[place][0], LABEL) for place in ticks]
    fonts = {font.name for font in fontManager.ttflist}
    turned = {"rotation": 45, "ha": "right"} if len(ticks) > 6 else {}
    axes.set_xticks(ticks, labels, **turned)
    axes.set_title(_brief(title, 100))
    axes.set_xlabel(_brief(horizontal, 60))
    axes.set_ylabel(_brief(vertical, 60))
    for text in (*axes.get_xticklabels(), axes.title, axes.xaxis.label, axes.yaxis.label):
        text.set_parse_math(False)
        text.set_fontfamily([*(name for name in _FONTS if name in fonts), "DejaVu Sans"])
    axes.grid(axis="y", alpha=0.3)
    picture = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        canvas: Any = FigureCanvasAgg(figure)
        canvas.print_png(picture)
    return picture.getvalue()


def _brief(text: str, most: int) -> str:
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= most else f"{text[: most - 1]}…"
