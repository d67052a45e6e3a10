"""Attacks on the command tools, a row of the attack list each, with a benign twin that looks alike and must pass.

The programs are real, and so is the sandbox: the one that the kernel of this machine supports.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.event_loops import each_event_loop
from support.toolbox.commands import (
    ANYTHING,
    FILES,
    HOLDS,
    OURS,
    SECRET,
    call,
    entry,
    left,
    python,
    script,
    served,
    served_folder,
)
from tooltrue import Client, Server
from tooltrue.errors import ConfigurationError
from tooltrue_toolbox.command import read, read_text, simple, toolset

__all__ = ["each_event_loop"]

pytestmark = pytest.mark.process


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return served_folder(tmp_path)


@contextmanager
def refused(code: str) -> Generator[None]:
    with pytest.raises(ConfigurationError) as caught:
        yield
    assert caught.value.code == code


def printed(server: Server, command: str, *args: str) -> str:
    return call(server, command, *args).value["stdout"]


def turned_down(server: Server, command: str, *args: str) -> str:
    """The code of the refusal."""
    result = call(server, command, *args)
    assert result.is_error
    return result.text.splitlines()[-1].rpartition("[")[2].rstrip("]")


# E01


SHELL = ["a; id", "$(id)", "`id`", "a && id", "a | id", "> outside", "*", "~", "$HOME", "${IFS}", "!!", "{a,b}"]


def test_e01_shell_syntax_in_an_argument_is_plain_text(root: Path) -> None:
    server = served(root, entry("say", "echo", arguments=ANYTHING, dashes=False))
    assert printed(server, "say", *SHELL) == " ".join(SHELL) + "\n"
    assert sorted(os.listdir(root)) == ["a.txt", "sub"]


def test_e01_a_line_of_shell_is_no_command(root: Path) -> None:
    server = served(root, entry("say", "echo", arguments=ANYTHING))
    for line in ("say; id", "/bin/sh -c id", "sh", "say\nid", "echo"):
        assert turned_down(server, line)


def test_e01_twin_words_with_spaces_and_quotes_stay_whole(root: Path) -> None:
    server = served(root, entry("count", "printf", "%s|", arguments=ANYTHING, dashes=False))
    assert printed(server, "count", "two words", "it's", '"quoted"') == 'two words|it\'s|"quoted"|'


# E02


def test_e02_no_value_becomes_an_option(root: Path) -> None:
    server = served(
        root,
        entry("lines", "wc", "-l", arguments=FILES),
        entry("find text", "grep", options={"-m": {"type": "integer"}, "--label": {}}, arguments=[{"name": "word"}]),
    )
    for args in (["--files0-from=/etc/passwd"], ["-c"], ["--", "--files0-from=x"], ["--", "-c"]):
        assert turned_down(server, "lines", *args) in ("TT6121", "TT6126")
    for args in (["-f/etc/passwd"], ["-m", "-f"], ["--label", "--file=x", "a"], ["--lab=x", "a"], ["-m3", "a"]):
        assert turned_down(server, "find text", *args) in ("TT6121", "TT6125", "TT6126")


def test_e02_arguments_stand_behind_two_dashes(root: Path) -> None:
    server = served(root, entry("words", "echo", options={"--label": {}}, arguments=ANYTHING))
    assert printed(server, "words", "a", "--label", "x", "b") == "--label=x -- a b\n"


def test_e02_twin_a_file_whose_name_begins_with_a_dash_is_counted(root: Path) -> None:
    (root / "-c").write_text("one\n")
    server = served(root, entry("lines", "wc", "-l", arguments=FILES))
    assert printed(server, "lines", "./-c") == "1 ./-c\n"


def test_e02_twin_a_negative_number_is_a_number(root: Path) -> None:
    server = served(root, entry("numbers", "seq", arguments=[{"name": "n", "type": "integer", "many": True}]))
    assert printed(server, "numbers", "-1", "1") == "-1\n0\n1\n"


# E03


@pytest.mark.parametrize(
    ("run", "more", "code"),
    [
        (["sh", "-c"], {"arguments": ANYTHING}, "TT6105"),
        (["python3"], {"options": {"-c": {}}}, "TT6105"),
        (["env"], {"arguments": ANYTHING}, "TT6105"),
        (["awk"], {"arguments": ANYTHING}, "TT6105"),
        (["xargs", "-a", "list"], {"arguments": ANYTHING}, "TT6105"),
        (["find", "."], {"options": {"-exec": {}}}, "TT6106"),
        (["find", "."], {"options": {"-delete": True}}, "TT6106"),
        (["sort"], {"options": {"--compress-program": {}}}, "TT6106"),
        (["tar", "-tf"], {"options": {"--to-command": {}}}, "TT6106"),
    ],
)
def test_e03_a_template_that_lets_a_model_run_anything_is_not_loaded(
    run: list[str], more: dict[str, object], code: str
) -> None:
    with refused(code):
        read_text(entry("it", *run, **more))


def program(folder: Path, name: str) -> str:
    """A program so called."""
    place = folder / name
    place.write_text("#!/bin/sh\n")
    place.chmod(0o755)
    return str(place)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *((name, "TT6105") for name in ("npx", "uvx", "dc", "less", "sqlite3", "psql", "view", "ash", "rbash")),
        *((name, "TT6105") for name in ("tmux", "taskset", "systemd-run", "tclsh8.6", "node18", "original-awk")),
        *((name, "TT6112") for name in ("git", "npm", "cargo", "pip3", "openssl")),
    ],
)
def test_e03_a_program_that_takes_commands_as_arguments_is_not_loaded(tmp_path: Path, name: str, code: str) -> None:
    with refused(code):
        read_text(entry("it", program(tmp_path, name), arguments=ANYTHING))


@pytest.mark.parametrize(
    "run", [["git", "log"], ["lessecho"], ["viewres"], ["nodes"], ["shasum"], ["timedatectl"], ["npm", "ls"]]
)
def test_e03_twin_names_that_begin_alike_and_words_that_are_fixed(tmp_path: Path, run: list[str]) -> None:
    read_text(entry("it", program(tmp_path, run[0]), *run[1:], arguments=ANYTHING))


def test_e03_an_option_outside_the_allowlist_is_refused(root: Path) -> None:
    server = served(root, entry("files", "find", ".", options={"-name": {}}, dashes=False))
    for args in (["-exec", "id", ";"], ["-name", "a", "-delete"], ["-fprint", "x"]):
        assert turned_down(server, "files", *args) == "TT6121"


def test_e03_twin_a_script_of_the_operator_takes_words(root: Path, tmp_path: Path) -> None:
    (tmp_path / "report.sh").write_text('echo "report on $1"\n')
    server = served(root, entry("report", "/bin/sh", str(tmp_path / "report.sh"), arguments=[{"name": "on"}], dashes=False))  # fmt: skip  # noqa: E501
    assert printed(server, "report", "$(id)") == "report on $(id)\n"


def test_e03_twin_files_are_found_by_name(root: Path) -> None:
    server = served(root, entry("files", "find", ".", options={"-name": {}}, dashes=False))
    assert printed(server, "files", "-name", "*.txt") == "./a.txt\n"


# E04


def test_e04_a_program_in_the_working_folder_shadows_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", f".:{root}:{os.environ['PATH']}")
    (root / "wc").write_text("#!/bin/sh\necho shadowed\n")
    (root / "wc").chmod(0o755)
    server = served(root, entry("lines", "wc", "-l", arguments=FILES), script("nested", "wc -l a.txt"))
    assert printed(server, "lines", "a.txt") == "2 ./a.txt\n"
    assert printed(server, "nested") == "2 a.txt\n"


def test_e04_a_program_that_commands_can_change_is_not_loaded(root: Path) -> None:
    (root / "tool").write_text("#!/bin/sh\n")
    (root / "tool").chmod(0o755)
    with refused("TT6104"):
        toolset(read_text(entry("it", str(root / "tool"))), [root])
    for name in ("./tool", "tool", "sub/tool", "/no/such/program"):
        with refused("TT6103"):
            read_text(entry("it", name))


def test_e04_a_link_to_a_program_that_commands_can_change_is_not_loaded(root: Path) -> None:
    (root / "wc").symlink_to("/usr/bin/wc")
    with refused("TT6104"):
        served(root, entry("count", str(root / "wc")))


def test_e04_twin_a_program_elsewhere_is_run_by_its_absolute_path(root: Path, tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\necho elsewhere\n")
    (tmp_path / "tool").chmod(0o755)
    assert printed(served(root, entry("it", str(tmp_path / "tool"))), "it") == "elsewhere\n"


# E05


def test_e05_no_variable_of_the_server_environment_reaches_a_program(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = ("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONSTARTUP", "GIT_SSH_COMMAND", "NODE_OPTIONS", "BASH_ENV")
    for name in (*hostile, "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "/tmp/evil.so")
    seen = printed(served(root, entry("variables", "env")), "variables")
    assert {line.partition("=")[0] for line in seen.splitlines()} == {
        "GIT_TERMINAL_PROMPT",
        "HOME",
        "LANG",
        "NO_COLOR",
        "PAGER",
        "PATH",
        "TERM",
        "TMPDIR",
    }
    assert "evil" not in seen


def test_e05_twin_allowlisted_variables_reach_a_program(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITION", "second")
    more = {"environment": {"STAGE": "test"}, "pass_environment": ["EDITION"]}
    seen = printed(served(root, entry("variables", "env", **more)), "variables").splitlines()
    assert {"STAGE=test", "EDITION=second"} <= {*seen}


# E06


def test_e06_spellings_that_shells_read_as_something_else_stay_as_they_are(root: Path) -> None:
    server = served(root, entry("say", "echo", arguments=ANYTHING, dashes=False))
    odd = ["r\\m", '"r"m', "$X", "a#b", "\\$(id)", "'", "%0a", "\u2028id"]
    assert printed(server, "say", *odd[:-1]) == " ".join(odd[:-1]) + "\n"
    for word in ("a\nid", "a\rid", "a\0id", "\x1b[2J"):
        assert turned_down(server, "say", word) == "TT2001"


def test_e06_twin_words_in_other_writings_pass(root: Path) -> None:
    server = served(root, entry("say", "echo", arguments=ANYTHING, dashes=False))
    assert printed(server, "say", "统计", "naïve", "🙂") == "统计 naïve 🙂\n"


# E07


def test_e07_a_fork_bomb_stays_small_and_ends(root: Path) -> None:
    bomb = script("bomb", f"word=bomb{OURS}; f() {{ f | f & }}; f; sleep 60", seconds=3, processes=20)
    result = call(served(root, bomb), "bomb")
    assert result.value["ended"] in ("processes", "time", "exit")
    assert left(f"bomb{OURS}") == []


def test_e07_twin_some_processes_at_once_are_fine(root: Path) -> None:
    server = served(root, script("pipes", "seq 100 | sort -n | tail -n 3 | head -n 1", processes=20))
    assert printed(server, "pipes") == "98\n"


# E08


def test_e08_a_flood_of_output_is_cut_and_its_source_ended(root: Path) -> None:
    result = call(served(root, entry("flood", "yes", f"flood{OURS}", output_mib=1)), "flood")
    assert result.value["ended"] == "output"
    assert result.value["note"].endswith("[TT6143]")
    assert len(result.value["stdout"]) < 20_000
    assert left(f"flood{OURS}") == []


def test_e08_twin_long_output_is_there_to_the_end(root: Path) -> None:
    result = call(served(root, entry("numbers", "seq", arguments=[{"name": "n", "type": "integer"}])), "numbers", "100000")  # fmt: skip  # noqa: E501
    assert result.value["ended"] == "exit"
    assert result.value["stdout"].startswith("1\n2\n")
    assert result.value["stdout"].endswith("\n100000\n")
    assert "note" not in result.value


# E09


def test_e09_no_process_started_by_a_command_outlives_it(root: Path) -> None:
    begun = f"sleep 300.{OURS} & setsid sleep 300.{OURS} & (setsid sh -c 'sleep 300.{OURS} & sleep 300.{OURS}' &) ; "
    server = served(
        root,
        script("leaves", begun + "echo done"),
        script("stays", begun + "trap '' TERM HUP INT; wait", seconds=1),
    )
    assert call(server, "leaves").value["exit_code"] == 0
    assert left(f"300.{OURS}") == []
    assert call(server, "stays").value["ended"] == "time"
    assert left(f"300.{OURS}") == []


def test_e09_twin_the_output_of_an_awaited_child_process_is_returned(root: Path) -> None:
    server = served(root, script("waits", "(setsid sh -c 'sleep 0.1; echo child') & wait; echo parent"))
    assert printed(server, "waits") == "child\nparent\n"


# E10


def test_e10_a_program_that_reads_its_input_does_not_wait(root: Path) -> None:
    result = call(served(root, entry("copy", "cat")), "copy")
    assert (result.value["ended"], result.value["exit_code"], result.value["stdout"]) == ("exit", 0, "")


def test_e10_twin_a_file_is_read(root: Path) -> None:
    assert printed(served(root, entry("copy", "cat", arguments=FILES)), "copy", "a.txt") == "one\ntwo\n"


# E11

OPEN = """
import os
def is_open(fd):
    try:
        return bool(os.fstat(fd))
    except OSError:
        return False
print(*filter(is_open, range(256)))
"""


@pytest.mark.usefixtures("each_event_loop")
def test_e11_descriptors_of_ours_are_closed(root: Path) -> None:
    with open(root.parent / "outside") as file:
        os.set_inheritable(file.fileno(), True)
        assert printed(served(root, python("open", OPEN)), "open") == "0 1 2\n"


@pytest.mark.usefixtures("each_event_loop")
def test_e11_twin_both_streams_are_open(root: Path) -> None:
    value = call(served(root, script("open", "echo out; echo err >&2")), "open").value
    assert (value["stdout"], value["stderr"]) == ("out\n", "err\n")


# E12


def test_e12_no_folder_outside_is_worked_in(root: Path) -> None:
    (root / "link").symlink_to(root.parent)
    server = served(root, entry("where", "pwd"))
    for folder in ("..", "../..", "sub/../..", "/", "/etc", str(root.parent), "link", "a.txt", "none", "~"):
        result = call(server, "where", working_directory=folder)
        assert result.is_error, folder
        assert str(root.parent) not in result.text


def test_e12_no_path_leads_out_of_the_folder(root: Path) -> None:
    (root / "link").symlink_to(root.parent / "outside")
    (root / "hard").hardlink_to(root.parent / "outside")
    (root / ".env").write_text("KEY=1")
    os.mkfifo(root / "pipe")
    server = served(root, entry("copy", "cat", arguments=FILES))
    for path in ("../outside", "link", "hard", "/etc/passwd", ".env", "sub/../../outside", "pipe"):
        result = call(server, "copy", path)
        assert result.is_error, path
        assert SECRET not in result.text


def test_e12_twin_a_folder_inside_is_worked_in(root: Path) -> None:
    (root / "inside").symlink_to("sub")
    (root / "sub" / "b.txt").write_text("b")
    server = served(root, entry("where", "pwd"), entry("copy", "cat", arguments=FILES))
    assert call(server, "where", working_directory="sub").value["stdout"] == f"{root}/sub\n"
    assert call(server, "copy", "b.txt", working_directory="./sub").value["stdout"] == "b"
    assert printed(server, "copy", "inside/b.txt") == "b"


# E13

CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[2])), 2); print('connected')"
PORT = [{"name": "port", "type": "integer"}]


@pytest.mark.skipif(not {"seccomp", "namespaces"} & {*HOLDS}, reason="this kernel has nothing to hold a program with")
def test_e13_without_leave_there_is_no_network(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        result = call(served(root, python("connect", CONNECT, arguments=PORT)), "connect", port)
    assert result.value["exit_code"] == 1
    assert "connected" not in result.value["stdout"]


@pytest.mark.skipif("landlock" not in HOLDS, reason="this kernel has no Landlock")
def test_e13_a_program_reads_and_writes_nothing_outside(root: Path) -> None:
    outside = root.parent / "outside"
    text = f"cat {outside}; cat /etc/shadow; ls /root /home; echo x > {outside}; echo x > /tmp/t2-outside; echo x > new"
    value = call(served(root, script("reach", text)), "reach").value
    assert value["stdout"] == ""
    assert outside.read_text() == SECRET
    assert sorted(os.listdir(root)) == ["a.txt", "sub"]


ATTRIBUTES = """
import os
for change in (lambda: os.chmod(place, 0o777), lambda: os.chown(place, -1, -1), lambda: os.utime(place, (1, 1)),
               lambda: os.setxattr(place, "user.mark", b"1"), lambda: os.fchmod(os.open(place, os.O_RDONLY), 0o777)):
    try:
        change()
    except PermissionError:
        continue
    print("changed", flush=True)
"""


@pytest.mark.skipif("seccomp" not in HOLDS, reason="this kernel has no seccomp")
def test_e13_a_program_that_only_reads_changes_no_modes_owners_times_and_attributes(root: Path) -> None:
    for place in (root / "a.txt", root.parent / "outside"):
        found = place.stat()
        server = served(root, python("mark", f"place = {str(place)!r}{ATTRIBUTES}"))
        assert printed(server, "mark") == ""
        assert place.stat() == found


def test_e13_twin_a_program_that_may_write_changes_them(root: Path) -> None:
    server = served(root, script("mark", "chmod 750 a.txt", effect="write"))
    assert call(server, "mark").value["exit_code"] == 0
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o750


@pytest.mark.skipif("landlock" not in HOLDS, reason="this kernel has no Landlock")
@pytest.mark.parametrize("target", ["..", "."])
def test_e13_a_link_does_not_widen_where_a_program_may_write(root: Path, target: str) -> None:
    server = served(
        root,
        script("link", 'rmdir sub && ln -s "$1" sub', effect="write", arguments=ANYTHING, dashes=False),
        script("part", "echo x > sub/x", effect="write", writable=["sub"]),
    )
    call(server, "link", target)
    assert (root / "sub").is_symlink()
    assert call(server, "part").value["exit_code"] != 0
    assert sorted(os.listdir(root)) == ["a.txt", "sub"]
    assert sorted(os.listdir(root.parent)) == ["data", "outside"]


def test_e13_twin_with_leave_there_is_a_network(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        server = served(root, python("connect", CONNECT, arguments=PORT, network=True))
        assert printed(server, "connect", port) == "connected\n"


def test_e13_twin_a_program_that_may_write_writes_in_its_folder(root: Path) -> None:
    server = served(
        root,
        script("make", "echo new > new && cat new", effect="write"),
        script("own", "echo x > $HOME/x && cat $TMPDIR/x"),
        script("part", "echo x > sub/x && ! echo y > y && cat sub/x", effect="write", writable=["sub"]),
    )
    assert printed(server, "make") == "new\n"
    assert printed(server, "own") == "x\n"
    if "landlock" in HOLDS:
        assert printed(server, "part") == "x\n"


# E14


def test_e14_memory_time_and_files_are_bounded(root: Path) -> None:
    server = served(
        root,
        python("memory", "bytearray(1 << 40)"),
        script("time", "while :; do :; done", cpu_seconds=1),
        script("disk", "head -c 100000000 /dev/zero > big; stat -c %s big", effect="write", file_mib=1),
    )
    assert "MemoryError" in call(server, "memory").value["stderr"]
    assert call(server, "time").value["ended"] == "signal"
    assert printed(server, "disk") == f"{1 << 20}\n"


def test_e14_twin_a_program_within_its_limits_runs(root: Path) -> None:
    server = served(
        root,
        python("memory", "print(len(bytearray(50 << 20)) >> 20)", memory_mib=512),
        script("disk", "head -c 1000000 /dev/zero > big; stat -c %s big", effect="write", file_mib=1),
    )
    assert printed(server, "memory") == "50\n"
    assert printed(server, "disk") == "1000000\n"


# E15


def test_e15_batch_files_are_not_run(tmp_path: Path) -> None:
    for name in ("a.bat", "A.CMD"):
        (tmp_path / name).write_text("echo")
        (tmp_path / name).chmod(0o755)
        with refused("TT6107"):
            read_text(entry("it", str(tmp_path / name), arguments=ANYTHING))


def test_e15_twin_a_name_that_only_sounds_alike_is_run(root: Path, tmp_path: Path) -> None:
    (tmp_path / "acrobat").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "acrobat").chmod(0o755)
    assert printed(served(root, entry("it", str(tmp_path / "acrobat"))), "it") == "ran\n"


# E16


def test_e16_terminal_sequences_are_taken_out_of_output(root: Path) -> None:
    text = r"printf 'a\033]52;c;ZXZpbA==\007b\033[2Jc\033[8md'; printf 'e\033]8;;http://evil\007f' >&2"
    value = call(served(root, script("paint", text)), "paint").value
    assert (value["stdout"], value["stderr"]) == ("abcd", "ef")


def test_e16_progress_holds_no_terminal_sequences_either(root: Path) -> None:
    server = served(root, script("paint", r"printf 'a\033]52;c;ZXZpbA==\007b\n'"))
    told: list[str | None] = []

    async def main() -> None:
        async with Client(server) as client:
            await client.call_tool(
                "execute_command", {"command": "paint"}, progress=lambda done, total, text: told.append(text)
            )

    asyncio.run(main())
    assert told == ["ab"]


def test_e16_twin_lines_and_tabs_stay(root: Path) -> None:
    assert printed(served(root, script("table", r"printf 'a\tb\nc\td\n'")), "table") == "a\tb\nc\td\n"


# E17


def test_e17_the_list_is_no_business_of_a_tool(root: Path, tmp_path: Path) -> None:
    (root / "commands.toml").write_text(entry("where", "pwd"))
    with refused("TT6104"):
        toolset(read(root / "commands.toml"), [root])
    (tmp_path / "list.toml").symlink_to(root / "commands.toml")
    with refused("TT6104"):
        toolset(read(tmp_path / "list.toml"), [root])


def test_e17_an_empty_list_allows_nothing() -> None:
    with refused("TT6108"):
        read_text("[commands]\n")
    with refused("TT6108"):
        simple([])
    with refused("TT6102"):
        read_text("")


def test_e17_a_folder_that_holds_the_approvals_is_not_served(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip  # noqa: E501
    monkeypatch.setenv("XDG_STATE_HOME", str(root))
    with refused("TT6104"):
        toolset(simple(["pwd"]), [root])


def test_e17_twin_a_list_beside_the_folder_is_used(root: Path, tmp_path: Path) -> None:
    (tmp_path / "commands.toml").write_text(entry("where", "pwd"))
    assert read(tmp_path / "commands.toml").commands["where"].program.endswith("/pwd")
    toolset(read(tmp_path / "commands.toml"), [root])


def test_many_at_once_do_not_meet(root: Path) -> None:
    """Not a row: each call has its own temporary folder and its own streams."""
    server = served(root, script("own", "echo $$ > $HOME/x; sleep 0.1; test $(cat $HOME/x) = $$ && ls $HOME"))
    seen: list[str] = []
    threads = [threading.Thread(target=lambda: seen.append(printed(server, "own"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == ["x\n"] * 6
