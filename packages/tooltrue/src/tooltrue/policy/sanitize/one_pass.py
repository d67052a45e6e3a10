"""One pass over a text by Hyperscan, which the extra ``speed`` installs.

The pass looks for parts that a hidden character or a secret cannot do without. It never decides that there is one: a
text with such a part is read by :mod:`prescan` as without the extra.
"""

from __future__ import annotations

import functools
import importlib.util
import threading
from collections.abc import Callable

from tooltrue.policy.sanitize.byte_classes import RUN
from tooltrue.protocol.characters import hiding_characters

__all__ = ["is_installed", "rules_out"]

_BESIDE_END = " =\\\\\"'`+&|"
_SAYS = r"[\"']?(?:\s|[\x80-\xff]){0,16}[:=]"
_PATTERNS = (
    # A long run of token characters, whole or divided by ends of lines.
    rf"[A-Za-z0-9_\n-]{{{len(RUN)}}}",
    # Characters that are removed beside an end of a line: white space, quotes and operators (numbers of lines below).
    rf"[{_BESIDE_END}]\n",
    rf"\n[{_BESIDE_END}0-9]",
    # Other ends of lines, other spellings, joined strings, and carriage returns.
    r"[\\%&<+|\r\t]",
    r"\xe2\x80[\xa8\xa9]",
    r"\xef\xbc[\x8d-\xbf]|\xef\xbd[\x81-\x9a]|\xf0\x9d[\x90-\x9f]|\xe2\x92[\xb6-\xbf]|\xe2\x93[\x80-\xa9]",
    # Twelve bytes or more as hexadecimal digits in groups.
    r"[0-9A-Fa-fxX :,;.\n]{30}",
    # Words that a secret stands beside, and addresses with a password.
    r"AccessKey", r"ecret_access_key", r"CCESS_KEY", r"ccountKey=",
    rf"(?:assw(?:or)?d|ASSW(?:OR)?D|assphrase|ASSPHRASE|\xe5\xaf\x86\xe7\xa0\x81|\xe5\x8f\xa3\xe4\xbb\xa4){_SAYS}",
    rf"(?:uthorization|UTHORIZATION){_SAYS}",
    r"://[^\s:/?#@\"'<>`]*:[^\s/?#\"'<>`]{3,}@",
)  # fmt: skip
# The number of a line behind the name of a file, which is removed too. A digit behind a colon is looked for with less
# work than the whole of it, and most prose has none.
_COLON_AND_DIGIT = tuple(f":{digit}" for digit in range(10))
_NUMBER_OF_A_LINE = tuple(rf":{digit}[0-9]{{0,6}} {{0,3}}[:\xe2]" for digit in range(10))
_SCANNING = threading.Lock()
"""Held during a scan: the working memory of a database serves one thread."""


@functools.cache
def is_installed() -> bool:
    return importlib.util.find_spec("hyperscan") is not None


def rules_out(data: bytes) -> bool:
    """Return whether ``data``, text as UTF-8, certainly holds no hidden character and no secret. Where the quicker pass
    cannot tell, another one does, because of a digit behind a colon. The first pass of each kind compiles its patterns,
    which takes some 60 ms. Requires :func:`is_installed`."""
    with _SCANNING:
        return not (_scanner(_COLON_AND_DIGIT)(data) and _scanner(_NUMBER_OF_A_LINE)(data))


def _end_scan(*_match: object) -> bool:
    return True


@functools.cache
def _scanner(numbers: tuple[str, ...]) -> Callable[[bytes], bool]:
    """Return a function that tells whether one of the patterns matches, or one of those of ``numbers``."""
    import hyperscan  # noqa: PLC0415 - takes longer than many a server needs in all: only for a long text

    hidden = "".join(sign if sign in "[]-" else f"\\x{{{ord(sign):x}}}" for sign in hiding_characters())
    rows = [(hidden, hyperscan.HS_FLAG_UTF8), *((pattern, 0) for pattern in (*_PATTERNS, *numbers))]
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[pattern.encode() for pattern, _ in rows],
        ids=list(range(len(rows))),
        elements=len(rows),
        flags=[hyperscan.HS_FLAG_SINGLEMATCH | flags for _, flags in rows],
    )

    def matches(data: bytes) -> bool:
        try:
            database.scan(data, match_event_handler=_end_scan)
        except hyperscan.ScanTerminated:
            return True
        return False

    return matches
