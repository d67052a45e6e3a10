"""Bounded JSON Schema: compiled once, asked often, explained when it refuses.

A schema may come from a stranger, so it is surveyed before it is compiled: depth, size, references, patterns, and what
one value could cost. Nothing is ever fetched. ``jsonschema_rs`` alone accepts or refuses; the explanation asks it
again, piece by piece, and decides nothing itself. Formats are asserted: a declared format is a promise.

In reading order: ``dialects``, ``survey``, ``compiled``, then ``search`` for what is wrong and ``words`` for saying it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from toolwright.errors import SchemaError
from toolwright.protocol.schema.compiled import Compiled, compiled
from toolwright.protocol.schema.dialects import dialect_of
from toolwright.protocol.schema.search import search
from toolwright.protocol.schema.survey import FOREIGN, OWN, Bounds, private_copy, survey
from toolwright.protocol.schema.words import Problem, explain

__all__ = ["FOREIGN", "OWN", "Bounds", "Problem", "Schema", "SchemaError", "compile_schema", "explain"]


def compile_schema(definition: Mapping[str, Any], *, bounds: Bounds = FOREIGN, assert_formats: bool = True) -> Schema:
    """The schema, ready to judge. Raises SchemaError, which says what is wrong and where, and nothing else.

    Fetches nothing. ``bounds`` is ``FOREIGN`` unless the author of the program wrote the schema (``OWN``).
    """
    root = private_copy(definition, bounds)
    dialect = dialect_of(root.get("$schema"))
    targets = survey(root, dialect, bounds)
    whole = compiled(root, dialect, targets, bounds, assert_formats)
    return Schema(root, dialect.name, whole.is_valid, whole)


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """A compiled schema. ``definition`` is what is published; it is not to be changed.

    Values nested deeper than about 100 levels must not come here, since the judge recurses natively: the decoder that
    made the value guards that.
    """

    definition: dict[str, Any]
    dialect: str
    _is_valid: Callable[[Any], bool] = field(repr=False)
    _compiled: Compiled = field(repr=False)

    def accepts(self, value: Any) -> bool:
        """Whether ``value`` fits. What is not JSON (bytes, sets, lone surrogates) fits nothing."""
        try:
            return self._is_valid(value)
        except ValueError:
            return False

    def problems(self, value: Any, limit: int = 8) -> tuple[Problem, ...]:
        """Why ``value`` does not fit: at least one problem, at most ``limit``; none when it fits.

        Takes bounded work. Says nothing of the strings in ``value``; its property names appear in paths, cut and clean.
        """
        try:
            if self._is_valid(value):
                return ()
        except ValueError:
            return (Problem("$", "json", "must be JSON"),)
        found = tuple(islice(search(self._compiled, value), max(1, limit)))
        # A format says more than a pattern beside it, which only narrows it.
        formats = {one.path for one in found if one.rule == "format"}
        return tuple(one for one in found if one.rule != "pattern" or one.path not in formats)
