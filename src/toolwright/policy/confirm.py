"""A person decides. Questions come with the guard; until then an ``Ask`` is refused where the arguments are authorized,
so nothing that reaches this layer needs one. The seam is its place: above what is counted, below what is refused."""

from __future__ import annotations

from toolwright.tools.toolset import Layer, Provider

__all__ = ["confirm"]


def confirm(inner: Provider) -> Provider:
    return Layer(inner)
