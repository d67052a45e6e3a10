"""What happened, one record an operation. Lets everything pass: records come with the guard; the seam is that it stands
outermost, so that refusals are seen too."""

from __future__ import annotations

from toolwright.tools.toolset import Layer, Provider

__all__ = ["audit"]


def audit(inner: Provider) -> Provider:
    return Layer(inner)
