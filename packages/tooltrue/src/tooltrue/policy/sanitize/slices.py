"""Slices of longer texts: a secret that begins or ends outside of one is masked as far as it lies in it."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tooltrue.policy.sanitize.secrets import SecretCut, cuts
from tooltrue.tools.vocabulary import Slice

__all__ = ["cut_secrets"]


def cut_secrets(slices: Sequence[Slice], mask_names: list[str]) -> dict[str, str]:
    """Return the text to show in place of each text of a result that holds a part of a secret; ``mask_names``
    receives the masks.

    A result does not distinguish two pieces of the same text. The text is therefore masked wherever it stands, with the
    masks of each of the slices.
    """
    cleaned, masks = dict[str, str](), defaultdict[str, list[SecretCut]](list)
    for one in slices:
        if one.encoding is None:
            if (clean := _clean_base64(one, mask_names)) != one.excerpt:
                cleaned[one.excerpt] = clean
        elif one.excerpt and (own := _cuts(one, one.encoding, mask_names)):
            text = one.within or one.excerpt
            masks[text] += [
                SecretCut(at + cut.start, at + cut.end, cut.mask) for at in _places(one.excerpt, text) for cut in own
            ]
    return cleaned | {text: _masked(text, own) for text, own in masks.items()}


def _cuts(one: Slice, encoding: str, mask_names: list[str]) -> list[SecretCut]:
    before, behind = (part.decode(encoding, "replace") for part in (one.before, one.behind))
    start = len(before)
    return cuts(before + one.excerpt + behind, start, start + len(one.excerpt), mask_names)


def _places(piece: str, text: str) -> Iterator[int]:
    """Yield the positions of ``piece`` in ``text``, even if they overlap."""
    at = text.find(piece)
    while at >= 0:
        yield at
        at = text.find(piece, at + 1)


def _masked(text: str, own: Iterable[SecretCut]) -> str:
    """Replace each cut of ``text`` by its mask; cuts that overlap have the mask of the first."""
    pieces, at = list[str](), 0
    for cut in sorted(own):
        if cut.start >= at:
            pieces += (text[at : cut.start], cut.mask)
        at = max(at, cut.end)
    return "".join((*pieces, text[at:]))


def _clean_base64(one: Slice, mask_names: list[str]) -> str:
    # Byte by byte first, so that a slice may begin and end within a letter, and so that a mark of UTF-16 before other
    # bytes cannot hide them.
    for encoding, width in (("latin-1", 1), ("utf-16-le", 2), ("utf-16-be", 2)):
        whole = (one.before + one.data + one.behind).decode(encoding, "replace")
        start, end = len(one.before) // width, -(-(len(one.before) + len(one.data)) // width)
        if own := cuts(whole, start, end, mask_names):
            return base64.b64encode(_masked(whole[start:end], own).encode(encoding, "replace")).decode()
    return one.excerpt
