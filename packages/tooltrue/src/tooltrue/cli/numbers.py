"""Numeric options that refuse ``nan`` and ``inf``, which Python also parses as numbers."""

from __future__ import annotations

import math
from typing import Any

import click

from tooltrue.cli.usage import usage_text

__all__ = ["SECONDS", "Finite"]


class Finite(click.FloatRange):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(usage_text("{value!r} is no number that can be counted with.").format(value=value), param, ctx)
        return number


SECONDS = Finite(0, min_open=True)
"""A timeout in seconds, above 0."""
