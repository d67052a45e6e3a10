"""Lists of words for the rules, as data: ``word_lists.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

__all__ = ["word_list"]

_LISTS: Final = tomllib.loads(Path(__file__).with_name("word_lists.toml").read_text("utf-8"))


def word_list(name: str) -> tuple[str, ...]:
    """The words of a list, in order."""
    return tuple(_LISTS[name])
