"""Slices of longer texts: a secret that begins or ends outside of one is masked as far as it lies in it."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from toolwright.policy.blobs import encoding_of
from toolwright.policy.secrets import masked_slice
from toolwright.tools.toolset import Slice

__all__ = ["cut_secrets"]


def cut_secrets(slices: Sequence[Slice], found: list[str]) -> dict[str, str]:
    """For each text of a result that holds a part of a secret, what is shown in its place; ``found`` gets the masks."""
    cleaned = dict[str, str]()
    for one in slices:
        if (clean := _clean(one, found)) != one.shown:
            text = one.within or one.shown
            cleaned[text] = cleaned.get(text, text).replace(one.shown, clean, 1)
    return cleaned


def _clean(one: Slice, found: list[str]) -> str:
    if one.encoding is not None:
        before, behind = (part.decode(one.encoding, "replace") for part in (one.before, one.behind))
        start = len(before)
        return masked_slice(before + one.shown + behind, start, start + len(one.shown), found)
    return _clean_base64(one, found)


def _clean_base64(one: Slice, found: list[str]) -> str:
    # UTF-8 is read byte by byte, so that a slice may begin and end within a letter.
    encoding, width = ("latin-1", 1) if encoding_of(one.before + one.data) == "utf-8" else ("utf-16-le", 2)
    whole = (one.before + one.data + one.behind).decode(encoding, "replace")
    start, end = len(one.before) // width, -(-(len(one.before) + len(one.data)) // width)
    clean = masked_slice(whole, start, end, found)
    if clean == whole[start:end]:
        return one.shown
    return base64.b64encode(clean.encode(encoding, "replace")).decode()
