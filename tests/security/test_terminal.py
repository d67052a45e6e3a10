"""What a server, or a file that came with a repository, cannot do to the terminal of whoever looks at it: attacks A10,
C05 and J01 at every verb that shows text of others."""

from __future__ import annotations

import contextlib
import json
import sys
import unicodedata
from pathlib import Path

import pytest

from toolwright.cli import main as command
from toolwright.protocol.terminal import json_text, one_line, printable

SERVER = Path(__file__).with_name("terminal_server.py")

PAYLOADS = {
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "clear": "\x1b[2J\x1b[H",
    "title": "\x1b]0;all is well\x1b\\",
    "link": "\x1b]8;;https://evil.example/\x1b\\bank\x1b]8;;\x1b\\",
    "hidden": "\x1b[8mhidden\x1b[0m",
    "device": "\x1bP1;1|17/ab\x1b\\",
    "reset": "\x1bc",
    "forged": "1.0\r\nguard   on: all is checked\n\ntoolwright: OK",
    "backspace": "bad\b\b\bgood",
    "c1-csi": "\x9b2J",
    "c1-osc": "\x9d52;c;ZXZpbA==\x9c",
    "next-line": "a\x85b",
    "separators": "a\u2028b\u2029c\x0bd\x0ce",
    "bidi": "\u202etxt.exe\u202c",
    "isolate": "\u2067abc",
    "zero-width": "pay\u200bpal\u2060\ufeff",
    "joiners": "a\u200cb\u200dc",
    "tags": "".join(chr(0xE0000 + ord(letter)) for letter in "obey"),
    "fillers": "\u3164\u115f\uffa0\u2800",
    "selectors": "a\ufe01\U000e0100",
    "private": "\ue000\U000f0000",
    "shorthand": "\U0001bca0\U0001d173",
    "soft-hyphen": "a\u00adb\u034fc",
    "delete": "a\x7f\x00b",
}


def hidden_in(text: str) -> list[str]:
    """What a terminal would obey, or nobody would see."""
    blank = "\u3164\u115f\u1160\uffa0\u2800\u034f\ufe01\U000e0100"
    return [
        sign
        for sign in text
        if sign not in "\n\t"
        and (sign in blank or unicodedata.category(sign) in ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"))
    ]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path):
    """Run the command in this process; what it has printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", str(SERVER.parents[1]))

    def run(*words: str) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["toolwright", *words])
        with contextlib.suppress(SystemExit):
            command.main()
        return capfd.readouterr()

    return run


VERBS = {
    "list": ["list", "{server}"],
    "list-json": ["list", "{server}", "--json"],
    "inspect": ["inspect", "{server}"],
    "inspect-json": ["inspect", "{server}", "--json"],
    "call": ["call", "{server}", "look"],
    "call-json": ["call", "{server}", "look", "--json"],
    "call-fails": ["call", "{server}", "fail"],
    "call-refused": ["call", "{server}", "refuse"],
    "call-dies": ["call", "{server}", "die"],
    "check": ["check", "{server}"],
    "check-json": ["check", "{server}", "--format", "json"],
    "check-sarif": ["check", "{server}", "--format", "sarif"],
    "check-html": ["check", "{server}", "--format", "html"],
    "find": ["find", "{server}", "--for", "look at it"],
    "lock": ["lock", "{server}"],
}

FREE = ("call", "call-fails", "check-html")  # the text of a result has lines; those of a page are no lines


@pytest.mark.attack("A10", "C05", "J01")
@pytest.mark.parametrize("verb", VERBS)
def test_a10_no_verb_prints_what_a_terminal_obeys(verb: str, typed, tmp_path: Path):
    for number, payload in enumerate(("".join(PAYLOADS.values()), PAYLOADS["forged"])):
        (tmp_path / "says.json").write_text(json.dumps(payload))
        server = f"{sys.executable} {SERVER} {tmp_path / 'says.json'}"
        out, err = typed(*(word.format(server=server) for word in VERBS[verb]))
        assert out or err, number
        assert hidden_in(out + err) == []
        assert not any(line.startswith("guard   on") for line in (out + err).splitlines()) or verb in FREE


FILES = {
    "list": ["list", "{file}"],
    "inspect": ["inspect", "{file}"],
    "inspect-json": ["inspect", "{file}", "--json"],
    "check": ["check", "{file}"],
    "check-json": ["check", "{file}", "--format", "json"],
    "trust": ["trust", "{file}", "--yes"],
    "wrap": ["wrap", "{file}"],
    "pins": ["pins", "list", "{file}"],
}


@pytest.mark.attack("A10", "J01")
@pytest.mark.parametrize("verb", FILES)
def test_a10_no_verb_prints_what_a_file_of_servers_tells_a_terminal(verb: str, typed, tmp_path: Path):
    payload = "".join(PAYLOADS.values()).replace("\x00", "")
    named = tmp_path / "a\x1b]0;t\x07\u202e.json"
    servers = {
        "web": {"url": f"https://127.0.0.1:9/{payload}"},
        "run": {"command": f"no-such{payload}", "args": [payload], "env": {"A": payload}},
    }
    named.write_text(json.dumps({"mcpServers": servers}))
    out, err = typed(*(word.format(file=named) for word in FILES[verb]))
    assert out or err
    assert hidden_in(out + err) == []


@pytest.mark.attack("A10")
@pytest.mark.parametrize(
    "words", [["list"], ["call", "x"], ["check"], ["lock"], ["diff", "x"], ["doctor"], ["audit", "tail", "--server"]]
)
@pytest.mark.parametrize("payload", ["clipboard", "forged", "bidi", "c1-csi", "tags"])
def test_a10_no_error_prints_what_a_name_tells_a_terminal(words: list[str], payload: str, typed):
    out, err = typed(*words, f"./{PAYLOADS[payload]}.py")
    assert out or err
    assert hidden_in(out + err) == []


@pytest.mark.attack("A10", "C05", "J01")
@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_a10_one_function_escapes_all_of_it(payload: str):
    assert hidden_in(printable(payload)) == []
    assert hidden_in(one_line(payload)) == []
    assert "\n" not in one_line(payload)
    written = json_text(json.dumps(payload, ensure_ascii=False))
    assert hidden_in(written) == []
    assert json.loads(written) == payload


@pytest.mark.twin("A10", "C05", "J01")
@pytest.mark.parametrize(
    "text", ["读取文件。", "naïve café", "Ελληνικά", "日本語\u3000テキスト", "a\tb", "100 €", "✔ done", "한국어"]
)
def test_a10_twin_ordinary_letters_are_as_they_were(text: str):
    assert printable(text) == text
    assert json_text(json.dumps(text, ensure_ascii=False)) == json.dumps(text, ensure_ascii=False)


@pytest.mark.twin("A10", "C05", "J01")
def test_a10_twin_a_chinese_server_is_readable(typed, tmp_path: Path):
    (tmp_path / "says.json").write_text(json.dumps("读取文件。"))
    server = f"{sys.executable} {SERVER} {tmp_path / 'says.json'}"
    for words in (["list", server], ["list", server, "--json"], ["inspect", server], ["call", server, "look"]):
        assert "读取文件。" in typed(*words)[0]
