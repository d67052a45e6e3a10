"""The command tools: results, progress, refusals, and cleanup after a call."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.event_loops import each_event_loop
from support.sources import SOURCES
from support.toolbox.commands import FILES, HOLDS, OURS, PYTHON_PLACES, call, entry, left, python, served
from tooltrue import Client, Server
from tooltrue.errors import ConfigurationError, ToolError
from tooltrue.protocol.types import TextResource
from tooltrue.testing.state import LIMIT
from tooltrue_toolbox.command import AllowList, Command, confined, read, read_text, toolset
from tooltrue_toolbox.completion import wait_until_done
from tooltrue_toolbox.platform import handles, path_syntax
from tooltrue_toolbox.platform.sandbox import supervisor_link
from tooltrue_toolbox.platform.sandbox.programs import LIMITED_BY, ProcessOutcome, SandboxBounds, SandboxJob, run
from tooltrue_toolbox.rooted_paths import Folders

__all__ = ["each_event_loop"]

LINES = python("lines", "import sys; print(*(len(open(file).readlines()) for file in sys.argv[2:]))", arguments=FILES)
PATHS = [str(source.parent) for source in SOURCES]
SOURCE = os.pathsep.join(PATHS)
ACCESS_VIOLATION = 0xC0000005
"""The exit status that Windows has instead of the signal."""

MEASURED = () if LIMITED_BY == "job object" else ("cpu_seconds", "peak_memory_bytes")
"""The figures of the process that the system keeps."""

SLEEPING = "import time; time.sleep(300)"
SLEEP = f"[sys.executable, '-I', '-S', '-c', {SLEEPING!r}, '300.{OURS}']"
"""The command line of a program that outlives each test, as an expression of Python."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("one\ntwo\n")
    return tmp_path / "data"


def code_of(server: Server, command: str, *args: str, **more: Any) -> str:
    result = call(server, command, *args, **more)
    assert result.is_error
    return result.text.rpartition("[")[2].rstrip("]")


# Results


@pytest.mark.process
@pytest.mark.usefixtures("each_event_loop")
def test_the_result_of_a_command_has_its_output_and_exit_code(root: Path) -> None:
    both = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    value = call(served(root, python("both", both)), "both").value
    assert value == {
        "command": "both",
        "working_directory": ".",
        "ended": "exit",
        "exit_code": 3,
        "stdout": f"out{os.linesep}",
        "stderr": f"err{os.linesep}",
        "seconds": value["seconds"],
        **{name: value[name] for name in MEASURED},
    }


@pytest.mark.process
def test_bytes_that_are_no_text_are_told_as_such(root: Path) -> None:
    raw = python("raw", r"import sys; sys.stdout.buffer.write(b'a\377b')")
    assert call(served(root, raw), "raw").value["stdout"] == "a\ufffdb"


@pytest.mark.process
def test_a_signal_is_told_with_a_next_step(root: Path) -> None:
    value = call(served(root, python("crash", "import faulthandler; faulthandler._read_null()")), "crash").value
    assert value["ended"] == "signal"
    assert value["signal"] in (signal.SIGSEGV, ACCESS_VIOLATION)
    assert value["note"].endswith("[TT6145]")


@pytest.mark.process
@pytest.mark.usefixtures("each_event_loop")
def test_the_result_of_a_timed_out_command_has_the_output_before_the_timeout(root: Path) -> None:
    """The script has to have begun before its time is over: on a busy machine it gets more of it."""
    server = served(root, python("slow", "import time; print('begun', flush=True); time.sleep(60)", seconds=20))
    for seconds in (0.5, 4, 16):
        value = call(server, "slow", seconds=seconds).value
        if value["stdout"]:
            break
    assert (value["ended"], value["stdout"]) == ("time", f"begun{os.linesep}")
    assert value["note"].startswith(f"It was ended after {seconds} seconds")


@pytest.mark.process
def test_the_whole_of_long_output_is_read_behind_its_link(root: Path) -> None:
    server = served(root, python("long", "print(*range(1, 200_001), sep='\\n')"))

    async def main() -> tuple[str, str]:
        async with Client(server) as client:
            result = await client.call_tool("execute_command", {"command": "long"})
            link = result.content[-1].uri
            parts = [await client.read_resource(uri) for uri in (link, f"{link}/2", f"{link}/3")]
            return result.value["stdout"], "".join(part.text for part, *_ in parts if isinstance(part, TextResource))

    shown, whole = asyncio.run(main())
    assert whole == "".join(f"{n}{os.linesep}" for n in range(1, 200_001))
    assert "characters left out; all of it: kept:" in shown
    assert len(shown) < 17_000


STEPS = """
import os, sys, time
for word, stream in (("one", sys.stdout), ("two", sys.stderr), ("three", sys.stdout)):
    print(word, file=stream, flush=True)
    while word != "three" and not os.path.exists(f"told-{word}"):
        time.sleep(0.01)
"""


@pytest.mark.process
def test_progress_is_the_newest_line(root: Path) -> None:
    """Each line is printed once the one before has been told: lines that come together are told as one."""
    server = served(root, python("steps", STEPS))
    seen: list[tuple[float, str | None]] = []

    def progress(done: float, total: float | None, text: str | None) -> None:
        seen.append((done, text))
        (root / f"told-{text}").touch()

    async def main() -> None:
        async with Client(server) as client:
            await client.call_tool("execute_command", {"command": "steps"}, progress=progress)

    asyncio.run(main())
    end = len(os.linesep)
    assert seen == [(3 + end, "one"), (6 + 2 * end, "two"), (11 + 3 * end, "three")]


# The end


FOREVER = f"""
import signal, subprocess, sys, time
subprocess.Popen({SLEEP}, start_new_session=True)
print("begun", flush=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.run({SLEEP})
"""
BEGUN = f"import time; print('begun', flush=True); {SLEEPING}"


@pytest.mark.process
@pytest.mark.usefixtures("each_event_loop")
def test_of_a_call_that_was_given_up_nothing_is_left(root: Path) -> None:
    server = served(root, python("forever", FOREVER))
    begun, before = asyncio.Event(), _own_children()

    async def main() -> None:
        async with server.serving(), Client(server) as client:
            arguments = {"command": "forever"}

            def progress(done: float, total: float | None, text: str | None) -> None:
                begun.set()

            running = asyncio.create_task(client.call_tool("execute_command", arguments, progress=progress))
            await asyncio.wait_for(begun.wait(), LIMIT)
            supervisors = _own_children() - before
            assert supervisors
            assert left(f"300.{OURS}") != []
            running.cancel()
            await asyncio.to_thread(_wait_until, lambda: not any(each.is_running() for each in supervisors))

    asyncio.run(main())
    assert left(f"300.{OURS}") == []


@pytest.mark.process
def test_however_often_it_is_given_up_the_program_is_gone_before_the_call_ends(root: Path) -> None:
    async def main() -> set[psutil.Process]:
        begun, before = asyncio.Event(), _own_children()
        with _job(root, BEGUN) as job:
            running = asyncio.create_task(run(job, lambda size, part: begun.set()))
            await asyncio.wait_for(begun.wait(), LIMIT)
            while not running.done():
                running.cancel()
                await asyncio.sleep(0)  # to where it waits for the end
            assert running.cancelled()
            return _own_children() - before

    assert asyncio.run(main()) == set()
    assert left(f"300.{OURS}") == []


@pytest.mark.process
def test_a_supervisor_that_does_not_listen_is_ended_with_all_that_it_holds(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_link, "_GRACE_SECONDS", 0.1)
    before, stopped = _own_children(), list[psutil.Process]()

    def stop_it(size: int, part: bytes) -> None:
        for each in _own_children() - before:
            each.suspend()
            stopped.append(each)

    async def main(seconds: float) -> ProcessOutcome:
        with _job(root, BEGUN, SandboxBounds(seconds=seconds)) as job:
            return await asyncio.wait_for(run(job, stop_it), LIMIT)

    for seconds in (0.5, 4, 16):  # on a busy machine it takes longer to begin
        assert asyncio.run(main(seconds)).cause == "time"
        _wait_until_gone(f"300.{OURS}")
        if stopped:
            break
    assert stopped


@pytest.mark.process
def test_a_cancelled_task_still_waits_for_its_process() -> None:
    async def main() -> int | None:
        reader = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"), stdin=asyncio.subprocess.PIPE
        )
        assert reader.stdin
        waiting = asyncio.create_task(wait_until_done(lambda: reader.returncode is not None, reader.wait))
        for _ in range(3):
            await asyncio.sleep(0)
            waiting.cancel()
        reader.stdin.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return reader.returncode

    assert asyncio.run(main()) == 0


@contextmanager
def _job(root: Path, text: str, bounds: SandboxBounds | None = None) -> Generator[SandboxJob]:
    """A program in Python that works in the folder, and has the word of this run in its command line."""
    folder = handles.open_root(root)
    argv = ("python", "-I", "-S", "-c", text, f"300.{OURS}")
    try:
        yield SandboxJob(
            sys.executable, argv, folder, readable=(sys.executable, *PYTHON_PLACES), bounds=bounds or SandboxBounds()
        )
    finally:
        handles.close(folder)


def _own_children() -> set[psutil.Process]:
    return {*psutil.Process().children()}


def _wait_until_gone(word: str) -> None:
    """Wait for the killed processes to disappear: each exists until the system schedules it once more."""
    _wait_until(lambda: not left(word))


def _wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


# The sandbox


@pytest.mark.process
@pytest.mark.skipif("seccomp" not in HOLDS, reason="needs seccomp, to take the namespaces away")
def test_a_machine_that_lacks_a_hold_says_so_and_refuses_where_it_is_required(root: Path, tmp_path: Path) -> None:
    look = (
        f"import sys; sys.path[:0] = {PATHS!r}; from tooltrue_toolbox.platform.sandbox.programs import what_holds; "
        "print(*what_holds())"
    )
    inside = python("look", look, effect="write").replace("readable = [", f"readable = [{json.dumps(PATHS)[1:-1]}, ")
    found = call(served(root, inside), "look").value["stdout"].split()
    assert found == [name for name in HOLDS if name != "namespaces"]


FALLBACK = """
import asyncio, os, sys
sys.path[:0] = sys.argv[-1].split(os.pathsep)
from pathlib import Path
from tooltrue_toolbox.platform.sandbox.programs import SandboxBounds, SandboxJob, run

def line(file):
    try:
        return file.read_bytes().split(b"\\0")
    except OSError:  # it has ended
        return []

def program(text):
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    bounds = SandboxBounds(seconds=60 if text.endswith("done") else 1, processes=20)
    path = {"PATH": "/usr/bin:/bin"}
    return SandboxJob("/bin/sh", ("sh", "-c", text), folder, path, readable=(os.getcwd(),), bounds=bounds)

async def main():
    for text in sys.argv[1:-1]:
        ended = await run(program(text), lambda size, part: None)
        left = [each for each in Path("/proc").glob("[0-9]*/cmdline") if b"300.41" in line(each)]
        print("namespaces" in ended.holds, ended.cause, len(left), flush=True)

asyncio.run(main())
"""


@pytest.mark.process
@pytest.mark.skipif(len(HOLDS) < 3, reason="needs seccomp, to take the namespaces away, and these, to see what is left")
def test_without_namespaces_too_nothing_is_left(root: Path) -> None:
    begun = "sleep 300.41 & setsid sleep 300.41 & (setsid sh -c 'sleep 300.41 & sleep 300.41' &) ; "
    more = {"arguments": [{"name": "text", "many": True}], "dashes": False, "processes": 200, "seconds": 180}
    inside = python("inside", FALLBACK, **more).replace("readable = [", f"readable = [{json.dumps(PATHS)[1:-1]}, ")
    many = "for i in $(seq 60); do sleep 300.41 & done; wait"
    value = call(served(root, inside), "inside", begun + "echo done", begun + "wait", many, SOURCE).value
    assert value["stdout"].splitlines()[:2] == ["False exit 0", "False time 0"], value
    assert value["stdout"].splitlines()[2] in ("False processes 0", "False time 0")


KILLED = """
import asyncio, os, signal, sys, time
sys.path[:0] = sys.argv[-1].split(os.pathsep)
from pathlib import Path
from tooltrue._internal.platform.processes import descendants
from tooltrue_toolbox.platform.sandbox import supervisor_link
from tooltrue_toolbox.platform.sandbox.programs import SandboxJob, run

supervisor_link._GRACE_SECONDS = 0.1

def line(file):
    try:
        return file.read_bytes().split(b"\\0")
    except OSError:  # it has ended
        return []

def left():
    return len([each for each in Path("/proc").glob("[0-9]*/cmdline") if b"300.43" in line(each)])

def left_in_the_end(wanted):  # what begins or has been killed does so once it gets the processor
    until = time.monotonic() + 60
    while (found := left()) != wanted and time.monotonic() < until:
        time.sleep(0.01)
    return found

def kill_it(size, part):
    mine = f"PPid:\\t{os.getpid()}\\n"
    (supervisor,) = [each for each in descendants() if mine in Path(f"/proc/{each}/status").read_text()]
    os.kill(supervisor, signal.SIGKILL)

async def main():
    for text in sys.argv[1:-1]:
        folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
        job = SandboxJob("/bin/sh", ("sh", "-c", text), folder, {"PATH": "/usr/bin:/bin"})
        ended = await run(job, kill_it)
        print("namespaces" in ended.holds, ended.cause, left_in_the_end(text.count("&")), flush=True)

asyncio.run(main())
"""


@pytest.mark.process
@pytest.mark.skipif(len(HOLDS) < 3, reason="needs seccomp, to take the namespaces away, and these, to see what is left")
def test_a_program_without_namespaces_ends_with_its_supervisor_and_survivors_delay_no_call(
    root: Path,
) -> None:
    inside = python("inside", KILLED, arguments=[{"name": "text", "many": True}], dashes=False, seconds=180)
    inside = inside.replace("readable = [", f"readable = [{json.dumps(PATHS)[1:-1]}, ")
    value = call(served(root, inside), "inside", "echo begun; exec sleep 300.43", "sleep 300.43 & echo begun; wait", SOURCE).value  # fmt: skip  # noqa: E501
    assert value["stdout"].splitlines() == ["False lost 0", "False lost 1"], value


@pytest.mark.process
def test_a_missing_required_sandbox_feature_ends_the_start(root: Path) -> None:
    allowed = AllowList(read_text(LINES).commands, ("no such hold",))
    with pytest.raises(ConfigurationError) as caught:
        toolset(allowed, [root])
    assert caught.value.code == "TT6110"
    assert confined(allowed, "required").required == ("landlock", "seccomp", "namespaces")
    assert confined(allowed, "available").required == ()
    with pytest.raises(ConfigurationError):
        confined(allowed, "never")


# Validation of the command list


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("commands = ", "TT6101"),
        ("[commands.x]\nrun = []\ndescription = 'x'", "TT6102"),
        ("[commands.x]\nrun = ['pwd']", "TT6102"),
        ("[commands.x]\nrun = 'pwd; id'\ndescription = 'x'", "TT6102"),
        ("[commands.x]\nrun = ['pwd']\ndescription = 'x'\nshell = true", "TT6102"),
        ("[commands.'X y!']\nrun = ['pwd']\ndescription = 'x'", "TT6102"),
        (python("x", "pass", arguments=[{"name": "a", "pattern": "("}]), "TT6109"),
        (python("x", "pass", arguments=[{"name": "a", "many": True}, {"name": "b"}]), "TT6109"),
        (entry("x", "no-such-program-at-all"), "TT6103"),
    ],
)
def test_a_list_that_cannot_be_meant_is_not_used(text: str, code: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_text(text)
    assert caught.value.code == code


def test_a_list_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path / "none.toml")
    assert caught.value.code == "TT6101"


def test_a_command_of_which_nothing_is_said_counts_as_the_worst() -> None:
    command = f"[commands.a]\nrun = [{json.dumps(sys.executable)}]\ndescription = 'x'"
    assert read_text(command).effect() == "destructive"
    assert read_text(python("a", "pass", effect="read") + python("b", "pass", effect="write")).effect() == "write"


@pytest.mark.process
@pytest.mark.parametrize(
    ("language", "where"),
    [
        ("en", "in ., without network" if LIMITED_BY is None else "in ., not confined"),
        ("zh", "在 . 中，不能访问网络" if LIMITED_BY is None else "在 . 中，不受约束"),
    ],
    ids=["en", "zh"],
)
def test_a_person_is_asked_about_the_very_words_that_will_run(root: Path, language: str, where: str) -> None:
    text = "open('made','w')"
    allowed = confined(read_text(python("make", text, effect="destructive")), "available")
    server = Server("commands", toolsets=[toolset(allowed, [root])], language=language)
    asked: list[str] = []

    def decide(question: Any) -> bool:
        asked.append(question.message)
        return True

    async def main() -> bool:
        async with Client(server, elicit=decide) as client:
            return (await client.call_tool("execute_command", {"command": "make"})).is_error

    assert asyncio.run(main()) is False
    assert f"{sys.executable} {['-I', '-S', '-c', text]}" in asked[0]
    assert where in asked[0]
    assert sorted(os.listdir(root)) == ["a.txt", "made"]


# Tool definitions and arguments

OPTIONS = python(
    "log",
    "import sys; print(*sys.argv[1:], end=' ')",
    options={"-n": {"type": "integer", "minimum": 1, "maximum": 9}, "--oneline": True, "--since": {"format": "date"}},
    arguments=[{"name": "what", "enum": ["a", "b"]}],
)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["-n"], "TT6122"),
        (["--oneline=yes", "a"], "TT6123"),
        (["--oneline", "--oneline", "a"], "TT6124"),
        (["-n", "10", "a"], "TT6125"),
        (["-n", "1.0", "a"], "TT6125"),
        (["-n", "٣", "a"], "TT6125"),
        (["--since", "yesterday", "a"], "TT6125"),
        (["c"], "TT6125"),
        (["a", "b"], "TT6127"),
        ([], "TT6127"),
        (["--one", "a"], "TT6121"),
        (["-n1", "a"], "TT6121"),
    ],
)
def test_an_invalid_command_argument_is_refused_with_its_code(root: Path, args: list[str], code: str) -> None:
    assert code_of(served(root, OPTIONS), "log", *args) == code


@pytest.mark.process
def test_valid_command_arguments_are_assembled_in_one_order(root: Path) -> None:
    server = served(root, OPTIONS)
    for args in (["b", "-n", "3", "--since=2026-01-31"], ["-n", "3", "--since", "2026-01-31", "--", "b"]):
        assert call(server, "log", *args).value["stdout"] == "-n 3 --since=2026-01-31 -- b "


def test_a_path_counts_from_the_working_directory(root: Path) -> None:
    absolute = str(root / "a.txt")
    if not path_syntax.TAKES_ANY_NAME:  # a word that begins with a slash is refused there as an option
        absolute = absolute.replace("/", "\\")
    assert code_of(served(root, LINES), "lines", absolute) == "TT6128"
    assert code_of(served(root, LINES), "lines", "none.txt") == "TT6020"


def test_of_several_folders_one_has_to_be_named(root: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    allowed = confined(read_text(LINES), "available")
    server = Server("commands", toolsets=[toolset(allowed, [root, tmp_path / "other"])])
    assert code_of(server, "lines", "a.txt") == "TT6129"
    assert code_of(server, "lines", "b.txt", working_directory="other") == "TT6020"


@pytest.mark.process
def test_a_program_that_has_gone_is_told(root: Path, tmp_path: Path) -> None:
    program = tmp_path / "tool.exe"  # the ending makes it a program on Windows, too
    program.touch(0o755)
    server = served(root, entry("tool", str(program)))
    program.unlink()
    assert code_of(server, "tool") == "TT6141"


def test_the_commands_are_listed_with_their_words(root: Path) -> None:
    server = served(root, OPTIONS, LINES)

    async def main() -> tuple[Any, Any]:
        async with Client(server) as client:
            tools = {tool.name: tool for tool in await client.list_tools()}
            return tools["execute_command"], (await client.call_tool("list_commands")).value

    tool, listed = asyncio.run(main())
    assert tool.inputSchema["properties"]["command"]["enum"] == ["lines", "log"]
    assert "- log [-n N(1..9)] [--oneline] [--since TEXT] a|b: Runs log" in tool.description.replace("INTEGER", "N")
    assert listed["commands"][0]["usage"] == "lines FILE…"
    assert listed["held_by"] == [*HOLDS]
    assert tool.annotations.readOnlyHint is True


# Properties of any arguments

ALPHABET = st.text(st.sampled_from("-=nosceb1a/."), min_size=1, max_size=8)
WORDS = st.lists(st.one_of(ALPHABET, st.sampled_from(["-n", "--oneline", "--since", "--", "1", "a", "b", "-c", "-"])), max_size=6)  # fmt: skip  # noqa: E501
LOG: Command = read_text(OPTIONS).commands["log"]


@given(WORDS)
def test_no_words_make_an_option_that_is_not_listed(words: list[str]) -> None:
    with Folders([Path("/")]) as folders:
        try:
            argv = [*LOG.argv(words, folders, ".")][1 + len(LOG.fixed) :]
        except ToolError:
            return
    options, arguments = argv[: argv.index("--")], argv[argv.index("--") + 1 :]
    assert arguments in (["a"], ["b"])
    left_over = iter(options)
    for word in left_over:
        name, _, value = word.partition("=")
        assert name in ("-n", "--oneline", "--since")
        assert bool(value) == (name == "--since")
        assert name != "-n" or next(left_over) in "123456789"
