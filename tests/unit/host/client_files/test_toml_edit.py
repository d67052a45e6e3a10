"""Edits of TOML: one table is added, replaced or removed, and every other character stays."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue.host.client_files.json_edit import EditRefused
from tooltrue.host.client_files.toml_edit import string_of, with_table, without_table

PATH = ("mcp_servers", "notes")
NOTES: dict[str, Any] = {"command": "/bin/notes", "args": ["serve", "a.py"], "env": {"A.B": 'x "y"\n'}}
BLOCK = (
    "[mcp_servers.notes]\n"
    'command = "/bin/notes"\n'
    'args = ["serve", "a.py"]\n'
    "\n"
    "[mcp_servers.notes.env]\n"
    '"A.B" = "x \\"y\\"\\n"\n'
)
CONFIG = (
    "# mine\n"
    'model = "m"  # fast\n'
    "\n"
    "[mcp_servers.other] # keep\n"
    'command = "x"\n'
    'args = [ # [mcp_servers.notes]\n  "[mcp_servers.notes]",\n]\n'
    "\n"
    "[profiles.a]\n"
    "text = '''\n[mcp_servers.notes]\n'''\n"
    "# the end\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", BLOCK),
        ("\ufeff", "\ufeff" + BLOCK),
        ("a = 1", "a = 1\n\n" + BLOCK),
        ("a = 1\n\n", "a = 1\n\n" + BLOCK),
        (CONFIG, CONFIG + "\n" + BLOCK),
    ],
)
def test_a_new_table_stands_at_the_end(text: str, expected: str) -> None:
    assert with_table(text, PATH, NOTES) == expected
    assert tomllib.loads(expected.removeprefix("\ufeff"))["mcp_servers"]["notes"] == NOTES


def test_line_ends_of_the_file_are_kept() -> None:
    text = CONFIG.replace("\n", "\r\n")
    assert with_table(text, PATH, NOTES) == text + "\r\n" + BLOCK.replace("\n", "\r\n")


def test_a_table_is_replaced_where_it_stands() -> None:
    old = (
        '[mcp_servers.notes]\ncommand = "old"\n\n'
        '[mcp_servers.notes.env]\nTOKEN = "t"\n\n# of the next one\n[z]\nb = 2\n\n'
        "[mcp_servers.notes.tools.a]\nx = 1\n\n[zz]\n"
    )
    result = with_table(CONFIG + old, PATH, NOTES)
    assert result == CONFIG + BLOCK + "\n# of the next one\n[z]\nb = 2\n\n[zz]\n"
    assert tomllib.loads(result)["mcp_servers"]["notes"] == NOTES


def test_a_table_is_removed_with_its_own_tables() -> None:
    assert without_table(CONFIG + "\n" + BLOCK, PATH) == CONFIG + "\n"
    assert without_table(CONFIG, PATH) == CONFIG
    assert without_table('[mcp_servers."notes"]\ncommand = "x"\n\n[b]\n', PATH) == "[b]\n"


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { notes = { command = "x" } }\n',
        '[mcp_servers]\nnotes.command = "x"\n',
        'mcp_servers.notes.command = "x"\n',
    ],
)
def test_a_table_without_a_header_is_left_alone(text: str) -> None:
    for edit in (lambda: with_table(text, PATH, NOTES), lambda: without_table(text, PATH)):
        with pytest.raises(EditRefused) as raised:
            edit()
        assert raised.value.problem.code == "TT4655"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_is_a_string(text: str) -> None:
    assert tomllib.loads(f"a = {string_of(text)}") == {"a": text}


PIECES = st.sampled_from(
    [
        "[a]\nx = 1\n",
        "[[b]]\ny = [1, 2, # ]\n  3]\n",
        '[c."d.e"]\nt = """\n[mcp_servers.notes]\n"""\n',
        "# comment [mcp_servers.notes]\n",
        "\n",
        '[mcp_servers.zed]\ncommand = "z"\n',
        "[mcp_servers.zed.env]\nK = '[x]'\n",
        "[f]\nz = { q = \"]\", r = '[' }\n",
        '[mcp_servers.notes]\ncommand = "old"\n',
        '[mcp_servers.notes.env]\nOLD = "1"\n',
    ]
)


@given(st.lists(PIECES, unique=True), st.sampled_from(["\n", "\r\n"]))
def test_an_edit_changes_the_table_alone(pieces: list[str], line: str) -> None:
    text = "".join(pieces).replace("\n", line)
    before = tomllib.loads(text)
    servers = {name: one for name, one in before.get("mcp_servers", {}).items() if name != "notes"}
    rest = {name: one for name, one in before.items() if name != "mcp_servers"}

    after = with_table(text, PATH, NOTES)
    assert tomllib.loads(after) == {**rest, "mcp_servers": {**servers, "notes": NOTES}}
    gone = without_table(after, PATH)
    assert tomllib.loads(gone) == {**rest, **({"mcp_servers": servers} if servers else {})}
    if "notes" not in before.get("mcp_servers", {}):
        assert after.startswith(text)
        assert gone.strip() == text.strip()
