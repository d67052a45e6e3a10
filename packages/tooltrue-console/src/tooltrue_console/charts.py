"""Charts of an hour: bars as plain numbers, which a template writes as SVG. They need no script and no style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["HEIGHT", "WIDTH", "Bar", "HourChart", "chart"]

WIDTH: Final = 60
HEIGHT: Final = 60


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle in the coordinates of the picture, from its upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class HourChart:
    """``name`` is a phrase. ``figure`` is the one number above the bars, and ``most`` the height of the highest bar, as
    text."""

    name: str
    figure: str
    most: str
    bars: Sequence[Bar]

    @property
    def path(self) -> str:
        """All bars as one path of SVG: a page has hundreds of them."""
        return "".join(f"M{bar.x} {bar.y}h{bar.width}v{bar.height}h-{bar.width}z" for bar in self.bars)


def chart(name: str, values: Sequence[float], figure: float, unit: str = "") -> HourChart:
    """Return the chart of ``values``, at most :data:`WIDTH` and none of them negative, side by side; ``figure`` is what
    it says as a whole."""
    most = max(values, default=0.0)
    bars = [
        Bar(place, round(HEIGHT - height, 1), 0.8, height)
        for place, value in enumerate(values)
        if value > 0 and (height := max(1.0, round(HEIGHT * value / most, 1)))
    ]
    return HourChart(name, f"{_text(figure)}{unit}", f"{_text(most)}{unit}", bars)


def _text(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"
