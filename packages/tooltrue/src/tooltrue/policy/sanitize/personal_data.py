"""Personal data in results, for servers that ask for it: e-mail addresses, phone, card and Chinese resident id numbers.

A number counts if its check digits hold, or if it is written as such numbers are. Names and places are not found.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Final

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.policy.sanitize.secrets import fingerprint

__all__ = ["mask_personal", "may_hold"]

_MAY_HOLD: Final = LazyPattern(rb"@|[0-9](?:[ ().-]{0,3}[0-9]){7}")

# File extensions, and top-level names that only machines have, in the place of an address's domain.
_NO_DOMAINS: Final = (
    r"(?:c|cc|cpp|css|gif|go|gz|h|html?|ini|internal|invalid|java|jpe?g|js|json|jsx|lan|local|localdomain|localhost|lock"
    r"|log|map|md|mjs|mount|path|pdf|php|png|py|rb|rs|scope|service|sh|slice|so|socket|sql|svg|swap|target|tar|test|tgz"
    r"|timer|toml|ts|tsx|txt|vue|webp|whl|xml|ya?ml|zip|example)"
)
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL: Final = (
    r"(?<![A-Za-z0-9_.%+/-])(?!git@)[A-Za-z0-9_%+-][A-Za-z0-9_.%+-]{0,63}+@"
    rf"(?!(?:{_LABEL}\.){{0,8}}example\.(?:com|net|org|co\.[a-z]{{2}})\b)"
    rf"(?:{_LABEL}\.){{1,8}}(?!{_NO_DOMAINS}(?![A-Za-z0-9-]))[A-Za-z]{{2,24}}(?![A-Za-z0-9_-]|\.[A-Za-z0-9])"
)
_BEFORE: Final = r"(?<![0-9A-Za-z_.,/#=&-])"
_AFTER: Final = r"(?![0-9A-Za-z_/-]|[.,][0-9])"
_CARD: Final = (
    _BEFORE
    + r"(?:[0-9]{13,19}|[0-9]{4}(?:[ -][0-9]{4}){3}(?:[ -][0-9]{3})?|3[47][0-9]{2}[ -][0-9]{6}[ -][0-9]{5})"
    + _AFTER
)
_RESIDENT: Final = _BEFORE + (
    r"[1-9][0-9]{5}(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx]" + _AFTER
)
_PHONE: Final = (
    r"(?<![0-9A-Za-z_.,/#=&+-])(?:"
    r"(?:\+|00)[1-9][0-9]{0,2}(?:[ .-]?\(?[0-9]{2,5}\)?){2,5}"
    r"|1[3-9][0-9]([ -]?)[0-9]{4}\1[0-9]{4}"
    r"|0[0-9]{2,3}-[0-9]{7,8}"
    r"|\([2-9][0-9]{2}\) ?[0-9]{3}-[0-9]{4}|[2-9][0-9]{2}-[0-9]{3}-[0-9]{4}"
    r")" + _AFTER
)
_ISSUERS: Final = LazyPattern(
    r"4(?:.{12}|.{15}|.{18})|(?:5[1-5]|2[2-7]).{14}|3[47].{13}|6(?:011|5..).{12}|62.{14,17}|35.{14}"
)
_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def _is_card(text: str) -> bool:
    """Verify the issuer, and the check digit of Luhn."""
    digits = re.sub("[ -]", "", text)
    if _ISSUERS.compiled.fullmatch(digits) is None or len(set(digits)) < 2:
        return False
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(number - 9 * (number > 9) for number in doubled) % 10 == 0


def _is_resident(text: str) -> bool:
    """Verify the check digit (GB 11643)."""
    total = sum(int(sign) * weight for sign, weight in zip(text, _WEIGHTS, strict=False))
    return "10X98765432"[total % 11] == text[-1].upper()


def _is_phone(text: str) -> bool:
    digits = sum(map(str.isdigit, text))
    return 7 <= digits <= 15 if text[0] in "+0" else True


_KINDS: Final[tuple[tuple[str, str, Callable[[str], bool]], ...]] = (
    ("email", _EMAIL, lambda text: True),
    ("resident-id", _RESIDENT, _is_resident),
    ("card", _CARD, _is_card),
    ("phone", _PHONE, _is_phone),
)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def may_hold(data: bytes) -> bool:
    """Return whether ``data``, text as UTF-8, is worth a closer look."""
    return _MAY_HOLD.compiled.search(data) is not None


def mask_personal(text: str, masks: list[str]) -> str:
    """Mask each piece of personal data in ``text``; ``masks`` receives the masks."""
    for kind, pattern, holds in _KINDS:

        def replaced(match: re.Match[str], kind: str = kind, holds: Callable[[str], bool] = holds) -> str:
            if not holds(match[0]):
                return match[0]
            masks.append(mask := f"{kind} {fingerprint(match[0])}")
            return f"[personal data masked: {mask}]"

        text = _compiled(pattern).sub(replaced, text)
    return text
