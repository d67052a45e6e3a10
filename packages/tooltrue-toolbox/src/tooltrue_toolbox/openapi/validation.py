"""Judges the form of a description by the schemas of OpenAPI. Owner of ``openapi-spec-validator``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from openapi_spec_validator import (
    OpenAPIV2SpecValidator,
    OpenAPIV30SpecValidator,
    OpenAPIV31SpecValidator,
    OpenAPIV32SpecValidator,
)

__all__ = ["first_problem"]

_VALIDATORS: Final[Mapping[str, Any]] = {
    "2.0": OpenAPIV2SpecValidator,
    "3.0": OpenAPIV30SpecValidator,
    "3.1": OpenAPIV31SpecValidator,
    "3.2": OpenAPIV32SpecValidator,
}
_LONGEST: Final = 300


def first_problem(root: Mapping[str, Any], version: str) -> tuple[str, str] | None:
    """The place of the first problem and its text; ``None`` if the document is a description of this version.

    Judges the document alone and follows none of its references.
    """
    errors = _VALIDATORS[version].schema_validator.iter_errors(root)
    error = next(iter(errors), None)
    if error is None:
        return None
    place = "/".join(("#", *(str(part).replace("~", "~0").replace("/", "~1") for part in error.path)))
    text = str(error.message)
    return place[:_LONGEST], text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
