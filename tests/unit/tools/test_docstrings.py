"""The content parsed from a docstring, in each of its styles."""

from __future__ import annotations

import pytest

from tooltrue.tools.docstrings import read_docstring

GOOGLE = """Find notes.

    Use it before get_note.

    Args:
        query: What to look for,
            in any language.
        limit (int): How many at most.

    Returns:
        The notes.
    """

NUMPY = """Find notes.

    Use it before get_note.

    Parameters
    ----------
    query : str
        What to look for,
        in any language.
    limit : int
        How many at most.

    Returns
    -------
    list
        The notes.
    """

SPHINX = """Find notes.

    Use it before get_note.

    :param query: What to look for,
        in any language.
    :param int limit: How many at most.
    :returns: The notes.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_every_style_says_the_same(text: str):
    assert read_docstring(text) == (
        "Find notes.\n\nUse it before get_note.",
        {"query": "What to look for, in any language.", "limit": "How many at most."},
    )


@pytest.mark.parametrize("text", [None, "", "   ", "\n\n"])
def test_no_docstring_says_nothing(text: str | None):
    assert read_docstring(text) == (None, {})


@pytest.mark.parametrize(
    "text",
    [
        "One line.",
        "Two\nlines.",
        "A list:\n\n- one: first\n- two: second",
        "Note: this is fine.\n\nExample::\n\n    a: b",
        "Ratio 1:2 and a colon: here.",
    ],
)
def test_a_docstring_without_sections_is_kept_whole(text: str):
    assert read_docstring(text) == (text, {})


def test_indentation_is_the_files_and_not_the_texts():
    assert read_docstring("First.\n\n        Second.\n        ")[0] == "First.\n\nSecond."


def test_stars_of_a_parameter_are_not_part_of_its_name():
    assert read_docstring("Do.\n\nArgs:\n    **more: The rest.\n")[1] == {"more": "The rest."}
