"""Terminal injection by a server, or by a file that came with a repository: attacks A10, C05 and J01 at every verb that
prints untrusted text."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import sqlite3
import sys
import unicodedata
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pytest

from tooltrue.cli import main as command
from tooltrue.policy.consent.approvals import ApprovalRequest, Approvals
from tooltrue.protocol.terminal import is_ordinary, json_text, one_line, printable
from tooltrue.state.log_thread import COLUMNS
from tooltrue.state.urls import open_facts, open_log
from tooltrue.testing.models import Call, Fails, Says, ScriptedModel

Typed: TypeAlias = Callable[..., tuple[str, str]]

SERVER = Path(__file__).with_name("terminal_server.py")

PAYLOADS = {
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "clear": "\x1b[2J\x1b[H",
    "title": "\x1b]0;all is well\x1b\\",
    "link": "\x1b]8;;https://evil.example/\x1b\\bank\x1b]8;;\x1b\\",
    "hidden": "\x1b[8mhidden\x1b[0m",
    "device": "\x1bP1;1|17/ab\x1b\\",
    "reset": "\x1bc",
    "forged": "1.0\r\nguard   on: all is checked\n\ntooltrue: OK",
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
    """The control characters and invisible characters of a text."""
    blank = "\u3164\u115f\u1160\uffa0\u2800\u034f\ufe01\U000e0100"
    return [
        sign
        for sign in text
        if sign not in "\n\t"
        and (sign in blank or unicodedata.category(sign) in ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"))
    ]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path):
    """A function that runs the command in this process and returns its output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", str(SERVER.parents[1]))

    def run(*words: str) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["tooltrue", *words])
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
def test_a10_no_verb_prints_control_sequences_of_a_server(verb: str, typed: Typed, tmp_path: Path):
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
def test_a10_no_verb_prints_control_sequences_of_a_server_file(verb: str, typed: Typed, tmp_path: Path):
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
def test_a10_no_error_prints_control_sequences_of_a_name(words: list[str], payload: str, typed: Typed):
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
def test_a10_twin_a_chinese_server_is_readable(typed: Typed, tmp_path: Path):
    (tmp_path / "says.json").write_text(json.dumps("读取文件。"))
    server = f"{sys.executable} {SERVER} {tmp_path / 'says.json'}"
    for words in (["list", server], ["list", server, "--json"], ["inspect", server], ["call", server, "look"]):
        assert "读取文件。" in typed(*words)[0]


# --- logs, tickets, rules, questions and models -----------------------------------------------------------------------

HOSTILE = "".join(PAYLOADS.values())


@pytest.fixture(autouse=True)
def _no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def clean(printed: tuple[str, str]) -> bool:
    """Whether the output, which must not be empty, contains no control characters and no invisible characters."""
    assert "".join(printed)
    return hidden_in("".join(printed)) == []


def hostile_log(folder: Path) -> str:
    """An audit log that others have written to: its URL."""
    path = folder / "log.db"
    record = {
        "kind": "call",
        "at": "2026-01-01T00:00:00Z",
        **dict.fromkeys(("who", "subject", "rule", "trace", "code", "id", "called", "instance"), HOSTILE),
        "arguments": {HOSTILE: HOSTILE},
        "effect": "destructive",
        "ms": 1.0,
    }

    async def write() -> None:
        async with open_log(f"sqlite:{path}") as log:
            for outcome in ("ok", "error", HOSTILE):
                await log.append({**record, "outcome": outcome})
            await log.append({**record, "kind": HOSTILE, "outcome": HOSTILE})
            await log.append({"kind": "intent", "at": HOSTILE, "who": HOSTILE, "id": "x", "subject": HOSTILE})

    asyncio.run(write())
    with closing(sqlite3.connect(path)) as db, db:
        single = "INSERT INTO log (position, writer, record, previous, hash) SELECT"
        db.execute(f"{single} -1, ?, record, previous, hash FROM log WHERE position = 1", (HOSTILE,))
        db.execute(f"{single} 9, writer, ?, ?, ? FROM log WHERE position = 1", (HOSTILE, HOSTILE, HOSTILE))
        batch = [12, *[HOSTILE] * 4, 10, *[HOSTILE] * (len(COLUMNS) - 6)]
        db.execute(f"INSERT INTO log ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(batch))})", batch)
    return f"sqlite:{path}"


LOGS = {
    "tail": ["audit", "tail", "--log", "{log}"],
    "tail-json": ["audit", "tail", "--log", "{log}", "--json"],
    "search": ["audit", "search", "--log", "{log}"],
    "search-json": ["audit", "search", "--log", "{log}", "--json"],
    "search-unfinished": ["audit", "search", "--log", "{log}", "--unfinished"],
    "stats": ["audit", "stats", "--log", "{log}"],
    "verify": ["audit", "verify", "--log", "{log}", "--unsealed"],
    "export": ["audit", "export", "--log", "{log}"],
    "unknown": ["audit", "tail", "--server", HOSTILE.replace("\x00", "")],
    "prune": ["audit", "prune", "--log", "{log}", "--before", "2026-06-01"],
    "doctor": ["doctor", "{log}"],
    "doctor-json": ["doctor", "{log}", "--format", "json"],
    "doctor-html": ["doctor", "{log}", "--format", "html"],
    "simulate": ["policy", "simulate", "--config", "{rules}", "--log", "{log}"],
}


@pytest.mark.attack("A10", "J01")
@pytest.mark.parametrize("verb", LOGS)
def test_j01_no_verb_prints_control_sequences_of_a_record(verb: str, typed: Typed, tmp_path: Path):
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rules]]\nname = "all"\nthen = "allow"\n')
    log = hostile_log(tmp_path)
    assert clean(typed(*(word.format(log=log, rules=rules) for word in LOGS[verb])))


@pytest.mark.attack("A10", "J01")
@pytest.mark.parametrize("more", [["list"], ["list", "--json"], ["show", "{id}"], ["show", "{id}", "--json"], ["deny"]])
def test_a10_no_ticket_tells_a_terminal_anything(more: list[str], typed: Typed, tmp_path: Path):
    store = f"sqlite:{tmp_path / 'approvals.db'}"
    wanted = ApprovalRequest(
        HOSTILE, HOSTILE, HOSTILE, "destructive", "pin", {HOSTILE: HOSTILE}, reason=HOSTILE, preview=HOSTILE
    )

    async def ask() -> str:
        async with open_facts(store) as facts:
            return (await Approvals(facts).open(wanted)).id

    words = [word.format(id=asyncio.run(ask())) for word in more]
    assert clean(typed("approvals", "--store", store, *words, *([HOSTILE[1:40]] if more == ["deny"] else [])))


@pytest.mark.attack("A10", "J01")
@pytest.mark.parametrize(
    "words",
    [
        ["policy", "check", "{rules}"],
        ["policy", "check", "{rules}", "{server}"],
        ["policy", "explain", "{server}", "look", "--config", "{rules}"],
        ["policy", "explain", "{server}", "{name}", "--config", "{rules}"],
        ["policy", "simulate", "--config", "{rules}", "--log", "{log}"],
    ],
)
@pytest.mark.parametrize("is_valid", [True, False])
def test_a10_no_file_of_rules_tells_a_terminal_anything(words: list[str], is_valid: bool, typed: Typed, tmp_path: Path):
    text = "".join(sign if sign.isprintable() and sign not in '"\\' else f"\\U{ord(sign):08X}" for sign in HOSTILE)
    rules = tmp_path / "rules.toml"
    rule = f'name = "{text}"\ntools = "look*"\nthen = "deny"\nreason = "{text}"\n'
    rules.write_text(f"[[rules]]\n{rule}" if is_valid else f'[[rules]]\n{rule}"{text}" = 1\n', encoding="utf-8")
    server = tmp_path / "server.py"
    server.write_text(
        f"from tooltrue import Server\nserver = Server('s')\nS = {HOSTILE!r}\n"
        "@server.tool(effect='read')\ndef look() -> str:\n    return S\n"
    )
    log = hostile_log(tmp_path)
    name = HOSTILE.replace("\x00", "")
    assert clean(typed(*(word.format(rules=rules, server=server, log=log, name=name) for word in words)))


@pytest.mark.attack("A10", "J01")
@pytest.mark.parametrize("more", [[], ["--json"]])
@pytest.mark.parametrize("is_valid", [True, False])
def test_j01_the_inventory_tells_a_terminal_nothing(more: list[str], is_valid: bool, typed: Typed, tmp_path: Path):
    payload = HOSTILE.replace("\x00", "")
    servers = {payload: {"command": payload, "args": [payload], "env": {payload: payload}}, "b": {"url": payload}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers} if is_valid else {"mcpServers": payload}))
    assert clean(typed("inventory", str(tmp_path), *more))


@pytest.mark.attack("A10", "C05")
@pytest.mark.parametrize("more", [[], ["--format", "json"]])
def test_a10_the_report_of_a_test_tells_a_terminal_nothing(more: list[str], typed: Typed, tmp_path: Path):
    (tmp_path / "says.json").write_text(json.dumps(HOSTILE))
    server = f"{sys.executable} {SERVER} {tmp_path / 'says.json'}"
    assert clean(typed("test", server, "--calls", "1", "--seconds", "2", "--destructive", "look", *more))


@pytest.mark.attack("A10", "C05")
@pytest.mark.parametrize("more", [[], ["--json"], ["--no-stream"]])
def test_a10_a_chat_tells_a_terminal_nothing(
    more: list[str], typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "says.json").write_text(json.dumps(HOSTILE))
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rules]]\nname = "all"\nthen = "allow"\n')
    server = f"{sys.executable} {SERVER} {tmp_path / 'says.json'}"
    calls = [Call(name, {"q": HOSTILE}) for name in ("server_look", "server_fail", HOSTILE)]
    model = ScriptedModel(Says(HOSTILE, calls=calls), Says(HOSTILE, thinking=HOSTILE), Fails(400, HOSTILE))
    monkeypatch.setattr(sys, "stdin", io.StringIO(HOSTILE))
    with model.serving() as url:
        words = ["chat", server, "--model", "gpt", "--base-url", url, "--rules", str(rules), *more]
        printed = typed(*words)
    assert model.requests, printed
    assert clean(printed)


@pytest.mark.attack("A10", "C05")
@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_a10_the_report_of_an_evaluation_tells_a_terminal_nothing(form: str, typed: Typed, tmp_path: Path):
    (tmp_path / "says.json").write_text(json.dumps(HOSTILE))
    server = f"{sys.executable} {SERVER} {tmp_path / 'says.json'}"
    asked = [{"question": HOSTILE, "tool": name, "arguments": {"q": HOSTILE}} for name in ("look", "fail")]
    (tmp_path / "asked.jsonl").write_text("".join(json.dumps(one) + "\n" for one in asked))
    model = ScriptedModel(Says(HOSTILE, calls=[Call("fail", {HOSTILE: HOSTILE})]), Fails(400, HOSTILE))
    with model.serving() as url:
        words = ["eval", server, "--model", "gpt", "--base-url", url, "--questions", "asked.jsonl", "--format", form]
        printed = typed(*words, "--concurrency", "1")
    assert model.requests, printed
    assert clean(printed)


def test_a_character_is_ordinary_only_if_escaping_leaves_it_unchanged():
    ordinary = [sign for sign in map(chr, range(sys.maxunicode + 1)) if is_ordinary(sign)]
    assert [sign for sign in ordinary if sign != "\n" and one_line(sign) != sign] == []
    assert len(ordinary) > 20_000


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_text_with_a_hidden_payload_is_never_ordinary_wherever_the_payload_stands(payload: str):
    assert not any(map(is_ordinary, (payload, f"plain {payload}", f"{payload} 文字。\n", f"\n{payload}\n")))
    assert is_ordinary("plain, “quoted” — 文字。\n")
