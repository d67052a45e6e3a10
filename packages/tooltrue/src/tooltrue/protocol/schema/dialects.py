"""The two dialects, 2020-12 (also the default) and draft-07, and the keywords that hold subschemas."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn, cast

from tooltrue.errors import SchemaError
from tooltrue.protocol.schema.words import Node, Path, kind, printable
from tooltrue.protocol.types import Value
from tooltrue.protocol.wording import SCHEMA_DIALECT_NOT_SUPPORTED

HERE: Final = "here"  # applied to the value itself
THERE: Final = "there"  # applied to a part of the value
_ASIDE: Final = "aside"  # applied only through a reference

_SHARED: Final = {
    "allOf": HERE,
    "anyOf": HERE,
    "oneOf": HERE,
    "not": HERE,
    "if": HERE,
    "then": HERE,
    "else": HERE,
    "dependencies": HERE,  # not in 2020-12, but the validator applies it nevertheless
    "properties": THERE,
    "patternProperties": THERE,
    "additionalProperties": THERE,
    "propertyNames": THERE,
    "items": THERE,
    "contains": THERE,
    "definitions": _ASIDE,
    "$defs": _ASIDE,
}
_ONLY_2020_12: Final = {
    "dependentSchemas": HERE,
    "prefixItems": THERE,
    "unevaluatedItems": THERE,
    "unevaluatedProperties": THERE,
    "contentSchema": _ASIDE,
}
_ONLY_DRAFT_07: Final = {"additionalItems": THERE}
_MAPS: Final = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependencies", "definitions", "$defs"}
)


class Dialect(Value, frozen=True):
    name: str
    applicators: Mapping[str, str]
    ignored: frozenset[str]  # keywords that only the other dialect has
    ref_stands_alone: bool  # draft-07 §8.3: siblings of a $ref are ignored


_DRAFT_2020_12: Final = Dialect("2020-12", _SHARED | _ONLY_2020_12, frozenset(_ONLY_DRAFT_07), False)
_DRAFT_07: Final = Dialect(
    "draft-07",
    _SHARED | _ONLY_DRAFT_07,
    frozenset({*_ONLY_2020_12, "$dynamicRef", "dependentRequired", "minContains", "maxContains"}),
    True,
)
APPLICATORS: Final = frozenset(_SHARED | _ONLY_2020_12 | _ONLY_DRAFT_07)
"""The keywords that hold subschemas, in either dialect."""
_DIALECTS: Final = {
    "json-schema.org/draft/2020-12/schema": _DRAFT_2020_12,
    "json-schema.org/draft-07/schema": _DRAFT_07,
}
_SUPPORTED: Final = "https://json-schema.org/draft/2020-12/schema, http://json-schema.org/draft-07/schema#"


def dialect_of(declared: Any) -> Dialect:
    """The dialect that ``$schema`` names, with http or https, with or without the empty fragment."""
    if declared is None:
        return _DRAFT_2020_12
    text = declared if isinstance(declared, str) else kind(declared)
    dialect = _DIALECTS.get(re.sub(r"^https?://|#$", "", text))
    if dialect is None:
        refuse(SCHEMA_DIALECT_NOT_SUPPORTED, dialect=printable(text), supported=_SUPPORTED)
    return dialect


def subschemas(keyword: str, value: Any) -> Iterator[tuple[Path, Any]]:
    """The subschemas in a keyword's value, with the steps to them. Malformed ones are left to the meta-schema."""
    if keyword in _MAPS:
        for name, child in cast("Node", value).items() if isinstance(value, dict) else ():
            if isinstance(child, (dict, bool)):
                yield (keyword, name), child
    elif isinstance(value, list):
        for index, child in enumerate(cast("list[Any]", value)):
            if isinstance(child, (dict, bool)):
                yield (keyword, index), child
    elif isinstance(value, (dict, bool)):
        yield (keyword,), value


def refuse(code: str, **facts: Any) -> NoReturn:
    raise SchemaError.of(code, **facts)
