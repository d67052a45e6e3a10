"""The careful search finds each text clean that one pass rules out, so the extra ``speed`` changes no result."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties.test_long_texts import SEPARATORS, divided
from security.spellings import family
from support.fake_secrets import FAKES
from tooltrue.jsonrpc.messages import encode
from tooltrue.policy.sanitize import one_pass
from tooltrue.policy.sanitize.multiline_secrets import LONG_TEXT
from tooltrue.policy.sanitize.prescan import CLEAN, PrescanResult, prescan
from tooltrue.policy.sanitize.redactor import Redactor

PROSE = (Path(__file__).parents[2] / "bench" / "servers" / "prose.txt").read_text("utf-8")
ROWS = "".join(f'{{"id":"p-{row:05}","title":"lamp #{row:05}","tags":["new","sale"]}},\n' for row in range(200))
TOKEN = dict(FAKES)["github-token"]
KINDS = sorted({kind for kind, _, _ in family()})


def carefully(data: bytes) -> PrescanResult:
    """The result of the careful search, without the pass."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_pass, "is_installed", lambda: False)
        return prescan(data, secrets=True)


def changes(text: str) -> bool:
    """Whether the careful search finds something to remove or to mask in a text."""
    suspicion = carefully(text.encode())
    return bool(suspicion) and Redactor(suspicion).text(text) != text


@pytest.mark.parametrize("kind", KINDS)
def test_no_secret_in_any_spelling_is_ruled_out(kind: str):
    texts = [f"{PROSE}\n{text}\n" for one, _, text in family() if one == kind]
    assert [text for text in texts if one_pass.rules_out(text.encode()) and changes(text)] == []


@given(divided(), st.sampled_from(["", "\n", " ", "x", "key=", "password: ", "é"]), st.booleans())
def test_no_divided_secret_is_ruled_out(secret: str, before: str, is_json: bool):
    text = f"The harbour opens at six.\n{before}{secret}\nThen the ferry leaves."
    data = encode(text) if is_json else text.encode()
    assert not (one_pass.rules_out(data) and changes(data.decode()))


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text("\x00\x1b\r\n\u200b\u202e\ufeff\U000e0041 ab"))
def test_no_hidden_character_is_ruled_out(text: str, more: str):
    data = (text + more).encode()
    assert not (one_pass.rules_out(data) and carefully(data))


@pytest.mark.parametrize(
    "text",
    [
        PROSE * 5,
        ROWS,
        "Größe und Maß, “quoted” — 中文，日本語。" * 200,
        PROSE * 3 + "The ferry leaves at 12:30, price:15.",
    ],
    ids=["prose", "rows", "wide", "a digit behind a colon"],
)
def test_ordinary_text_is_ruled_out(text: str):
    assert one_pass.rules_out(text.encode())
    assert carefully(text.encode()) == CLEAN


@pytest.mark.parametrize("separator", SEPARATORS)
def test_both_ways_find_the_same_in_a_long_text(separator: str):
    data = f"{PROSE * 3}\n{TOKEN[:9]}{separator}{TOKEN[9:]}\n{PROSE}".encode()
    assert len(data) > LONG_TEXT
    assert one_pass.is_installed()
    assert prescan(data, secrets=True) == carefully(data) != CLEAN


def test_threads_share_the_pass():
    data, seen = (PROSE * 200).encode(), list[bool]()
    threads = [threading.Thread(target=lambda: seen.append(one_pass.rules_out(data))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 8
