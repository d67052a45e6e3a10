"""Invisible characters in a result or a definition: generated covert channels, and benign texts of people."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator

import pytest

from tooltrue.policy.sanitize.prescan import prescan
from tooltrue.policy.sanitize.redactor import Redactor
from tooltrue.protocol.characters import cleaned, may_hide

_MADE = random.Random("hidden")
BITS = [_MADE.randrange(2) for _ in range(240)]


def swept(text: str) -> str:
    """As a result leaves: as text, and within JSON the same."""
    suspicion = prescan(text.encode(), False)
    clean = Redactor(suspicion).text(text) if suspicion else text
    within = prescan(json.dumps(text, ensure_ascii=False).encode(), False)
    assert (Redactor(within).text(text) if within else text) == clean
    return clean


# -- signs that have no place at all -----------------------------------------------------------------------------------


def _signs() -> Iterator[int]:
    yield from _MADE.sample(range(0xE000, 0xF8FF), 12)
    yield from _MADE.sample(range(0xF0000, 0xFFFFE), 12)
    yield from _MADE.sample(range(0x100000, 0x10FFFE), 12)
    yield from (*range(0x1BCA0, 0x1BCA4), *range(0xFFF0, 0xFFFC), *range(0x13430, 0x13440, 4))
    yield from range(0xFDD0, 0xFDF0, 5)
    yield from (plane + low for plane in range(0, 0x110000, 0x10000) for low in (0xFFFE, 0xFFFF))


@pytest.mark.attack("C06", "A14")
@pytest.mark.parametrize("code", list(_signs()), ids=hex)
@pytest.mark.parametrize("around", ["plain {} words", "中文{}文字", "🙂{}🙂"], ids=["latin", "chinese", "emoji"])
def test_c06_a14_a_sign_that_hides_everywhere_is_taken_out(code: int, around: str):
    assert chr(code) not in swept(around.format(chr(code)))
    assert may_hide(chr(code))


# -- signs that are permitted somewhere, and carry a message there -----------------------------------------------------


def _carried(letters: str, unseen: str, behind: str = "") -> str:
    """A text that hides a message: each letter carries one bit, and an invisible character after it means 1."""
    pairs = zip(itertools.cycle(letters), BITS, strict=False)
    return "".join(letter + (_MADE.choice(unseen) + behind if bit else behind) for letter, bit in pairs)


_SELECTORS = "".join(map(chr, range(0xE0100, 0xE0120)))
_FAR_SELECTORS = "".join(map(chr, range(0xE0120, 0xE01F0)))
CHANNELS: dict[str, str] = {
    "ideographs, selectors": _carried("葛城辻市渡", _SELECTORS),
    "ideographs, 4 bits": _carried("葛城辻市渡", _SELECTORS[:16]),
    "ideographs, one selector": _carried("葛城", _SELECTORS[0]),
    "ideographs, far selectors": _carried("葛城辻市渡", _FAR_SELECTORS),
    "ideographs, old selectors": _carried("葛城辻市渡", "\ufe00\ufe01\ufe02"),
    "ideographs, other selectors": _carried("葛城辻市渡", "\ufe03\ufe08\ufe0d"),
    "ideographs, two in a row": _carried("葛城", _SELECTORS, _SELECTORS[1]),
    "signs of mathematics": _carried("∩∪≨", "\ufe00"),
    "full-width marks": _carried("。、！", "\ufe00\ufe01"),
    "arabic, joiners": _carried("بتسم", "\u200c\u200d"),
    "arabic, no need": _carried("ادرو", "\u200c"),
    "arabic, ZWJ": _carried("بتسم", "\u200d"),
    "arabic, marks": _carried("بتسم", "\u200e\u200f\u061c"),
    "arabic, marks at blanks": _carried("بت", "\u200e\u200f\u061c", " "),
    "hebrew, marks": _carried("אבגד", "\u200e\u200f"),
    "hebrew, marks at blanks": _carried("אבגד", "\u200e\u200f", " "),
    "hebrew, joiners": _carried("אבגד", "\u200c\u200d"),
    "hindi, no virama": _carried("कखगघ", "\u200c\u200d"),
    "hindi, virama": _carried("क्", "\u200c\u200d"),
    "tamil": _carried("கஙச", "\u200c\u200d"),
    "thai": _carried("กขค", "\u200b\u200c\u200d"),
    "mongolian, selectors": _carried("ᠠᠡᠢ", "\u180b\u180c\u180d\u180f"),
    "emoji, FE0F": _carried("❤☀✔", "\ufe0e\ufe0f"),
    "emoji, one selector": _carried("❤☀✔", "\ufe0f"),
    "emoji, ZWJ": _carried("🙂🚗🌵", "\u200d"),
    "people, ZWJ": _carried("👩👨", "\u200d"),
    "latin, selectors": _carried("abc", "\ufe00\ufe0f" + _SELECTORS),
    "latin, joiners": _carried("abc", "\u200b\u200c\u200d\u2060"),
    "braille blanks": _carried("abc", "\u2800"),
    "braille blanks for blanks": "".join("a\u2800" if bit else "a " for bit in BITS),
    "digits, keycaps": _carried("123", "\ufe0f"),
    "private use, 17 bits": _carried("abc", "".join(map(chr, range(0xF0000, 0xF0100)))),
    "carriage returns": _carried("abc", "\r"),
    "hieroglyph joiners": _carried("abc", "\U00013430\U00013431"),
}  # fmt: skip


def hidden_in(text: str) -> int:
    """The number of invisible characters."""
    return sum(may_hide(sign) or sign == "\r" for sign in text)


@pytest.mark.attack("C06", "A14")
@pytest.mark.parametrize("channel", CHANNELS)
def test_c06_a14_a_channel_of_unseen_signs_is_cut(channel: str):
    assert hidden_in(CHANNELS[channel]) > 60
    assert hidden_in(swept(CHANNELS[channel])) <= 12


@pytest.mark.attack("C06")
@pytest.mark.parametrize("count", range(1, 21))
def test_c06_overwritten_text_is_shown_on_a_separate_line(count: int):
    assert swept("run rm" + "\r" * count + "all is well") == "run rm" + "\n" * count + "all is well"


# -- benign texts of people --------------------------------------------------------------------------------------------

WRITTEN: dict[str, str] = {
    "persian": "می‌خواهم به خانه‌ای بروم که کتاب‌ها و نرم‌افزارها در آن‌جا باشند. او می‌گوید که نمی‌تواند بیاید.",
    "persian, years": "سال ۱۳۷۵ ه‍.ش",
    "persian, parted without need": "کار‌ها و قرارداد‌ها",
    "persian, vowels": "مُؤَدَّب‌تَر",
    "urdu": "یہ ایک سادہ جملہ ہے۔",
    "arabic with a mark": "السعر 25 C++\u200f اليوم",
    "hebrew with a mark": "הגרסה של C++\u200f היא חדשה",
    "hindi": "श्री रमेश ने कहा: क्‍या आप रक्‍त और क्‌ष लिख सकते हैं?",
    "bengali": "র‍্যাম ও র‍্যাব",
    "malayalam": "അവന്‍ പറഞ്ഞു, അത്‌ ശരിയാണ്‌",
    "sinhala": "ශ්‍රී ලංකාව",
    "kannada": "ರ‍್ಯಾಂಕ್ ಕಾರ್ಯ",
    "families": "👨‍👩‍👧‍👦 and 👩‍👩‍👦, 👩🏽‍🚀 and 🧑‍💻, 🏳️‍🌈, 🏴‍☠️, ❤️‍🔥, 🤷‍♂️, 👁️‍🗨️, 🐻‍❄️",
    "a row of families": "👨‍👩‍👧‍👦" * 6,
    "a row of people": "🤷‍♂️👩🏽‍🚀🧑‍💻🙋‍♀️" * 6,
    "flags": "🇩🇪 🇨🇳 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "keycaps": "1️⃣ 2️⃣ #️⃣ *️⃣",
    "a list of ticks": "".join(f"✔️ step {number}: all is done\n" for number in range(8)),
    "hearts": "❤️❤️❤️☀️",
    "japanese names": "渡邉\U000e0101様、葛\U000e0100城市の辻\U000e0100さんへ",
    "mongolian": "ᠮᠣᠩᠭᠣᠯ ᠬᠡᠯᠡ ᠨᠢ\u180b ᠪᠠᠢᠨ\u180eᠠ",
    "braille": "⠓⠑⠇⠇⠕⠀⠺⠕⠗⠇⠙",
    "korean": "한국어 ᄒ\u1160",
    "windows": "first line\r\nsecond line\r\n\r\nlast line\r\n",
    "windows, doubled by a program": "first\r\r\nsecond\r\r\n",
    "a last return": "a progress of 100 %\r",
    "chinese": "这是一段普通的中文，包含标点！？",
    "shorthand of mathematics": "A ∩\ufe00 B",
}  # fmt: skip


@pytest.mark.twin("C06", "A14")
@pytest.mark.parametrize("kind", WRITTEN)
def test_c06_a14_twin_ordinary_text_stays_unchanged(kind: str):
    assert swept(WRITTEN[kind]) == WRITTEN[kind]
    assert cleaned(WRITTEN[kind], {}) == WRITTEN[kind]


@pytest.mark.twin("C06")
@pytest.mark.parametrize("repeat", [20, 200])
@pytest.mark.parametrize(
    "kind", ["persian", "hindi", "malayalam", "sinhala", "windows", "braille", "a row of families"]
)
def test_c06_twin_a_long_text_stays(kind: str, repeat: int):
    text = f"{WRITTEN[kind]}\n" * repeat
    assert swept(text) == text


@pytest.mark.twin("C06")
@pytest.mark.parametrize(
    ("written", "clean"),
    [
        ("\uf0b7 first", "• first"),
        ("\uf0a7 first", "▪ first"),
        ("a\u2800\u2800b", "a  b"),
        ("10 %\r20 %", "10 %\n20 %"),
    ],
)
def test_c06_twin_a_character_that_stands_for_another_is_replaced(written: str, clean: str):
    assert swept(written) == clean


@pytest.mark.attack("C06")
@pytest.mark.parametrize("clean_again", [*CHANNELS, *WRITTEN])
def test_c06_sanitized_text_is_unchanged_by_a_second_pass(clean_again: str):
    once = swept({**CHANNELS, **WRITTEN}[clean_again])
    assert swept(once) == once
