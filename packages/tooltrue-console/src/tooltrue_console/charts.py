"""Charts of an hour: bars as plain numbers, which a template writes as SVG. They need no script and no style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["HEIGHT", "WIDTH", "Bar", "Chart", "chart"]

WIDTH: Final = 240
HEIGHT: Final = 60


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle in the coordinates of the picture, from its upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Chart:
    """``name`` is a phrase. ``figure`` is the one number above the bars, and ``most`` the height of the highest bar, as
    text."""

    name: str
    figure: str
    most: str
    bars: Sequence[Bar]


def chart(name: str, values: Sequence[float], figure: float, unit: str = "") -> Chart:
    """Return the chart of ``values``, none of them negative, side by side; ``figure`` is what it says as a whole."""
    most, step = max(values, default=0.0), WIDTH / max(len(values), 1)
    bars = [
        Bar(round(step * place, 2), round(HEIGHT - height, 2), round(step * 0.8, 2), round(height, 2))
        for place, value in enumerate(values)
        if value > 0 and (height := max(1.0, HEIGHT * value / most))
    ]
    return Chart(name, f"{_text(figure)}{unit}", f"{_text(most)}{unit}", bars)


def _text(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"
