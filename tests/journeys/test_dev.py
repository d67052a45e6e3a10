"""`tooltrue dev`: a server that is loaded anew when its files change, as its author and its clients see it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from journeys.test_cli import run
from support.reading import read_soon
from support.serving import OWN_GROUP, ask_to_end, command, environment, left_of, started_by
from support.terminals import open_terminal, start_at_terminal
from tooltrue.cli.dev_inspector import INSPECTOR
from tooltrue.testing import BlockingClient
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

SERVER = """
from words import WORD
from tooltrue import Server
server = Server("mine", version="1")

@server.tool(effect="read")
def say() -> str:
    \"\"\"Say a word.\"\"\"
    return WORD
"""
MORE = """
@server.tool(effect="destructive")
def forget(what: str) -> str:
    \"\"\"Forget a word.\"\"\"
    return what
"""


class Dev:
    """A running ``tooltrue dev``, and all that it has printed."""

    def __init__(self, popen: subprocess.Popen[bytes], output: int) -> None:
        self.popen = popen
        self.shown = ""
        self._output = output
        self._read = 0

    def until(self, word: str) -> str:
        """Wait until ``word`` is printed; the text from the last word that was waited for to this one."""
        deadline = time.monotonic() + LIMIT
        while (place := self.shown.find(word, self._read)) < 0:
            data = read_soon(self._output, deadline - time.monotonic())
            assert data is not None, f"{word!r} was not printed: {self.shown}"
            assert data, f"it ended without printing {word!r}: {self.shown}"
            self.shown += data.decode()
        text, self._read = self.shown[self._read : place], place + len(word)
        return text

    def type(self, keys: bytes) -> None:
        """Type at the terminal."""
        os.write(self._output, keys)

    @property
    def url(self) -> str:
        return re.findall(r"http://\S+?/mcp", self.shown)[0]

    def ended(self) -> int:
        return self.popen.wait(LIMIT)


@contextmanager
def dev(folder: Path, *words: str, terminal: bool = False, **env: str) -> Iterator[Dev]:
    """``tooltrue dev mine.py`` in ``folder``, on a free port; it, and all that it has started, is gone at the end."""
    run = command("dev", "mine.py", "--http", ":0", *words)
    options: Any = {"cwd": folder, "env": environment(XDG_STATE_HOME=str(folder / "state"), **env)}
    if terminal:
        ours, theirs = open_terminal()
        popen = start_at_terminal(run, theirs, **options)
    else:
        ours, theirs = os.pipe()
        options |= {"stdin": subprocess.DEVNULL, "stdout": theirs, "stderr": theirs}
        popen = cast("subprocess.Popen[bytes]", subprocess.Popen(run, **options, **OWN_GROUP, start_new_session=True))
    os.close(theirs)
    try:
        yield Dev(popen, ours)
    finally:
        if popen.poll() is None:
            processes = started_by(popen.pid)
            if terminal:
                os.write(ours, b"\x03")
            else:
                ask_to_end(popen)
            assert popen.wait(LIMIT) == 0
            assert left_of(processes) == []
        os.close(ours)


def write(folder: Path, server: str = SERVER, word: str = "old") -> None:
    """Write the files that have changed."""
    for file, text in ((folder / "words.py", f"WORD = {word!r}\n"), (folder / "mine.py", server)):
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path)
    return tmp_path


def said(url: str) -> Any:
    with BlockingClient(url) as client:
        return client.call("say").value


# -- reloading ---------------------------------------------------------------------------------------------------------


def test_a_change_of_the_file_or_of_a_module_beside_it_is_served_at_once(folder: Path):
    with dev(folder) as running:
        assert "mine 1 serves at http://127.0.0.1:" in running.until("Ctrl-C ends it.")
        running.until("say  read-only  Say a word.")
        assert said(running.url) == "old"
        write(folder, word="new")
        running.until("Changed: words.py.")
        running.until("Loaded anew; the contract is the same.")
        assert said(running.url) == "new"


def test_the_changes_of_the_contract_are_shown_by_class(folder: Path):
    with dev(folder) as running:
        running.until("say  read-only")
        write(folder, SERVER.replace("Say a word", "Say the word") + MORE)
        running.until("Changed: mine.py.")
        running.until("the contract has changed: 1 text, 1 added.")
        running.until("added     $.tools.forget  forget is new.")
        running.until("text      $.tools.say.description")
        write(folder)
        running.until("removed   $.tools.forget")


def test_a_file_that_cannot_be_loaded_names_its_line_and_leaves_the_server_as_it_was(folder: Path):
    with dev(folder) as running:
        running.until("say  read-only")
        for faulty, error in (
            ("def broken(:\n", "mine.py, line 1, raised SyntaxError"),
            (SERVER.replace("-> str", "-> str, int"), "mine.py, line 7, raised SyntaxError"),
            (SERVER.replace("def say()", "def say(a)"), "[TT3005]"),
            ("import sys\nsys.exit(3)\n", "with the exit code 3"),
        ):
            write(folder, faulty)
            running.until("Changed: ")
            running.until(error)
        assert said(running.url) == "old"
        write(folder, word="new")
        running.until("the contract is the same.")
        assert said(running.url) == "new"


def test_a_file_that_cannot_be_loaded_at_first_is_served_as_soon_as_it_can(folder: Path):
    write(folder, "from missing_module_of_mine import X\n")
    with dev(folder) as running:
        running.until("No server runs. It starts when a file changes.")
        write(folder)
        running.until("say  read-only")


def test_a_program_that_ends_while_it_serves_is_started_at_the_next_change(folder: Path):
    with dev(folder) as running:
        running.until("say  read-only")
        [child] = started_by(running.popen.pid)
        psutil.Process(child).kill()
        code = "-9" if hasattr(signal, "SIGKILL") else ""  # elsewhere, the one who kills it chooses the code
        running.until(f"The program has ended by itself, with the exit code {code}")
        write(folder, word="new")
        running.until("the contract is the same.")


def test_a_session_outlives_a_reload(folder: Path):
    with dev(folder) as running:
        running.until("say  read-only")
        with BlockingClient(running.url, revision="2025-06-18") as client:
            assert client.call("say").value == "old"
            write(folder, word="new")
            running.until("the contract is the same.")
            assert client.call("say").value == "new"


def test_options_of_the_program_and_of_the_command_are_kept(folder: Path):
    chosen = SERVER.replace("from words import WORD", "import sys\nWORD = ' '.join(sys.argv[1:])") + MORE
    write(folder, chosen)
    with dev(folder, "--no-confirm", "--", "--greeting", "Moin") as running:
        running.until("say     read-only")
        assert said(running.url) == "--greeting Moin"
        with BlockingClient(running.url) as client:
            assert client.call("forget", what="it").value == "it"


# -- the end -----------------------------------------------------------------------------------------------------------


@pytest.mark.needs("terminals")
def test_ctrl_c_at_a_terminal_ends_all_processes(folder: Path):
    slow = SERVER + "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])\n"
    write(folder, slow)
    with dev(folder, terminal=True) as running:
        running.until("say  read-only")
        processes = started_by(running.popen.pid)
        assert len(processes) == 2
        running.type(b"\x03")
        assert running.ended() == 0
        assert left_of(processes) == []
    assert "Traceback" not in running.shown


@pytest.mark.needs("signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_it_while_the_program_is_still_loading(name: str, folder: Path):
    write(folder, "print('loading', flush=True)\nimport time\ntime.sleep(300)\n")
    with dev(folder) as running:
        running.until("loading")
        processes = started_by(running.popen.pid)
        running.popen.send_signal(signal.Signals[name])
        assert running.ended() == 0
        assert left_of(processes) == []


def test_the_server_does_not_outlive_a_dev_that_was_killed(folder: Path):
    with dev(folder) as running:
        running.until("say  read-only")
        processes = started_by(running.popen.pid)
        running.popen.kill()
        running.ended()
        assert left_of(processes) == []


# -- where it serves ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("files",), "TT4620"),
        (("http://127.0.0.1:1/mcp",), "TT4620"),
        (("nowhere.py",), "TT4002"),
        ((r"C:\nowhere.py:server",), "TT4002"),
        (("mine.py", "--http", "0.0.0.0:8000"), "TT4621"),
        (("mine.py", "--http", "nonsense"), "TT4003"),
        (("mine.py", "--port", "8000"), "TT4020"),
        (("mine.py", "--inspector"), "TT4630"),
        ((), "TT4019"),
    ],
)
def test_2_is_wrong_usage_of_dev(words: tuple[str, ...], code: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    for language in ("en", "zh"):
        done = run("--lang", language, "dev", *words)
        assert (done.returncode, f"[{code}]" in done.stderr) == (2, True), done.stderr


def test_in_a_chinese_locale_it_speaks_chinese(folder: Path):
    with dev(folder, "--lang", "zh") as running:
        running.until("正在")
        running.until("say  read-only")
        write(folder, "def broken(:\n")
        running.until("引发了 SyntaxError")
        running.until("此次变化之前的服务器继续运行")


# -- the Inspector -----------------------------------------------------------------------------------------------------

NPX = f"""#!{sys.executable}
import sys, time
print("npx was given:", *sys.argv[1:], flush=True)
time.sleep(300)
"""
NPX_OF_WINDOWS = f'@"{sys.executable}" "%~dp0npx" %*\n'


@pytest.fixture
def npx(tmp_path: Path) -> str:
    """A PATH on which npx only tells its arguments."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "npx").write_text(NPX)
    (tmp_path / "bin" / "npx.cmd").write_text(NPX_OF_WINDOWS)
    (tmp_path / "bin" / "npx").chmod(0o755)
    return f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.needs("terminals")
def test_the_inspector_is_fetched_when_a_person_agrees_and_not_before(folder: Path, npx: str):
    with dev(folder, "--inspector", terminal=True, PATH=npx) as running:
        running.until(f"`npx --yes {INSPECTOR} --transport http --server-url http://127.0.0.1:")
        assert "npx was given" not in running.until("Start it? [y/N]: ")
        running.type(b"y\n")
        running.until(f"npx was given: --yes {INSPECTOR} --transport http --server-url {running.url}")
        processes = started_by(running.popen.pid)
        running.type(b"\x03")
        assert running.ended() == 0
        assert left_of(processes) == []


@pytest.mark.needs("terminals")
def test_without_an_agreement_the_server_runs_alone(folder: Path, npx: str):
    with dev(folder, "--inspector", terminal=True, PATH=npx) as running:
        running.until("Start it? [y/N]: ")
        running.type(b"\n")
        running.until("say  read-only")
        assert len(started_by(running.popen.pid)) == 1


def test_in_a_script_yes_agrees(folder: Path, npx: str):
    with dev(folder, "--inspector", "--yes", PATH=npx) as running:
        running.until(f"npx was given: --yes {INSPECTOR}")
        write(folder, word="new")
        running.until("the contract is the same.")  # and the Inspector is started once
        assert running.shown.count("npx was given") == 1


def test_without_node_the_command_is_named_and_the_server_runs(folder: Path):
    with dev(folder, "--inspector", "--yes", PATH=str(folder)) as running:
        running.until("The Inspector needs Node.js, and there is no npx here.")
        running.until("say  read-only")


def test_the_release_of_the_inspector_is_the_one_that_is_tested():
    package = Path(__file__).parents[1] / "interop" / "node" / "package.json"
    tested = json.loads(package.read_text())["dependencies"]["@modelcontextprotocol/inspector"]
    assert f"@modelcontextprotocol/inspector@{tested}" == INSPECTOR
