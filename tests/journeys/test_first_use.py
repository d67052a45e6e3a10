"""Commands as somebody types them for the first time, slips of the keyboard included."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from journeys.test_cli import other, run
from support.reading import read_soon
from support.serving import META, SERVER, command, environment
from support.terminals import open_terminal, start_at_terminal
from tooltrue.cli.families import FamilyOptions
from tooltrue.cli.targets import Spec, load_server
from tooltrue.protocol import versions
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

TYPES = """
from enum import IntEnum
from typing import Literal, NamedTuple

from pydantic import BaseModel

from tooltrue import Server

server = Server("types")

class Place(NamedTuple):
    x: int
    y: int

class Size(IntEnum):
    SMALL = 1
    LARGE = 2

class User(BaseModel):
    name: str
    places: list[Place] = []

class Node(BaseModel):
    kids: list["Node"] = []

@server.tool(effect="read")
def show(
    user: User,
    size: Size,
    node: Node,
    users: list[User],
    named: dict[str, User],
    pair: tuple[int, str],
    numbers: list[int | None],
    kind: Literal["a", "b"],
    maybe: User | None = None,
) -> str:
    return "shown"
"""

NOISY = """
import os, subprocess, sys
print("imported")
from tooltrue import Server
server = Server("noisy")

@server.tool(effect="read")
def speak() -> dict[str, int]:
    print("printed")
    sys.stdout.write("written\\n")
    os.write(1, b"to the descriptor\\n")
    subprocess.run(["echo", "by a child"])
    return {"a": 1}
"""

LENIENT = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    match message["method"]:
        case "initialize":
            info = {"name": "x", "version": "1"}
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            result = {"tools": [{"name": "get_notes", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            result = {"content": [{"type": "text", "text": "No such tool"}], "isError": True}
        case _:
            error = {"code": -32601, "message": "no"}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
            continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


CHOOSING = """
import argparse
from tooltrue import Server
parser = argparse.ArgumentParser()
parser.add_argument("--greeting", default="Hello")
chosen = parser.parse_args()
server = Server("choosing")

@server.tool(effect="read")
def greet() -> str:
    \"\"\"Greet the user.\"\"\"
    return chosen.greeting
"""


def written(folder: Path, code: str, name: str = "server.py") -> str:
    path = folder / name
    path.write_text(code)
    return str(path)


# -- list --------------------------------------------------------------------------------------------------------------


def test_a_list_names_the_types_of_references_and_of_array_items(tmp_path: Path):
    shown = run("list", written(tmp_path, TYPES)).stdout
    rows = [" ".join(line.split()).partition(" ") for line in shown.splitlines() if line.startswith("      ")]
    assert {name: type for name, _, type in rows} == {
        "user": "object {name, places?}",
        "size": "1|2",
        "node": "object {kids?}",
        "users": "array of object {name, places?}",
        "named": "object of object {name, places?}",
        "pair": "array [integer, string]",
        "numbers": "array of (integer|null)",
        "kind": "a|b",
        "maybe?": "object {name, places?}|null (default null)",
    }


@pytest.mark.parametrize(
    ("more", "said"), [((), "no tools"), (("--prompts",), "no prompts"), (("--resources",), "no resources")]
)
def test_a_server_that_has_none_is_said_to_have_none(more: tuple[str, ...], said: str, tmp_path: Path):
    empty = written(tmp_path, "from tooltrue import Server\nserver = Server('empty')\n")
    done = run("list", empty, *more)
    assert (done.returncode, done.stdout.startswith(f"{empty} has {said}")) == (0, True)
    assert run("list", empty, *more, "--json").stdout == "[]\n"


@pytest.mark.parametrize("words", [("list", "{file}"), ("list", "{file}", "--json"), ("call", "{file}", "good_pid")])
def test_a_file_without_a_usable_server_exits_with_4(words: tuple[str, ...], tmp_path: Path):
    servers = {name: {"command": sys.executable, "args": [str(SERVER), name]} for name in ("good", "better")}
    file = written(tmp_path, json.dumps({"mcpServers": servers}), "mcp.json")
    done = run(*(word.format(file=file) for word in words), XDG_STATE_HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (4, "")
    assert "good (refused), better (refused)" in done.stderr
    assert "[TT4018]" in done.stderr


# -- call --------------------------------------------------------------------------------------------------------------


def test_a_tool_that_is_not_there_is_a_slip_and_the_nearest_is_named(tmp_path: Path):
    for target in (str(SERVER), f"{sys.executable} {SERVER}"):
        done = run("call", target, "refuze")
        assert (done.returncode, done.stdout) == (2, "")
        assert "no tool 'refuze'. Near: refuse." in done.stderr


def test_so_it_is_where_a_server_answers_with_a_result_that_is_an_error(tmp_path: Path):
    done = run("call", other(tmp_path, LENIENT), "get_note")
    assert (done.returncode, done.stdout) == (2, "No such tool\n")
    assert "Near: get_notes." in done.stderr
    assert run("call", other(tmp_path, LENIENT), "get_notes").returncode == 1


def test_an_old_name_of_a_tool_is_no_slip(tmp_path: Path):
    code = (
        "from tooltrue import Server, ToolError\nserver = Server('s')\n"
        "@server.tool(effect='read', replaces='old')\ndef new(wrong: bool = False) -> str:\n"
        "    if wrong:\n        raise ToolError('no')\n    return 'called'\n"
    )
    server = written(tmp_path, code)
    assert run("call", server, "old").stdout == "called\n"
    assert run("call", server, "old", "wrong=true").returncode == 1


def test_standard_output_holds_only_the_result_even_of_a_tool_that_prints(tmp_path: Path):
    noisy = written(tmp_path, NOISY)
    done = run("call", noisy, "speak", "--json")
    assert json.loads(done.stdout)["structuredContent"] == {"a": 1}
    for word in ("imported", "printed", "written", "to the descriptor", "by a child"):
        assert word in done.stderr
    assert json.loads(run("list", noisy, "--json").stdout)[0]["name"] == "speak"
    assert run("call", noisy, "speak").stdout == '{"a":1}\n'


def test_the_output_of_a_file_at_load_time_is_no_message_of_its_server(tmp_path: Path):
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": META}})
    done = run("serve", written(tmp_path, NOISY), input=f"{asked}\n")
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1]
    assert "imported" in done.stderr


# -- options of the author's program -----------------------------------------------------------------------------------


def test_words_behind_two_dashes_are_the_options_of_the_program_of_the_author(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    server = written(tmp_path, CHOOSING, "choosing.py")
    assert run("call", server, "greet").stdout == "Hello\n"  # it does not see the words for tooltrue
    assert run("call", server, "greet", "--", "--greeting", "Moin").stdout == "Moin\n"
    assert run("list", "choosing:server", "--", "--greeting", "Moin").returncode == 0
    assert '"functional"' in run("test", server, "--calls", "1", "--format", "json", "--", "--greeting", "Moin").stdout
    asked = {"name": "greet", "arguments": {}, "_meta": META}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked})
    done = run("serve", server, "--", "--greeting", "Moin", input=f"{line}\n")
    assert json.loads(done.stdout)["result"]["content"][0]["text"] == "Moin"


def test_an_error_of_that_program_is_told_in_its_own_words(tmp_path: Path):
    done = run("list", written(tmp_path, CHOOSING), "--", "--greating", "Moin")
    assert (done.returncode, "unrecognized arguments: --greating Moin" in done.stderr) == (2, True)


@pytest.mark.parametrize("target", ["files", "http://127.0.0.1:9/mcp", "python x.py", "servers.json"])
def test_such_options_are_refused_for_a_target_that_is_no_program_of_ours(target: str):
    done = run("list", target, "--", "--greeting", "Moin")
    assert (done.returncode, "[TT4600]" in done.stderr) == (2, True)


def test_an_approval_for_some_options_of_a_program_is_none_for_others(tmp_path: Path):
    server = Spec(written(tmp_path, CHOOSING, "chosen.py"))
    other = replaced_family(server, "--greeting", "Moin")
    first, again, second = (load_server(one).settings.started for one in (server, server, other))
    assert first == again != second


def replaced_family(spec: Spec, *program: str) -> Spec:
    return replace(spec, family=FamilyOptions(program=program))


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("lst", "x.py"), "tooltrue list?"),
        (("ls", "x.py"), "tooltrue list?"),
        (("run", "x.py"), "tooltrue serve?"),
        (("serve", "x.py", "--reload"), "tooltrue dev FILE?"),
        (("audit", "tial"), "tooltrue audit tail?"),
        (("policy", "expain"), "tooltrue policy explain?"),
        (("qqqq",), "There are: approvals, audit, call"),
        (("serve", "x.py", "--port", "80"), "--http :PORT?"),
    ],
)
def test_a_mistyped_command_or_option_is_answered_with_the_intended_one(words: tuple[str, ...], meant: str):
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert meant in done.stderr


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (("eval",), "TARGET, --model MODEL, --questions FILE"),
        (("eval", "x.py", "--questions", "q"), "--model MODEL"),
        (("chat",), "TARGET or --config FILE, --model MODEL"),
        (("chat", "--model", "m"), "TARGET or --config FILE"),
        (("call",), "TARGET, TOOL"),
        (("diff", "a"), "NEW"),
    ],
)
def test_all_that_is_missing_is_named_at_once_with_an_example(words: tuple[str, ...], missing: str):
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{words[0]} needs {missing}. Example: tooltrue {words[0]} " in done.stderr
    assert "需要" in run("--lang", "zh", *words).stderr


@pytest.mark.parametrize("words", [("list", "nowhere.py"), ("list", "nowhere:x"), ("call", str(SERVER), "add", "a")])
def test_an_error_in_chinese_is_chinese_to_its_end(words: tuple[str, ...]):
    english = ("there is", "write", "module 'nowhere'.")
    said = run("--lang", "zh", *words).stderr
    assert not any(word in said for word in english), said


# -- at a terminal -----------------------------------------------------------------------------------------------------


def ended_by_interrupt(process: subprocess.Popen[bytes], terminal: int) -> None:
    """Press Ctrl-C until the process has ended: CPython drops an interrupt that arrives while a finalizer runs, as many
    do at the start of a program, and a person presses again."""
    for seconds in (LIMIT / 4, LIMIT / 4, LIMIT / 2):
        os.write(terminal, b"\x03")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            return
    raise AssertionError("it goes on in spite of three interrupts")


def at_a_terminal(words: Sequence[str], mark: str) -> str:
    """The output, up to ``mark``, of a command that a person ends with Ctrl-C."""
    ours, theirs = open_terminal()
    with start_at_terminal(words, theirs, env=environment()) as process:
        os.close(theirs)
        seen = b""
        while mark.encode() not in seen and (data := read_soon(ours)):
            seen += data
        try:
            ended_by_interrupt(process, ours)
        finally:
            process.kill()  # or leaving this block would wait for ever
            os.close(ours)
    return seen.decode()


@pytest.mark.needs("terminals")
def test_a_server_at_a_terminal_says_that_it_waits_for_a_client(tmp_path: Path):
    shown = at_a_terminal(command("serve", str(SERVER)), "Ctrl-C ends it.")
    assert "author waits for a client on standard input: a host starts it" in shown
    assert f"`tooltrue list {SERVER}`" in shown
    script = written(tmp_path, "from tooltrue import Server\nServer('mine').run()\n")
    shown = at_a_terminal([sys.executable, script], "Ctrl-C ends it.")
    assert "mine waits for a client" in shown
    assert f"`tooltrue serve {script} --http :8000`" in shown


@pytest.mark.needs("terminals")
def test_a_server_at_a_terminal_names_the_tools_that_do_not_say_enough(tmp_path: Path):
    code = (
        "from tooltrue import Server\nserver = Server('bare')\n"
        "@server.tool\ndef nameless(a: int) -> int:\n    return a\n"
        "@server.tool(effect='read')\ndef mute() -> int:\n    return 1\n"
    )
    target = written(tmp_path, code)
    for more in ((), ("--http", ":0")):
        shown = at_a_terminal(command("serve", target, *more), "http" if more else "Ctrl-C ends it.")
        [line] = [line for line in shown.splitlines() if "without a description" in line]
        assert "Tools without a description: mute, nameless. Tools without a declared effect: nameless." in line
        assert f"`tooltrue check {target}`" in line


def test_a_server_under_a_host_says_nothing_of_that():
    for words in (command("serve", str(SERVER)), [sys.executable, str(SERVER)]):
        done = subprocess.run(words, input="", capture_output=True, text=True, timeout=LIMIT, env=environment())
        assert (done.returncode, done.stderr) == (0, "")


# -- revisions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", versions.ALL)
def test_a_revision_is_spoken_where_one_is_asked_for(revision: str, tmp_path: Path):
    argv = [sys.executable, str(SERVER)]
    file = written(tmp_path, json.dumps({"mcpServers": {"a": {"command": argv[0], "args": argv[1:]}}}), "mcp.json")
    env = {"XDG_STATE_HOME": str(tmp_path)}
    assert run("trust", file, "--yes", **env).returncode == 0
    said = run("inspect", " ".join(argv), "--revision", revision, "--json").stdout
    assert json.loads(said)["server"]["revision"] == revision
    assert run("call", " ".join(argv), "add", "a=1", "--revision", revision).stdout == "3\n"
    [server] = json.loads(run("inspect", file, "--revision", revision, "--json", **env).stdout)["servers"]
    assert server["revision"] == revision
    assert run("call", file, "a_add", "a=1", "--revision", revision, **env).stdout == "3\n"


def test_a_revision_that_a_server_does_not_speak_is_an_error(tmp_path: Path):
    legacy = other(tmp_path, LENIENT)
    assert run("list", legacy).returncode == 0
    done = run("list", legacy, "--revision", "2026-07-28")
    assert (done.returncode, done.stdout) == (3, "")
    assert run("list", legacy, "--revision", "2020-01-01").returncode == 2


# -- inspect -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("--plan", "add")])
def test_no_line_of_an_inspection_is_wider_than_a_terminal(words: tuple[str, ...], tmp_path: Path):
    shown = run("inspect", str(SERVER), *words, XDG_STATE_HOME=str(tmp_path / ("long" * 30))).stdout
    assert max(map(len, shown.splitlines())) <= 120
    assert "errors_as_results" in shown


# -- audit -------------------------------------------------------------------------------------------------------------


def test_the_log_that_was_written_last_is_shown_or_that_of_a_target(tmp_path: Path):
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    older, newer = (
        written(
            tmp_path,
            f"from tooltrue import Server\nserver = Server('{name}')\n"
            "@server.tool(effect='read')\ndef look() -> str:\n    return 'x'\n",
            f"{name}.py",
        )
        for name in ("older", "newer")
    )
    assert "TT7016" in run("audit", "tail", **env).stderr
    for server in (older, newer):
        assert run("call", server, "look", **env).returncode == 0
    assert '"kind":"call"' in run("audit", "tail", older, "--json", **env).stdout  # to read is not to write
    for verb in ("tail", "search", "stats"):
        done = run("audit", verb, **env)
        assert (done.returncode, "look" in done.stdout) == (0, True)
        assert "the log of newer, which was written last" in done.stderr
    done = run("audit", "verify", **env)
    assert (done.returncode, "the log of newer, which was written last" in done.stderr) == (0, True)
    done = run("audit", "verify", older, **env)
    assert (done.returncode, done.stdout.startswith("OK: no record was changed")) == (0, True)
    assert run("--lang", "zh", "audit", "verify", older, **env).stdout.startswith("正常：")
    assert run("audit", "tail", "--server", "older", older, **env).returncode == 2
    assert "TT7019" in run("audit", "tail", "https://tools.example.com/mcp", **env).stderr
