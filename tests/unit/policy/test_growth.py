"""Scans for secrets and for hidden text take linear time in the length of the text."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable

import pytest

from support.growth import grows_in_proportion
from tooltrue.policy.sanitize.prescan import prescan
from tooltrue.policy.sanitize.redactor import Redactor

TOKEN = "ghp" + "_" + "8Kd" * 12


def _noise(size: int) -> bytes:
    return random.Random("growth").randbytes(size)


TEXTS: dict[str, Callable[[int], str]] = {
    "glued": lambda size: "xghp" * (size // 4),
    "glued, apart": lambda size: f"x{TOKEN} " * (size // 42),
    "escapes": lambda size: "\\x67" * (size // 4),
    "entities": lambda size: "&#103;" * (size // 6),
    "quotes of URLs": lambda size: "%67%" * (size // 4),
    "escapes apart": lambda size: "a word \\u005f and more " * (size // 22),
    "wide letters": lambda size: "ｇｈｐ＿" * (size // 4),
    "base64": lambda size: base64.b64encode(_noise(size)).decode()[:size],
    "base64 in lines": lambda size: base64.encodebytes(_noise(size)).decode()[:size],
    "base64 of a token": lambda size: base64.b64encode(TOKEN.encode() * (size // 50)).decode(),
    "hex": lambda size: _noise(size).hex()[:size],
    "hex in pairs": lambda size: _noise(size).hex(" ")[:size],
    "hashes": lambda size: "\n".join(f"00{number:038x}" for number in range(size // 41)),
    "short lines": lambda size: "ab\n" * (size // 3),
    "quotes": lambda size: '"a" + ' * (size // 6),
    "JSON": lambda size: json.dumps([{"id": at, "name": "all is well"} for at in range(size // 35)]),
    "carriage returns": lambda size: "\r" * size,
    "joiners": lambda size: "ب\u200cت" * (size // 3),
    "selectors": lambda size: "葛\U000e0100" * (size // 2),
    "families": lambda size: "👨\u200d👩\u200d👧" * (size // 5),
    "direction marks": lambda size: "\u200f" * size,
}


def swept(text: str) -> str:
    suspicion = prescan(text.encode(), True)
    return Redactor(suspicion).text(text) if suspicion else text


@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_is_swept_in_proportion_to_its_length(kind: str):
    assert grows_in_proportion(swept, TEXTS[kind], 2_000), kind
