"""The names of what confines or limits a program. A module of its own, which a supervisor loads quickly."""

from __future__ import annotations

from typing import Literal

__all__ = ["HOLDS", "LimitedBy"]

HOLDS = ("landlock", "seccomp", "namespaces")
"""The mechanisms that confine a program where the machine has them."""

LimitedBy = Literal["process group", "job object"]
"""A mechanism that ends a program, and bounds its use of the machine, on a system that confines no program."""
