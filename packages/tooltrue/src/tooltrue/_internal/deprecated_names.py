"""The warning of a public name that a later release removes. CONTRIBUTING.md has the policy."""

from __future__ import annotations

import warnings

from tooltrue.wording import NAME_DEPRECATED, coded_sentence

__all__ = ["warn_of"]


def warn_of(name: str, since: str, instead: str) -> None:
    """Warn the code that uses ``name`` of a module, from within ``__getattr__`` of that module.

    ``since`` is the release that deprecated the name, ``instead`` the name that replaces it.
    """
    facts = {"name": name, "since": since, "instead": instead}
    warnings.warn(coded_sentence(NAME_DEPRECATED, "en", facts), DeprecationWarning, stacklevel=3)
