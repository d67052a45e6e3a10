"""Attacks on the command tools where nothing confines programs: what holds there, with a twin that must pass.

The systems are those of ``support/toolbox/other_systems.py``; the programs are real.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.toolbox.commands import OURS, left, served_folder
from support.toolbox.other_systems import MAC, WINDOWS, printed_on

pytestmark = pytest.mark.process

ACCEPTED = 'confinement = "available"\n'

BEGIN = """
import asyncio, json, sys
from pathlib import Path
from support.toolbox.commands import call, entry, script
from tooltrue import Client, Server
from tooltrue.errors import ConfigurationError
from tooltrue.policy.layers.confirm import Confirm
from tooltrue_toolbox.command import confined, read_text, simple, toolset

root = Path(sys.argv[1])
def served(*entries):
    server = Server("commands", toolsets=[toolset(read_text("\\n".join(entries)), [root])])
    return server.with_guard(confirm=Confirm.never())
def code(make):
    try:
        make()
    except ConfigurationError as error:
        return error.code
ACCEPTED = 'confinement = "available"\\n'
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return served_folder(tmp_path)


# E13: a system that confines nothing


SYSTEMS = pytest.mark.parametrize("system", [MAC, WINDOWS], ids=["mac", "windows"])

REFUSED = """
allowed = read_text(entry("it", sys.argv[2]))
print(code(lambda: toolset(allowed, [root])))
print(code(lambda: toolset(confined(allowed, "required"), [root])))
print(code(lambda: toolset(read_text('confinement = ["landlock"]\\n' + entry("it", sys.argv[2])), [root])))
print(code(lambda: toolset(confined(allowed, "available"), [root])))
print(code(lambda: toolset(read_text(ACCEPTED + entry("it", sys.argv[2])), [root])))
"""


@pytest.fixture
def tool(tmp_path: Path) -> str:
    """A program whose name is one on Windows as well."""
    place = tmp_path / "tool.exe"
    place.write_text('#!/bin/sh\ncase "$1" in\nwords) shift; printf "%s|" "$@";;\n*) echo ran;;\nesac\n')
    place.chmod(0o755)
    return str(place)


@SYSTEMS
def test_e13_commands_are_refused_where_nothing_confines_them_and_accepted_by_one_word(
    system: str, root: Path, tool: str
) -> None:
    assert printed_on(system, BEGIN + REFUSED, str(root), tool) == ["TT6111", "TT6110", "TT6110", "None", "None"]


SAID = """
import logging
lines = []
class Lines(logging.Handler):
    def emit(self, record):
        lines.append(record.getMessage())
logging.getLogger("tooltrue").addHandler(Lines())
server = served(ACCEPTED, entry("it", sys.argv[2]))

async def main():
    async with Client(server) as client:
        tool = next(each for each in await client.list_tools() if each.name == "execute_command")
        listed = (await client.call_tool("list_commands")).value
        return tool, listed

tool, listed = asyncio.run(main())
asked = []
server = server.with_guard(confirm=Confirm())
print(json.dumps({"log": lines, "description": tool.description, "meta": tool.meta, "note": listed["note"],
                  "held_by": listed["held_by"]}))
"""


@SYSTEMS
def test_e13_a_log_line_the_description_the_list_and_the_meta_say_that_nothing_confines(
    system: str, root: Path, tool: str
) -> None:
    told = json.loads(printed_on(system, BEGIN + SAID, str(root), tool)[-1])
    sentence = "each program reaches every file and host that the server can reach"
    end = "A process group ends" if system == MAC else "A job object ends"
    for text in (*told["log"], told["note"], told["meta"]["tooltrue/not-confined"]):
        assert sentence in text
        assert end in text
    assert len(told["log"]) == 1
    assert "nothing confines it" in told["description"]
    assert "no network" not in told["description"]
    assert ("unless it has left its process group" in told["description"]) is (system == MAC)
    assert told["held_by"] == []


ASKED = """
server = Server("commands", toolsets=[toolset(confined(simple([sys.argv[2]]), "available"), [root])])
asked = []
async def main():
    async with Client(server, elicit=lambda question: asked.append(question.message)) as client:
        await client.call_tool("execute_command", {"command": sys.argv[2]})
asyncio.run(main())
print("not confined" in asked[0], "without network" in asked[0])
"""


@SYSTEMS
def test_e13_a_person_is_not_told_of_a_network_that_is_not_closed(system: str, root: Path, tool: str) -> None:
    assert printed_on(system, BEGIN + ASKED, str(root), tool) == ["True False"]


# E09 and E10 there: the end of processes, and their input

RUN = """
from tooltrue_toolbox.platform.handles import open_root
from tooltrue_toolbox.platform.sandbox.programs import SandboxBounds, SandboxJob, run

def program(text, seconds=60.0, **bounds):
    job = SandboxJob("/bin/sh", ("sh", "-c", text), open_root(root / "sub"), {"PATH": "/usr/bin:/bin"},
                     bounds=SandboxBounds(seconds=seconds, **bounds))
    return asyncio.run(run(job, lambda size, part: None))
"""

ENDED = """
from tooltrue._internal.platform.system import HAS_POSIX
word = sys.argv[2]
for text, more in (
    (f"sleep 300.{word} & echo done", {}),
    (f"sleep 300.{word} & echo begun; trap '' TERM HUP INT; wait", {"seconds": 4.0}),
    (f"kill {0 if HAS_POSIX else '$$'}; sleep 60", {}),  # Windows has no groups
    ("yes flood", {"output_bytes": 1 << 20}),
    ("cat", {}),
):
    done = program(text, **more)
    code = done.code if done.cause in ("exit", "signal") else ""
    print(done.cause, code, len(done.output) if done.cause == "output" else done.output.decode().strip())
"""


@SYSTEMS
def test_e09_e10_what_a_program_starts_ends_with_it_and_it_waits_for_no_input(system: str, root: Path) -> None:
    lines = printed_on(system, BEGIN + RUN + ENDED, str(root), f"{OURS}7", supervisor=True)
    by_kill = "exit 1 " if system == WINDOWS else "signal 15 "
    assert lines == ["exit 0 done", "time  begun", by_kill, "output  1048576", "exit 0 "]
    assert left(f"300.{OURS}7") == []


TOO_LONG = """
text = "#!/bin/sh\\nsleep 60\\n"
place = Path(sys.argv[2])
place.write_text(text)
async def main():
    async with Client(served(ACCEPTED, entry("it", str(place), seconds=0.5))) as client:
        print((await client.call_tool("execute_command", {"command": "it"})).value["note"])
asyncio.run(main())
"""


def test_e09_a_model_is_told_of_processes_that_may_still_run(root: Path, tool: str) -> None:
    [note] = printed_on(MAC, BEGIN + TOO_LONG, str(root), tool, supervisor=True)
    assert "[TT4746]" in note
    assert "may still run" in note


TWIN = """
done = program("pwd; echo err >&2; echo $HOME; exit 7")
print(done.cause, done.code, done.errors.decode().strip(), *done.output.decode().splitlines()[:1])
done = program("(setsid sh -c 'sleep 0.1; echo child') & wait; echo parent")
print(*done.output.decode().split())
"""


@SYSTEMS
def test_e09_twin_a_program_runs_in_its_folder_and_its_streams_and_code_come_back(system: str, root: Path) -> None:
    lines = printed_on(system, BEGIN + RUN + TWIN, str(root), supervisor=True)
    assert lines == [f"exit 7 err {root}/sub", "child parent"]


# E14 there: limits

BOUNDED = """
done = program("while :; do :; done", cpu_seconds=1)
print(done.cause, done.cpu_seconds is not None)
done = program("head -c 3000000 /dev/zero > big; stat -c %s big", file_bytes=1 << 20)
print(done.output.decode().strip())
done = program("head -c 1000000 /dev/zero > small; stat -c %s small", file_bytes=1 << 20)
print(done.output.decode().strip())
"""


def test_e14_a_process_group_has_the_limits_of_posix(root: Path) -> None:
    assert printed_on(MAC, BEGIN + RUN + BOUNDED, str(root)) == ["signal True", f"{1 << 20}", "1000000"]


# E15 and E02 there: batch files, and how programs of Windows read their words

BATCH = """
place = Path(sys.argv[2]).parent
for name in json.loads(sys.argv[3]):
    (place / name).write_text("#!/bin/sh\\necho ran\\n")
    (place / name).chmod(0o755)
    print(code(lambda: read_text(entry("it", str(place / name)))))
"""


def test_e15_no_spelling_of_a_batch_file_or_a_script_is_a_program_on_windows(root: Path, tool: str) -> None:
    names = ["a.bat", "A.CMD", "b.cmd.", "c.bat ", "d.bat. .", "e.bat::$DATA", "f.exe:g.exe", "h.ps1", "i.vbs", "j.exe."]  # fmt: skip  # noqa: E501
    refused = ["TT6107"] * 6 + ["TT6103"] * 4
    assert printed_on(WINDOWS, BEGIN + BATCH, str(root), tool, json.dumps(names)) == refused


def test_e15_a_link_to_a_batch_file_is_no_program(root: Path, tool: str, tmp_path: Path) -> None:
    (tmp_path / "real.bat").write_text("echo")
    (tmp_path / "real.bat").chmod(0o755)
    (tmp_path / "link.exe").symlink_to("real.bat")
    text = 'print(code(lambda: read_text(entry("it", sys.argv[2]))))'
    assert printed_on(WINDOWS, BEGIN + text, str(root), str(tmp_path / "link.exe")) == ["TT6107"]


def test_e15_twin_a_program_is_found_with_and_without_its_ending_in_any_case(root: Path, tool: str) -> None:
    names = ["k.exe", "L.EXE", "m.com", "acrobat.exe", "n.bat.exe"]
    assert printed_on(WINDOWS, BEGIN + BATCH, str(root), tool, json.dumps(names)) == ["None"] * 5
    text = """
folder = json.dumps([str(Path(sys.argv[2]).parent)])
print(Path(read_text(f"path = {folder}\\n" + entry("it", "tool")).commands["it"].program).name)
"""
    assert printed_on(WINDOWS, BEGIN + text, str(root), tool) == ["tool.exe"]


WORDS = """
anything = [{"name": "text", "many": True}]
files = [{"name": "file", "type": "path", "many": True}]
commands = read_text(
    entry("say", sys.argv[2], "words", arguments=anything, dashes=False, options={"-x": {}})
    + entry("open", sys.argv[2], "words", arguments=files, dashes=False)
).commands
from tooltrue.errors import ToolError
from tooltrue_toolbox.rooted_paths import Folders
with Folders([root]) as folders:
    for name, *words in json.loads(sys.argv[3]):
        try:
            print(*commands[name].argv(words, folders, ".")[2:], sep="|")
        except ToolError as error:
            print(error.code)
"""


def test_e02_no_word_becomes_an_option_or_several_words_of_a_windows_program(root: Path, tool: str) -> None:
    attacks = [["say", "/c"], ["say", "a", "//x"], ["say", '" /c calc'], ["say", 'a"b'], ["say", "-x", "/y"], ["open", "/etc"]]  # fmt: skip  # noqa: E501
    assert printed_on(WINDOWS, BEGIN + WORDS, str(root), tool, json.dumps(attacks)) == [
        "TT4744", "TT4744", "TT4745", "TT4745", "TT4744", "TT4744",
    ]  # fmt: skip


def test_e02_twin_slashes_inside_spaces_and_percent_signs_pass_and_paths_have_no_slash(root: Path, tool: str) -> None:
    (root / "sub" / "b.txt").write_text("b")
    words = [["say", "a/b", "two words", "%PATH%", "it's", "^&|"], ["open", "a.txt", "sub/b.txt", "./sub"]]
    assert printed_on(WINDOWS, BEGIN + WORDS, str(root), tool, json.dumps(words)) == [
        "a/b|two words|%PATH%|it's|^&|",
        ".\\a.txt|.\\sub\\b.txt|.\\sub",
    ]


def test_e02_twin_elsewhere_a_slash_and_a_quotation_mark_are_plain_text(root: Path, tool: str) -> None:
    words = [["say", "/c", '"quoted"'], ["open", "sub"]]
    assert printed_on(MAC, BEGIN + WORDS, str(root), tool, json.dumps(words)) == ['/c|"quoted"', "./sub"]


# E03 there: programs that run others

NAMES = """
place = Path(sys.argv[2]).parent
for name in json.loads(sys.argv[3]):
    (place / name).write_text("#!/bin/sh\\n")
    (place / name).chmod(0o755)
    print(code(lambda: read_text(entry("it", str(place / name), arguments=[{"name": "text"}]))))
"""


def test_e03_programs_of_windows_that_run_others_are_known_in_any_case(root: Path, tool: str) -> None:
    names = ["CMD.EXE", "PowerShell.exe", "wscript.exe", "rundll32.exe", "PY.exe", "RScript.exe", "wsl.exe", "Git.EXE"]
    assert printed_on(WINDOWS, BEGIN + NAMES, str(root), tool, json.dumps(names)) == ["TT6105"] * 7 + ["TT6112"]


def test_e03_twin_other_programs_take_words(root: Path, tool: str) -> None:
    assert printed_on(WINDOWS, BEGIN + NAMES, str(root), tool, '["findstr.exe", "cmdkey.exe"]') == ["None", "None"]


# E05 there: the environment

VARIABLES = """
import os
from tooltrue_toolbox.platform.sandbox.enclosure import environment_of_program
os.environ.update(SYSTEMROOT="C:\\\\Windows", AWS_SECRET_ACCESS_KEY="x", EDITION="second")
more = {"environment": {"Path": "C:\\\\own", "Stage": "test"}, "pass_environment": ["EDITION"]}
environment = read_text(entry("it", sys.argv[2], **more)).commands["it"].environment
print(*sorted({**environment_of_program("scratch"), **environment}.items()), sep="\\n")
"""


def test_e05_a_program_on_windows_has_each_variable_once_and_none_of_the_server(root: Path, tool: str) -> None:
    lines = printed_on(WINDOWS, BEGIN + VARIABLES, str(root), tool)
    own = ("APPDATA", "HOME", "LOCALAPPDATA", "TEMP", "TMP", "TMPDIR", "USERPROFILE")
    expected = {
        **dict.fromkeys(own, "scratch"),
        "EDITION": "second",
        "GIT_TERMINAL_PROMPT": "0",
        "LANG": "C.UTF-8",
        "NODEFAULTCURRENTDIRECTORYINEXEPATH": "1",
        "NO_COLOR": "1",
        "PAGER": "cat",
        "PATH": "C:\\own",
        "STAGE": "test",
        "SYSTEMROOT": "C:\\Windows",
        "TERM": "dumb",
    }
    assert lines == [str(each) for each in sorted(expected.items())]
