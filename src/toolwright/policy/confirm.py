"""A person decides. Lets everything pass: questions come with the guard; the seam is that nothing below is reached
before an ``Ask`` has been answered, and that human time is not counted."""

from __future__ import annotations

from toolwright.tools.toolset import Layer, Provider

__all__ = ["confirm"]


def confirm(inner: Provider) -> Provider:
    return Layer(inner)
