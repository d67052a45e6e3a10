"""An unknown dialect of JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tooltrue.errors import SchemaError
from tooltrue.jsonrpc.messages import is_object
from tooltrue.protocol.schema.dialects import dialect_of
from tooltrue_check.card import Level
from tooltrue_check.findings import Fix, Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_SPELT: Final = {
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft-07": "http://json-schema.org/draft-07/schema#",
}
_SUPPORTED: Final = ", ".join(_SPELT.values())
_OTHERS: Final = re.compile(r"draft[-/](?:0[3-6]|2019-09)\b")


def problems(tool: Subject) -> Iterator[Problem]:
    for field in ("inputSchema", "outputSchema"):
        schema = tool.definition.get(field)
        if is_object(schema) and "$schema" in schema:
            yield from _problems((field, "$schema"), schema["$schema"])


def _problems(path: tuple[str, str], identifier: object) -> Iterator[Problem]:
    try:
        dialect_of(identifier)
    except SchemaError:
        text = str(identifier)
        correction = next((address for name, address in _SPELT.items() if name in text), None)
        fix = Fix(path, correction) if correction else None
        level = Level.WARNING if _OTHERS.search(text) else None  # it exists, but not every client knows it
        yield Problem(path, {"said": text[:80], "supported": _SUPPORTED}, level, fix)
