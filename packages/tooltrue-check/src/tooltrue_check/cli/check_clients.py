"""``tooltrue check --for``: selection of clients and providers, and formats of their matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tooltrue.contract.profile import Profile, profile, profile_names
from tooltrue_check.portability import matrix
from tooltrue_check.reports import matrix_data, matrix_html, matrix_text

__all__ = ["FORMATS", "matrix", "profiles_of"]

FORMATS: Final[Mapping[str, Callable[..., str]]] = {
    "text": matrix_text.render,
    "json": matrix_data.render,
    "html": matrix_html.render,
}


def profiles_of(names: str) -> tuple[Profile, ...]:
    """The profiles of these comma-separated names, each once; all profiles for ``all``. ``ConfigurationError`` with the
    known names if there is no such profile."""
    selection = profile_names() if names.strip() == "all" else dict.fromkeys(name.strip() for name in names.split(","))
    return tuple(profile(name) for name in selection)
