"""Bounded JSON Schema validation: compiled once, used often, with explanations of refusals.

A schema may be untrusted, so it is surveyed before it is compiled: depth, size, references, patterns, and the cost of
validating one value. Schemas are never fetched. Only ``jsonschema_rs`` accepts or refuses; the explanation calls it
again for parts of the value and decides nothing itself. Formats are asserted: a declared format is a promise.

In reading order: ``dialects``, ``survey``, ``validator``, then ``search`` for the problems and ``words`` for their
text. ``text_types`` recognizes valid JSON text.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from tooltrue.errors import SchemaError
from tooltrue.protocol.schema.dialects import dialect_of
from tooltrue.protocol.schema.survey import FOREIGN, OWN, SchemaBounds, private_copy, survey
from tooltrue.protocol.schema.validator import Compiled, compiled
from tooltrue.protocol.schema.wording import PROBLEM_NOT_JSON
from tooltrue.protocol.schema.words import ProblemClauses, ProblemLines, SchemaProblem, explain
from tooltrue.wording import Worded

if TYPE_CHECKING:  # loaded at the first use
    from tooltrue.protocol.schema.text_types import TextTypes

__all__ = [
    "FOREIGN",
    "OWN",
    "ProblemClauses",
    "ProblemLines",
    "Schema",
    "SchemaBounds",
    "SchemaError",
    "SchemaProblem",
    "compile_schema",
    "explain",
    "sound_schema",
]


def compile_schema(
    definition: Mapping[str, Any], *, bounds: SchemaBounds = FOREIGN, assert_formats: bool = True
) -> Schema:
    """Compile a schema. Raises SchemaError, and no other exception, with the problem and its location.

    Fetches no references. ``bounds`` is ``FOREIGN`` unless the author of the program wrote the schema (``OWN``).
    """
    root = private_copy(definition, bounds)
    dialect = dialect_of(root.get("$schema"))
    targets = survey(root, dialect, bounds)
    whole = compiled(root, dialect, targets, bounds, assert_formats)
    return Schema(root, dialect.name, whole)


def sound_schema(definition: dict[str, Any]) -> Schema:
    """A schema of our own making, within the bounds ``OWN`` and of the newest dialect, which is sure to compile: it is
    compiled at its first use.
    """
    return Schema(definition, dialect_of(None).name, None)


class Schema:
    """A compiled schema. ``definition`` is the published schema; it must not be changed.

    Values nested deeper than about 100 levels must not be passed, because the validator recurses natively: the decoder
    that created the value enforces the limit.
    """

    __slots__ = ("_is_valid", "_texts", "_whole", "definition", "dialect")

    def __init__(self, definition: dict[str, Any], dialect: str, whole: Compiled | None) -> None:
        self.definition = definition
        self.dialect = dialect
        self._whole = whole
        self._is_valid = None if whole is None else whole.is_valid
        self._texts: TextTypes | None = None

    def _compiled(self) -> Compiled:
        if self._whole is None:
            self._whole = compile_schema(self.definition, bounds=OWN)._compiled()
            self._is_valid = self._whole.is_valid
        return self._whole

    def accepts(self, value: Any) -> bool:
        """Whether ``value`` is valid. Values outside JSON (bytes, sets, lone surrogates) are never valid."""
        try:
            return (self._is_valid or self._compiled().is_valid)(value)
        except ValueError:
            return False

    def recognizes(self, text: bytes) -> bool:
        """Whether a value, given as its JSON, is surely valid. ``False`` leaves the decision to :meth:`accepts`."""
        return (self._texts or self._text_types()).accept(text)

    @property
    def reads_text(self) -> bool:
        """Whether :meth:`recognizes` may be true for some text."""
        return (self._texts or self._text_types()).decode is not None

    def _text_types(self) -> TextTypes:
        from tooltrue.protocol.schema.text_types import TextTypes  # noqa: PLC0415 - many results have no schema

        self._texts = TextTypes(self.definition)
        return self._texts

    def problems(self, value: Any, limit: int = 8) -> tuple[SchemaProblem, ...]:
        """The problems of ``value``: an empty tuple if it is valid, otherwise between one and ``limit``.

        Takes bounded work. Strings in ``value`` are never repeated; its property names appear in paths, cut and
        cleaned.
        """
        from tooltrue.protocol.schema.search import search  # noqa: PLC0415 - most values are valid

        try:
            if self._compiled().is_valid(value):
                return ()
        except ValueError:
            return (SchemaProblem("$", "json", Worded(PROBLEM_NOT_JSON, {})),)
        problems = tuple(islice(search(self._compiled(), value), max(1, limit)))
        # A failed format explains more than a pattern on the same value, which only narrows it.
        formats = {one.path for one in problems if one.rule == "format"}
        return tuple(one for one in problems if one.rule != "pattern" or one.path not in formats)
