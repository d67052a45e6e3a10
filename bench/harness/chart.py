"""The ratios as a picture: a bar for each side of each row, on a scale on which twice as quick is always as far."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot

from harness.report import OURS, Figures

_COLOURS = {OURS: "#c2410c", "limit": "#a8a29e"}
_OTHERS = ("#1d4ed8", "#60a5fa", "#0f766e", "#7c3aed", "#0891b2", "#65a30d", "#be185d", "#ca8a04")


def draw(all_figures: Sequence[Figures], names: Mapping[str, str], file: Path) -> None:
    """How much better each side is than the base, so that longer is better in every row."""
    rows = [one for one in all_figures if one.has(one.base)]
    sides = [key for key in names if any(one.has(key) for one in rows)]
    colours = _COLOURS | dict(zip((key for key in sides if key not in _COLOURS), _OTHERS, strict=False))
    mpl.rcParams["svg.hashsalt"] = "tooltrue"  # the same figures are the same file
    figure, axes = pyplot.subplots(figsize=(9, 0.6 + len(rows) * (0.3 + 0.13 * len(sides))), layout="constrained")
    width = 0.8 / len(sides)
    for place, key in enumerate(sides):
        bars = [(number, _better(one, key)) for number, one in enumerate(rows) if one.has(key)]
        at = [number + width * (place - (len(sides) - 1) / 2) for number, _ in bars]
        axes.barh(at, [ratio for _, ratio in bars], height=width, label=names[key], color=colours[key])
    axes.set_xscale("log")
    axes.axvline(1, color="#444", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [one.row.title.replace("`", "") for one in rows])
    axes.invert_yaxis()
    axes.set_xlabel("times as good as the base (a logarithmic scale)")
    axes.legend(fontsize="small", loc="lower right")
    figure.savefig(file, format="svg", metadata={"Date": None})
    pyplot.close(figure)


def _better(figures: Figures, side: str) -> float:
    ratio = figures.ratio(side, figures.base) or 1.0
    return ratio if figures.row.more_is_better else 1 / ratio
