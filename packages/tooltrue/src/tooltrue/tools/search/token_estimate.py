"""Estimates of token counts from characters: no tokenizer, no network, the same everywhere.

Tokenizers of models differ; this is one figure for all of them. Its error is documented in docs/portability.md.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["estimated"]

_WIDE: Final = "\u2e80-\u9fff\uac00-\ud7af\uf900-\uffef"
_PARTS: Final = (
    (re.compile(r"[A-Za-z]{1,8}"), 1.0),  # most words are one token, with the blank before them
    (re.compile(r"[0-9]"), 0.5),
    (re.compile(r"[!-/:-@\[-`{-~]+"), 0.9),  # adjacent JSON punctuation is one token
    (re.compile(f"[{_WIDE}]"), 0.7),
    (re.compile(f"[^\\x00-\\x7f{_WIDE}]"), 0.8),
)


def estimated(text: str) -> int:
    """The approximate number of tokens in ``text``."""
    if text.isascii():
        return round(sum(weight * len(part.findall(text)) for part, weight in _PARTS[:3]))
    return round(sum(weight * len(part.findall(text)) for part, weight in _PARTS))
