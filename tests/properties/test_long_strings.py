"""Long texts are encoded by orjson, if it is installed: byte for byte as by msgspec, and with the same error."""

from __future__ import annotations

import importlib.util

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue.jsonrpc.long_strings import LONG_STRING, encode_string
from tooltrue.jsonrpc.messages import encode
from tooltrue.protocol.content_encoding import content_pieces
from tooltrue.protocol.types import Annotations, CallToolResult, TextContent

PIECES = st.text(st.characters(exclude_categories=["Cs"])) | st.text(
    "\x00\x08\x0c\x1f\"\\/\n\t\x7f\x85\u2028\u2029\ufffe<&'"
)


@given(PIECES, st.integers(0, 40))
def test_a_long_text_is_encoded_to_the_same_bytes(piece: str, before: int):
    text = f"{'x' * before}{piece}" * (LONG_STRING // (before + len(piece) + 1) + 1) + "." * LONG_STRING
    assert encode_string(text) == encode(text)


def test_every_character_is_encoded_to_the_same_bytes():
    assert importlib.util.find_spec("orjson")
    text = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    assert encode_string(text) == encode(text)


@pytest.mark.parametrize("surrogate", ["\ud800", "\ud83d\ude00"])
def test_a_lone_surrogate_is_refused_with_the_same_error(surrogate: str):
    text = "x" * LONG_STRING + surrogate
    with pytest.raises(UnicodeEncodeError) as expected:
        encode(text)
    with pytest.raises(UnicodeEncodeError) as seen:
        encode_string(text)
    assert str(seen.value) == str(expected.value)


@pytest.mark.parametrize("hints", [None, Annotations(priority=0.5)])
@pytest.mark.parametrize("meta", [None, {}, {"a": 1}])
@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("size", [1, LONG_STRING])
def test_content_is_encoded_to_the_same_bytes(
    size: int, more: int, meta: dict[str, int] | None, hints: Annotations | None
):
    block = TextContent(text="é\n" * size, meta=meta, annotations=hints)
    content = CallToolResult(content=[block, *[block] * more]).content
    assert b"".join(content_pieces(content)) == encode(content)
