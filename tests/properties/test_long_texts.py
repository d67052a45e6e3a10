"""A long text is searched in parts: they decide as the whole text would, whatever divides the secrets in it."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from security.spellings import SPELLINGS, more_fakes
from support.fake_secrets import FAKES
from tooltrue.policy.sanitize import multiline_secrets, secrets
from tooltrue.policy.sanitize.byte_classes import classes_of
from tooltrue.policy.sanitize.secret_patterns import SecretPattern
from tooltrue.policy.sanitize.secrets import suspects

PROSE = (Path(__file__).parents[2] / "bench" / "servers" / "prose.txt").read_text("utf-8")
ROWS = "".join(f'{{"id":"p-{row:05}","url":"https://a.example/{"x" * (row % 25)}"}},\n' for row in range(500))
NAMED = "".join(f"docs/größe-{row}.md:see the tables of page {row}\n" for row in range(500))
SURROUNDINGS = st.sampled_from(
    [PROSE * 15, ROWS, NAMED, PROSE.replace("\n", " ") * 15, PROSE.replace("\n", "\r\n") * 15]
)
SECRETS = st.sampled_from([secret for _, secret in (*FAKES, *more_fakes())])
SEPARATORS = [
    "",
    "\n",
    "\r\n",
    "\t",
    " \n ",
    "\n12: ",
    "\nsrc/a.py:3: ",
    "\n" * 90,
    "\n" + " " * 2_000,
    "\\n",
    "'\n",
    "=\n",
]


@st.composite
def divided(draw: st.DrawFn) -> str:
    """A secret, as it is or in another spelling, whole or in pieces."""
    text = draw(SECRETS)
    if draw(st.booleans()):
        text = SPELLINGS[draw(st.sampled_from(sorted(SPELLINGS)))](text)
    separator = draw(st.sampled_from(SEPARATORS))
    if draw(st.booleans()):
        return separator.join(textwrap.wrap(text, draw(st.integers(3, 30))))
    at = draw(st.integers(0, len(text)))
    return text[:at] + separator + text[at:]


@st.composite
def long_texts(draw: st.DrawFn) -> str:
    around = draw(SURROUNDINGS)
    at = draw(st.integers(0, len(around)))
    if draw(st.booleans()):
        at = around.rfind("\n", 0, at) + 1
    beside = st.sampled_from(["", "\n", " ", "x", "key=", ". "])
    return around[:at] + draw(beside) + draw(divided()) + draw(beside) + around[at:]


def suspected(text: str) -> tuple[SecretPattern, ...]:
    data = text.encode(errors="replace")
    return suspects(data, classes_of(data))


def suspected_in_whole(text: str) -> tuple[SecretPattern, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "LONG_TEXT", len(text))
        return suspected(text)


@given(long_texts())
def test_the_parts_of_a_long_text_decide_as_all_of_it(text: str):
    assert len(text) > multiline_secrets.LONG_TEXT
    assert suspected(text) == suspected_in_whole(text)


@pytest.mark.parametrize("end", ["\n", "\r", "\t"])
def test_the_same_is_removed_beside_the_end_of_a_line_as_in_a_whole_text(end: str):
    general = re.compile(
        rf"{end}(?:[ =\\\"'`+&|]|(?<=[ =\\\"'`+&|]{end})|[0-9]{{1,7}} {{0,3}}[:|\t\xe2]|[^\s:]{{1,100}}:[0-9])"
    )
    for sign in map(chr, range(256)):
        for text in (
            f"{sign}{end}x",
            f"{end}{sign}",
            f"{end}a{sign}b:1",
            f"{end}{'a' * 99}{sign}:1",
            f"{end}12{sign}3:",
        ):
            spans = [match.span() for match in multiline_secrets._removed_beside(end).finditer(text)]  # pyright: ignore[reportPrivateUsage]
            assert spans == [match.span() for match in general.finditer(text)], text


@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("width", [2, 7, 13, 30])
def test_a_token_is_suspected_in_a_long_text_whatever_divides_it(separator: str, width: int):
    token = separator.join(textwrap.wrap(dict(FAKES)["github-token"], width))
    half = PROSE * 100
    text = f"{half}\n{token}\n{half}"
    assert suspected_in_whole(text) != ()
    assert suspected(text) == suspected_in_whole(text)
