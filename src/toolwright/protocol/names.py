"""Tool names: what the specification allows and every host accepts (2026-07-28, server/tools "Tool Names")."""

from __future__ import annotations

import re

__all__ = ["is_name"]

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None
