"""The exit codes of all verbs, as the table of the documentation has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from journeys.test_cli import REFUSES, other, run
from tooltrue.cli.main import cli

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NOTES, GREETER = str(EXAMPLES / "notes.py"), str(EXAMPLES / "greeter.py")
RULES, SERVERS = str(EXAMPLES / "tooltrue.toml"), str(EXAMPLES / "servers.json")
SILENT = "http://127.0.0.1:9/mcp"

DONE = (
    ("approvals", "list"),
    ("call", NOTES, "get_notes"),
    ("check", NOTES),
    ("diff", NOTES, NOTES),
    ("find", NOTES),
    ("inspect", NOTES),
    ("inspect", NOTES, "--plan", "get_notes"),
    ("inventory", SERVERS),
    ("list", NOTES),
    ("list", NOTES, "--prompts"),
    ("lock", NOTES),
    ("logout", SILENT),
    ("new", "weather"),
    ("pins", SERVERS),
    ("policy", "check", RULES),
    ("policy", "explain", NOTES, "get_notes", "--config", RULES),
    ("serve", NOTES),
    ("test", NOTES, "--calls", "1"),
    ("trust", "--list"),
)
FAILED = (
    ("call", NOTES, "get_notes", "prefix:=1"),
    ("call", NOTES, "set_note", "key=a", "text=b"),
    ("check", NOTES, "--fail-on", "hint"),
    ("diff", NOTES, GREETER),
    ("policy", "explain", NOTES, "set_note", "key=a", "text=b", "--config", RULES),
)
MISUSED = (
    ("approvals", "allow", "t-00000000"),
    ("audit", "tail"),
    ("audit", "verify", SILENT),
    ("call", NOTES, "get_note"),
    ("call", NOTES, "get_notes", "prefix"),
    ("chat", NOTES, "--model", "deepseek:deepseek-chat"),
    ("dev", "files"),
    ("dev", "nowhere.py"),
    ("diff", "nowhere.lock", NOTES),
    ("doctor",),
    ("eval", NOTES),
    ("inspect", NOTES, "--plan", "get_note"),
    ("keys", "list"),
    ("list", "nowhere.py"),
    ("new", "No Name"),
    ("policy", "check", "nowhere.toml"),
    ("serve", NOTES, "--workers", "2"),
    ("serve", "files"),
    ("trust", SERVERS),
    ("wrap", SERVERS),
)
OF_SERVERS = (
    ("call", "{}", "x"),
    ("check", "{}"),
    ("diff", "{}", NOTES),
    ("find", "{}"),
    ("inspect", "{}"),
    ("list", "{}"),
    ("list", "{}", "--resources"),
    ("lock", "{}"),
    ("test", "{}"),
)
UNCONNECTED = (*(tuple(word.format(SILENT) for word in words) for words in OF_SERVERS), ("login", SILENT))
UNUSABLE = (("list", SERVERS), ("call", SERVERS, "notes_get_notes"))  # no server of the file is approved


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))


def named(words: tuple[str, ...]) -> str:
    return " ".join(Path(word).name for word in words)


def table() -> Iterator[tuple[tuple[str, ...], int]]:
    for code, rows in ((0, DONE), (1, FAILED), (2, MISUSED), (4, UNCONNECTED), (4, UNUSABLE)):
        yield from ((words, code) for words in rows)


@pytest.mark.parametrize(
    ("words", "code"), [*table()], ids=lambda value: named(value) if isinstance(value, tuple) else ""
)
def test_a_verb_exits_as_the_table_says(words: tuple[str, ...], code: int):
    done = run(*words)
    assert done.returncode == code, done.stdout + done.stderr
    assert code == 0 or done.stdout + done.stderr  # with a sentence


@pytest.mark.parametrize("words", OF_SERVERS, ids=named)
def test_3_is_a_server_that_refuses_the_protocol(words: tuple[str, ...], tmp_path: Path):
    server = other(tmp_path, REFUSES)
    done = run(*(word.format(server) for word in words))
    assert done.returncode == 3, done.stdout + done.stderr


def verbs() -> list[str]:
    return cli.list_commands(click.Context(cli))


@pytest.mark.parametrize("verb", verbs())
def test_2_is_an_option_that_no_verb_has(verb: str):
    for language in ("en", "zh"):
        done = run("--lang", language, verb, "--no-such-option")
        assert (done.returncode, done.stdout, bool(done.stderr)) == (2, "", True)
    assert run(verb, "--help").returncode == 0


@pytest.mark.parametrize("page", ["README.md", "docs/cli.md"])
def test_the_pages_have_these_codes(page: str):
    _, _, rest = (ROOT / page).read_text("utf-8").partition("code | means |")
    rows = re.findall(r"^\| (\d) \| \w", rest.partition("\n\n")[0], re.MULTILINE)
    assert rows == ["0", "1", "2", "3", "4"]
