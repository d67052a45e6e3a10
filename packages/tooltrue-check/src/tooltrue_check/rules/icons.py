"""Icons that a client will not show, or should not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue_check.findings import Problem
from tooltrue_check.runtime_checks import suspicions
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_SIZE: Final = re.compile(r"[1-9]\d{0,4}x[1-9]\d{0,4}|any")


def problems(tool: Subject) -> Iterator[Problem]:
    yield from suspicions(tool, "icons")
    icons = tool.definition.get("icons")
    for index, icon in enumerate(icons if is_array(icons) else ()):
        for field, kind in _strange(icon) if is_object(icon) else ():
            yield Problem(("icons", index, field), {"field": field, "kind": kind})


def _strange(icon: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    sizes = icon.get("sizes", [])
    if not is_array(sizes) or not all(isinstance(size, str) and _SIZE.fullmatch(size) for size in sizes):
        yield "sizes", '["48x48"], ["any"]'
    if icon.get("theme", "light") not in ("light", "dark"):
        yield "theme", '"light", "dark"'
    if not str(icon.get("mimeType", "image/")).startswith("image/"):
        yield "mimeType", '"image/png"'
