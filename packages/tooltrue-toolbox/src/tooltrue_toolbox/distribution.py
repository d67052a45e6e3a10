"""The name of this distribution, whose extras bring the packages that some families need."""

from __future__ import annotations

__all__ = ["DISTRIBUTION"]

DISTRIBUTION = "tooltrue-toolbox"
