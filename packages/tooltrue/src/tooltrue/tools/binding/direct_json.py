"""Types whose values pydantic writes as JSON in one step, exactly as the JSON of the Python values it makes of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tooltrue.jsonrpc.messages import MAX_DEPTH

if TYPE_CHECKING:  # plain types do not need it
    import pydantic

__all__ = ["direct_writer"]

WriteJson: TypeAlias = Callable[[Any], bytes | None]


def direct_writer(adapter: pydantic.TypeAdapter[Any]) -> WriteJson | None:
    """Return a function that writes a value of this type as JSON; ``None`` for a type that is not known to be exact.

    The function returns ``None`` for a value that it cannot write exactly. It is more generous in one place: an object
    that can be made a number (of numpy, a ``Decimal``), in a field for numbers, is written as that number, where the
    way by Python values fails.
    """
    types = _ExactTypes()
    if not types.is_exact(adapter.core_schema):
        return None
    to_json, has_floats = adapter.serializer.to_json, types.has_floats

    def write(value: Any) -> bytes | None:
        try:
            text = to_json(value, by_alias=True, warnings="error")
        except Exception:  # noqa: BLE001 - the way by Python values has the words for it
            return None
        if (has_floats and b"null" in text) or (b"+" in text and b"e+" in text):
            return None  # NaN has no JSON, and 1e+16 is 1e16 by Python values
        return None if len(text) > _DIGITS and _may_hold_endless_integer(text) else text

    return write


def _may_hold_endless_integer(text: bytes) -> bool:
    """Whether there may be an integer of more than 4,300 digits, which Python does not write."""
    return any(text[at : at + _STEP].isdigit() for at in range(0, len(text), _STEP))


_DIGITS: Final = 4_300
_STEP: Final = _DIGITS // 2
"""So many bytes from some multiple of it are digits in every run of more digits than ``_DIGITS``."""


# Types that pydantic writes in the same way, in Python and as JSON. A generator is not: it can be read only once. A
# dictionary is not: two of its keys may have the same name in JSON.
_EXACT: Final = frozenset(
    {
        "bool",
        "dataclass",
        "dataclass-args",
        "dataclass-field",
        "default",
        "definition-ref",
        "definitions",
        "enum",
        "float",
        "function-after",
        "function-before",
        "int",
        "list",
        "literal",
        "model",
        "model-field",
        "model-fields",
        "none",
        "nullable",
        "str",
        "typed-dict",
        "typed-dict-field",
    }
)
# Keys of a core schema by which a value is written in its own way, or members are left out or added.
_SPECIAL: Final = (
    "serialization",
    "serialization_exclude",
    "serialization_exclude_if",
    "computed_fields",
    "extras_schema",
    "ser_json_inf_nan",
    "polymorphic_serialization",
)


class _ExactTypes:
    """Looks through the core schema of a type."""

    def __init__(self) -> None:
        self._types: set[str] = set()
        self._named: dict[str, Mapping[str, Any]] = {}
        self._depths: dict[str, float] = {}

    @property
    def has_floats(self) -> bool:
        return "float" in self._types

    def is_exact(self, schema: Any) -> bool:
        """Whether all parts are exact, and nested less deeply than a value may be."""
        # NaN is written as null, which cannot be told from the null of another part.
        return self._depth(schema) < MAX_DEPTH and not (self.has_floats and self._types & {"none", "nullable"})

    def _depth(self, node: Any) -> float:
        """Return the number of levels; infinity for a part that is not exact, or that contains itself."""
        self._types.add(node["type"])
        if node["type"] not in _EXACT or _is_special(node) or _is_special(node.get("config", {})):
            return math.inf
        if not all(isinstance(member.value, str | int) for member in node.get("members", ())):
            return math.inf  # an enumeration of floats, or of values of any type
        if node["type"] == "definition-ref":
            return self._depth_of(node["schema_ref"])
        self._named |= {definition["ref"]: definition for definition in node.get("definitions", ())}
        fields = _fields(node)
        inner = [*(field for _, field in fields), *(node[key] for key in ("schema", "items_schema") if key in node)]
        if len({name for name, _ in fields}) < len(fields) or (node["type"] == "list" and not inner):
            return math.inf  # a name twice, or items of any type
        return 1 + max(map(self._depth, inner), default=0)

    def _depth_of(self, name: str) -> float:
        if name not in self._depths:
            self._depths[name] = math.inf  # while it is looked through: it may contain itself
            self._depths[name] = self._depth(self._named[name])
        return self._depths[name]


def _is_special(part: Mapping[str, Any]) -> bool:
    return any(map(part.get, _SPECIAL)) or "allow" in (part.get("extra_behavior"), part.get("extra_fields_behavior"))


def _fields(node: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the fields of a node, each with its name in JSON. Those of a dataclass are in a node below it."""
    if node["type"] in ("model-fields", "typed-dict"):
        named = [*node["fields"].items()]
    elif node["type"] == "dataclass-args":
        named = [(field["name"], field) for field in node["fields"]]
    else:
        named = []
    return [(field.get("serialization_alias", name), field) for name, field in named]
