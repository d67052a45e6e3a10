"""Text with characters that are written in another way."""

from html.entities import html5

import pytest

from tooltrue.policy.sanitize.spellings import read_spellings

NAMES = ("lowbar", "UnderBar", "hyphen", "dash", "period", "colon", "equals", "commat", "sol", "plus", "quot", "num")


@pytest.mark.parametrize("name", NAMES)
def test_an_entity_reads_as_its_character(name: str):
    assert read_spellings(f"a&{name};b").text == f"a{html5[f'{name};']}b".replace("\u2010", "-")
