"""Reads docstrings: descriptions of a function and its parameters (Google, NumPy, Sphinx styles). Owns
docstring-parser.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping

__all__ = ["read_docstring"]


def read_docstring(text: str | None) -> tuple[str | None, Mapping[str, str]]:
    """Return the description without its sections for parameters, and each parameter's own description, on one line."""
    if not text:
        return None, {}
    clean = inspect.cleandoc(text)
    if "\n" not in clean:
        return clean or None, {}
    import docstring_parser  # noqa: PLC0415 - most docstrings of tools are one line

    parsed = docstring_parser.parse(clean)
    parameters = {
        parameter.arg_name.lstrip("*"): " ".join(parameter.description.split())
        for parameter in parsed.params
        if parameter.description
    }
    description = parsed.description if parsed.meta else clean
    return (description or "").strip() or None, parameters
