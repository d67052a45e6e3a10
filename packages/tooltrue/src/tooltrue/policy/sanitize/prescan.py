"""A single-pass scan of encoded bytes, which tells whether a walk through the value is worthwhile."""

from __future__ import annotations

from typing import NamedTuple

from tooltrue.policy.sanitize import one_pass
from tooltrue.policy.sanitize.byte_classes import RUN, classes_of
from tooltrue.policy.sanitize.personal_data import may_hold
from tooltrue.policy.sanitize.secret_patterns import SecretPattern
from tooltrue.policy.sanitize.secrets import SHORTEST, SIGNS, is_plain, suspects
from tooltrue.protocol.characters import ESCAPE, may_hide
from tooltrue.protocol.types import Value

__all__ = ["CLEAN", "PrescanResult", "Wants", "prescan", "suspected"]


class PrescanResult(Value, frozen=True):
    """Possible findings in the bytes: hidden characters, and secrets of these patterns. False if there are none.

    ``masks``: secrets are searched, even those that come together when hidden characters are taken out. ``personal``:
    so is personal data.
    """

    hidden: bool = False
    patterns: tuple[SecretPattern, ...] = ()
    masks: bool = False
    personal: bool = False

    def __bool__(self) -> bool:
        return self.hidden or bool(self.patterns) or self.personal


CLEAN = PrescanResult()
_LONG = 1_000
_SHORT = 40
"""Secrets that are known by a word, without a colon, are longer."""


def suspected(data: bytes) -> tuple[SecretPattern, ...]:
    """Return the patterns of secrets that may be in ``data``, even if it hides characters."""
    return suspects(data, classes_of(data))


class Wants(NamedTuple):
    """The searches besides the one for hidden characters."""

    secrets: bool
    personal: bool = False


def prescan(data: bytes, secrets: bool, personal: bool = False) -> PrescanResult:
    """Scan ``data``: text as UTF-8, plain or within JSON. ``secrets`` and ``personal`` tell whether to search for
    those.

    Clean data takes a single pass.
    """
    size = len(data)
    if size < _LONG and not personal:
        signs = data.translate(SIGNS).decode("ascii")
        is_ordinary = "!" not in signs and RUN not in signs
        if is_ordinary and ((size < _SHORT and ":" not in signs) or is_plain(data, signs)):
            return CLEAN
    elif secrets and not personal and one_pass.is_installed() and one_pass.rules_out(data):
        return CLEAN
    byte_classes = classes_of(data)
    hidden = ("!" in byte_classes or (b"\r" in data and data.count(b"\r") != data.count(b"\r\n"))) and may_hide(
        data.decode()
    )
    hidden = hidden or ("\\" in byte_classes and ESCAPE.compiled.search(data) is not None)
    patterns = suspects(data, byte_classes) if secrets and len(data) >= SHORTEST else ()
    is_suspect = hidden or patterns or (personal and may_hold(data))
    return PrescanResult(hidden, patterns, secrets, personal) if is_suspect else CLEAN
