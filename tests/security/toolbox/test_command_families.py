"""Rows E as families. Most variants are refused before a program is started; the others share one program."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import itertools
import json
import os
import socket
import string
import sys
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest

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
from support.variants import tried
from tooltrue import Client, Server
from tooltrue.errors import ConfigurationError
from tooltrue_toolbox.command import read, read_text, simple, toolset

pytestmark = pytest.mark.process

ARGUMENTS = "import json, sys; print(json.dumps(sys.argv[1:]))"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return served_folder(tmp_path)


def answers(server: Server, calls: Iterable[tuple[str, list[str]]]) -> list[tuple[bool, str]]:
    """Whether each call is an error, and its text; all by one client."""

    async def main() -> list[tuple[bool, str]]:
        async with Client(server) as client:
            results = [
                await client.call_tool("execute_command", {"command": name, "args": args}) for name, args in calls
            ]
            return [(one.is_error, one.text) for one in results]

    return asyncio.run(main())


# -- E01, E06: words that a shell would obey, or read as something else ------------------------------------------------

SIGNS = [
    ";",
    "&&",
    "||",
    "|",
    "&",
    "`{}`",
    "$({})",
    "${{IFS}}",
    "<({})",
    ">",
    ">>",
    "<",
    "<<<",
    "#",
    "!",
    "\\",
    "'",
    '"',
    "(",
    ")",
]
WORDS = [
    *(f"a{sign.replace('{}', 'id')} id" for sign in SIGNS), *(sign.replace("{}", "id") for sign in SIGNS),
    "$HOME", "~", "~root", "*", "?", "[a-z]*", "{a,b}", "!!", "!-1", "$0", "$@", "$?", "$$", "$[1+1]", "$((1+1))",
    "a=b", "PATH=.",
    "-", "r\\m", '"r"m', "r''m", "%0a", "%PATH%", "^", "\u2028id", "\uff1bid", "\uff04(id)", "\u037eid", "\\x3b",
    "$'\\n'",
]  # fmt: skip


@pytest.mark.attack("E01", "E06")
@pytest.mark.variants(70)
def test_e01_no_word_means_anything_but_itself(root: Path) -> None:
    server = served(root, python("say", ARGUMENTS, arguments=ANYTHING, dashes=False))
    words = [word for word in WORDS if not word.startswith("-")]
    for word in WORDS:
        tried(word)
    assert json.loads(call(server, "say", *words).value["stdout"]) == words
    assert call(server, "say", "-").is_error
    assert sorted(os.listdir(root)) == ["a.txt", "sub"]


@pytest.mark.attack("E01", "E06")
@pytest.mark.variants(60)
def test_e01_no_line_of_shell_is_a_command(root: Path) -> None:
    server = served(root, entry("say", "echo", arguments=ANYTHING))
    names = [f"say{sign.replace('{}', 'id')} id" for sign in SIGNS] + [
        f"{sign.replace('{}', 'id')} say" for sign in SIGNS
    ]
    names += [
        "say id",
        "say ",
        " say",
        "say\n",
        "say\nid",
        "say\0",
        "Say",
        "SAY",
        "./say",
        "/bin/echo",
        "echo",
        "sh",
        "sh -c id",
    ]
    names += ["s\u0430y", "say\u200b", "say;", "../say", "say|", "$say", "${say}", "\\say", "'say'", '"say"', ""]
    said = answers(server, [(name, []) for name in names])
    for name in names:
        tried(name)
    assert [name for name, (refused, _) in zip(names, said, strict=True) if not refused] == []


@pytest.mark.attack("E06", "B14")
@pytest.mark.variants(60)
def test_e06_no_control_character_gets_into_a_word(root: Path) -> None:
    server = served(root, entry("say", "echo", arguments=ANYTHING, dashes=False))
    signs = [chr(number) for number in (*range(0x20), *range(0x7F, 0xA0))]
    said = answers(server, [("say", [f"a{sign}id"]) for sign in signs])
    for sign in signs:
        tried(sign)
    assert [
        ascii(sign) for sign, (refused, text) in zip(signs, said, strict=True) if not refused or "[TT2001]" not in text
    ] == []


# -- E02: values that become options -----------------------------------------------------------------------------------


@pytest.mark.attack("E02")
@pytest.mark.variants(40)
def test_e02_no_value_becomes_an_option_wherever_it_stands(root: Path) -> None:
    server = served(
        root,
        entry("lines", "wc", "-l", arguments=FILES),
        entry("find text", "grep", options={"-m": {"type": "integer"}, "--label": {}}, arguments=[{"name": "word"}]),
    )
    options = [
        "-c",
        "--bytes",
        "--files0-from=/etc/passwd",
        "--files0-from",
        "-L",
        "-",
        "--help",
        "--version",
        "-lc",
        "-w",
    ]
    others = [
        "-f/etc/passwd",
        "-f",
        "--file=/etc/passwd",
        "--fil=/etc/passwd",
        "-r",
        "-rf/etc",
        "--include=x",
        "-e",
        "-eroot",
        "-P",
    ]
    calls: list[tuple[str, list[str]]] = []
    for option in options:
        calls += [("lines", [option]), ("lines", ["a.txt", option]), ("lines", ["--", option])]
    for option in others:
        calls += [("find text", [option]), ("find text", ["one", option]), ("find text", ["-m", option, "one"])]
        calls += [("find text", ["--label", option, "one"])]
    said = answers(server, calls)
    for each in calls:
        tried(each)
    passed = [each for each, (refused, text) in zip(calls, said, strict=True) if not refused]
    assert passed == []
    assert not [text for _, text in said if "root:" in text]


# -- E04: programs in front of the one that is meant -------------------------------------------------------------------

SHADOWED = [
    "wc",
    "cat",
    "grep",
    "head",
    "sort",
    "ls",
    "tail",
    "cut",
    "tr",
    "date",
    "echo",
    "env",
    "seq",
    "uniq",
    "stat",
    "id",
]


@pytest.mark.attack("E04")
@pytest.mark.variants(30)
def test_e04_no_program_in_a_folder_of_commands_is_run_in_front_of_another(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    for name in SHADOWED:
        for folder in (root, root / "sub"):
            (folder / name).write_text("#!/bin/sh\necho shadowed\n")
            (folder / name).chmod(0o755)
    for path in (f".:{os.environ['PATH']}", f"{root}:{os.environ['PATH']}"):
        monkeypatch.setenv("PATH", path)
        found: list[str] = []
        for name in SHADOWED:
            tried((name, path))
            try:
                program = read_text(entry(name, name)).commands[name].program
            except ConfigurationError:
                continue
            assert not program.startswith(str(root)), name
            found.append(entry(name, name))
        if found:
            toolset(read_text("\n".join(found)), [root])


@pytest.mark.attack("E04")
@pytest.mark.variants(20)
def test_e04_no_program_that_commands_can_change_is_loaded_by_any_way_to_it(root: Path) -> None:
    (root / "tool").write_text("#!/bin/sh\n")
    (root / "tool").chmod(0o755)
    (root.parent / "link").symlink_to(root / "tool")
    (root.parent / "folder").symlink_to(root)
    (root / "sub" / "link").symlink_to("/usr/bin/wc")
    (root / "hard").hardlink_to(root / "tool")
    absolute = [
        f"{root}/tool",
        f"{root}/./tool",
        f"{root}/sub/../tool",
        f"//{root}/tool",
        f"{root.parent}/link",
        f"{root}/sub/link",
    ]
    absolute += [
        f"{root.parent}/folder/tool",
        f"{root}/hard",
        f"{root.parent}/folder/sub/link",
        f"{root.parent}/folder/../data/tool",
    ]
    relative = [
        "./tool",
        "tool",
        "sub/tool",
        "../data/tool",
        "~/tool",
        "$PWD/tool",
        "tool ",
        "/no/such/program",
        "",
        "./",
        ".",
        "/",
    ]
    for name in (*absolute, *relative):
        tried(name)
        with pytest.raises(ConfigurationError):
            toolset(read_text(entry("it", name)), [root])


# -- E05: variables ----------------------------------------------------------------------------------------------------

VARIABLES = [
    "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "LD_DEBUG", "GCONV_PATH", "PYTHONSTARTUP", "PYTHONPATH",
    "PYTHONHOME", "PYTHONINSPECT",
    "GIT_SSH_COMMAND", "GIT_DIR", "GIT_CONFIG_GLOBAL", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "NODE_OPTIONS",
    "NODE_PATH", "BASH_ENV",
    "ENV", "IFS", "PS4", "SHELLOPTS", "BASH_FUNC_x%%", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB",
    "JAVA_TOOL_OPTIONS", "EDITOR",
    "VISUAL", "LESSOPEN", "MANPAGER", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "SSLKEYLOGFILE", "SSL_CERT_FILE",
    "CURL_HOME",
    "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "OPENAI_API_KEY", "DATABASE_URL", "SSH_AUTH_SOCK", "DISPLAY",
    "XDG_CONFIG_HOME",
    "TOOLTRUE_KEYS", "CDPATH", "GLOBIGNORE", "PROMPT_COMMAND", "MALLOC_CHECK_", "TZ", "LOCPATH", "NLSPATH",
    "HOSTALIASES",
]  # fmt: skip


@pytest.mark.attack("E05")
@pytest.mark.variants(len(VARIABLES))
def test_e05_no_variable_of_ours_reaches_a_program(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        tried(name)
        monkeypatch.setenv(name, "/tmp/evil-variable.so")
    seen = call(served(root, entry("variables", "env")), "variables").value["stdout"]
    assert {line.partition("=")[0] for line in seen.splitlines()} & {*VARIABLES} == set()
    assert "evil" not in seen


# -- E03, E15: programs that run others --------------------------------------------------------------------------------


@pytest.mark.attack("E15")
@pytest.mark.variants(20)
def test_e15_no_batch_file_is_run_however_its_name_is_written(tmp_path: Path) -> None:
    stems, ends = ("a", "a b", "a.txt", ".hidden"), (".bat", ".cmd", ".BAT", ".Cmd", ".bAt", ".CMD")
    for stem, end in itertools.product(stems, ends):
        tried((stem, end))
        place = tmp_path / f"{stem}{end}"
        place.write_text("echo")
        place.chmod(0o755)
        with pytest.raises(ConfigurationError) as caught:
            read_text(entry("it", str(place), arguments=ANYTHING))
        assert caught.value.code == "TT6107"


# -- E07 to E11, E14: effects of programs on the machine ---------------------------------------------------------------

FLOODS = {
    "lines": f"yes flood{OURS}",
    "one line": f"tr '\\0' x < /dev/zero; : flood{OURS}",
    "zeros": f"cat /dev/zero; : flood{OURS}",
    "errors": f"yes flood{OURS} >&2",
    "both": f"yes flood{OURS} & yes flood{OURS} >&2; wait",
    "children": f"for i in 1 2 3; do yes flood{OURS} & done; wait",
    "a session of its own": f"setsid yes flood{OURS}; wait",
    "signals ignored": f"trap '' TERM HUP PIPE INT; yes flood{OURS}",
    "empty lines": f"yes ''; : flood{OURS}",
    "terminal sequences": f"yes \"$(printf '\\033[2J')flood{OURS}\"",
    "half characters": f"tr '\\0' '\\377' < /dev/zero; : flood{OURS}",
    "random bytes": f"cat /dev/urandom; : flood{OURS}",
    "in the background - streams handed on": f"(trap '' TERM HUP; yes flood{OURS}) & sleep 300",
    "through a pipe": f"yes flood{OURS} | cat | cat",
    "after its command has ended": f"setsid yes flood{OURS} & exec yes flood{OURS}",
    "one byte at a time": f"yes flood{OURS} | dd bs=1 2>/dev/null",
    "in a loop of programs": f"while :; do seq 100000; done; : flood{OURS}",
    "by another name of the stream": f"yes flood{OURS} > /dev/stdout",
    "through the folder of processes": f"yes flood{OURS} > /proc/self/fd/2",
    "a file read again and again": f"seq 100000 > \"$TMPDIR/f\"; while :; do cat \"$TMPDIR/f\"; done; : flood{OURS}",
}  # fmt: skip


@pytest.mark.attack("E08")
@pytest.mark.variants(len(FLOODS))
def test_e08_no_flood_of_output_is_taken_in_whole(root: Path) -> None:
    entries = [script(name, text, output_mib=1, seconds=60) for name, text in FLOODS.items()]
    server = served(root, *entries)
    for name in FLOODS:
        tried(name)
        value = call(server, name).value
        assert value["ended"] == "output", (name, value["ended"])
        assert len(value["stdout"]) + len(value["stderr"]) < 60_000
    assert left(f"flood{OURS}") == []


PATIENT = {
    "within the bound": ("seq 100000", "100000"),
    "much that another program drops": ("seq 3000000 | tail -n 1", "3000000"),
    "much to nowhere": ("seq 3000000 > /dev/null; echo done", "done"),
    "much into a file": ('seq 300000 > "$TMPDIR/f"; tail -n 1 "$TMPDIR/f"', "300000"),
    "both streams": ("seq 20000; seq 20000 >&2", "20000"),
}


@pytest.mark.twin("E08")
def test_e08_twin_a_program_that_writes_much_within_its_bound_ends_by_itself(root: Path) -> None:
    server = served(root, *(script(name, text, output_mib=1, seconds=60) for name, (text, _) in PATIENT.items()))
    for name, (_, last) in PATIENT.items():
        value = call(server, name).value
        assert (value["ended"], value["exit_code"]) == ("exit", 0), name
        assert value["stdout"].rstrip().rpartition("\n")[2] == last, name


# -- E14: memory, time and disk ----------------------------------------------------------------------------------------

MEMORY = {
    "at once": "bytearray(1 << 40)",
    "step by step": "kept = []\nwhile True: kept.append(bytearray(8 << 20))",
    "many small objects": "kept = []\nwhile True: kept.append([kept] * 1000)",
    "a text that doubles": "text = b'x' * 1000\nwhile True: text += text",
    "a list": "[0] * (1 << 32)",
    "a number": "1 << (1 << 34)",
    "a dictionary": "kept = {}\nwhile True: kept[len(kept)] = str(len(kept)) * 1000",
    "a private map": "import mmap; mmap.mmap(-1, 1 << 30)",
    "a shared map": "import mmap; mmap.mmap(-1, 1 << 30, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)",
    "maps of one small file": """
import mmap
file = open("mapped", "wb+")
file.truncate(1 << 20)
kept = [mmap.mmap(file.fileno(), 1 << 20) for _ in range(1000)]""",
    "a file in memory": "import os\nfile = os.memfd_create('x')\nwhile True: os.write(file, bytes(1 << 20))",
    "a file in memory by its length": "import os; os.ftruncate(os.memfd_create('x'), 1 << 30)",
    "a file of shared memory": "file = open('/dev/shm/own', 'wb')\nwhile True: file.write(bytes(1 << 20))",
    "stacks of threads": """
import threading, time
threading.stack_size(64 << 20)
for _ in range(60): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()""",
    "a child": """
import os
child = os.fork()
if not child: bytearray(1 << 40)
if os.waitpid(child, 0)[1]: raise MemoryError""",
    "a new program": "import os, sys; os.execv(sys.executable, [sys.executable, '-ISc', 'bytearray(1 << 40)'])",
    "a limit that is raised before": """
import resource
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))""",
}
"""Programs in Python that use more than 256 MiB of memory, or fail."""


@pytest.mark.attack("E14")
@pytest.mark.variants(len(MEMORY))
def test_e14_no_program_gets_more_memory_than_its_limit(root: Path) -> None:
    server = served(
        root,
        *(python(name, f"{text}\nprint('all of it')", effect="write", memory_mib=256, file_mib=1, seconds=60)
          for name, text in MEMORY.items()),
    )  # fmt: skip
    for name in MEMORY:
        tried(name)
        value = call(server, name).value
        assert (value["ended"], value["exit_code"], value["stdout"]) == ("exit", 1, ""), (name, value)


ENDLESS = {
    "a loop": "while :; do :; done",
    "signals ignored": "trap '' TERM XCPU HUP INT ALRM; while :; do :; done",
    "a program in the place of the shell": "exec tr '\\0' '\\0' < /dev/zero > /dev/null",
    "compression": "exec gzip -9 < /dev/urandom > /dev/null",
}
WAITING = {
    "sleeping": "sleep 300",
    "sleeping - signals ignored": "trap '' TERM HUP INT QUIT; while :; do sleep 300; done",
    "waiting for a child": "sleep 300 & wait",
    "waiting for a pipe": 'mkfifo "$TMPDIR/p"; cat "$TMPDIR/p"',
    "stopped": "kill -STOP $$",
    "a child that holds the output": "sleep 300 & exit 0",
    "a child that is stopped": "sleep 300 & kill -STOP $!; wait",
    "children one after another": "while :; do sleep 0.1; done",
    "a child in a session of its own": "setsid sh -c 'trap \"\" TERM; sleep 300'",
}
ENDS_AT_ONCE = "a child that holds the output"
"""Its own program ends, and the limit is no part of it: on a busy machine a second may pass before that."""


@pytest.mark.attack("E14")
@pytest.mark.variants(len(ENDLESS))
def test_e14_no_program_computes_longer_than_its_limit(root: Path) -> None:
    server = served(root, *(script(name, text, cpu_seconds=1, seconds=600) for name, text in ENDLESS.items()))
    for name in ENDLESS:
        tried(name)
        assert call(server, name).value["ended"] == "signal", name


@pytest.mark.attack("E14")
@pytest.mark.variants(len(WAITING))
def test_e14_no_program_waits_longer_than_its_limit(root: Path) -> None:
    async def main() -> list[str]:
        limits = {name: 60 if name == ENDS_AT_ONCE else 1 for name in WAITING}
        server = served(root, *(script(name, text, seconds=limits[name]) for name, text in WAITING.items()))
        async with Client(server) as client:
            calls = [client.call_tool("execute_command", {"command": name, "args": []}) for name in WAITING]
            return [result.value["ended"] for result in await asyncio.gather(*calls)]

    for name, ended in zip(WAITING, asyncio.run(main()), strict=True):
        tried(name)
        assert ended == ("exit" if name == ENDS_AT_ONCE else "time"), name


DISK = {
    "a stream": "cat /dev/zero > big",
    "one block": "dd if=/dev/zero of=big bs=8M count=1",
    "a block far behind": "dd if=/dev/zero of=big bs=1 count=1 seek=8M",
    "a length": "truncate -s 8M big",
    "room kept free": "fallocate -l 8M big",
    "appended": "while :; do head -c 300000 /dev/zero >> big || exit 1; done",
    "two writers": "(cat /dev/zero >> big) & cat /dev/zero >> big; wait",
    "a copy": "head -c 900000 /dev/zero > part; cat part part part > big",
    "signals ignored": "trap '' XFSZ; cat /dev/zero > big",
    "a folder below": "cat /dev/zero > sub/big",
    "its own folder": 'cat /dev/zero > "$TMPDIR/big"; cp "$TMPDIR/big" big',
    "a descriptor": "exec 3> big; cat /dev/zero >&3",
    "another program": "tar cf big /usr/bin",
    "compressed": "gzip -1 < /dev/urandom > big",
    "a limit that is raised before": "ulimit -f unlimited; cat /dev/zero > big",
    "in the background": "setsid sh -c 'cat /dev/zero > big' & wait",
}


@pytest.mark.attack("E14")
@pytest.mark.variants(len(DISK))
def test_e14_no_program_writes_a_file_larger_than_its_limit(root: Path) -> None:
    server = served(
        root,
        *(script(name, f"( {text} ) 2>/dev/null; true", effect="write", file_mib=1, seconds=60)
          for name, text in DISK.items()),
    )  # fmt: skip
    for name in DISK:
        tried(name)
        assert call(server, name).value["ended"] == "exit", name
        sizes = [file.stat().st_size for file in (root / "big", root / "sub" / "big") if file.exists()]
        assert max(sizes, default=0) <= 1 << 20, (name, sizes)
        for file in (root / "big", root / "sub" / "big"):
            file.unlink(missing_ok=True)


WITHIN = {
    "memory": "bytearray(50 << 20)",
    "memory again and again": "for _ in range(20): bytearray(50 << 20)",
    "a map": "import mmap; mmap.mmap(-1, 50 << 20)",
    "threads": "import threading\nfor _ in range(5): threading.Thread(target=len, args=('',)).start()",
    "a file": "open('small', 'wb').write(bytes(1 << 20))",
    "several files": "for name in 'abc': open(name, 'wb').write(bytes(900_000))",
    "a file that is written anew": "for _ in range(5): open('small', 'wb').write(bytes(900_000))",
    "a wait": "import time; time.sleep(0.01)",
}


@pytest.mark.twin("E14")
def test_e14_twin_a_program_within_each_limit_runs(root: Path) -> None:
    server = served(
        root,
        *(python(name, f"{text}\nprint('all of it')", effect="write", memory_mib=256, file_mib=1, seconds=60)
          for name, text in WITHIN.items()),
    )  # fmt: skip
    for name in WITHIN:
        assert call(server, name).value["stdout"] == "all of it\n", name


LINGERING = {
    "in the background": "sleep 300.{0} &",
    "a session of its own": "setsid sleep 300.{0} &",
    "hung up": "nohup sleep 300.{0} >/dev/null 2>&1 &",
    "signals ignored": "(trap '' TERM HUP INT QUIT; sleep 300.{0}) &",
    "twice away": "(setsid sh -c 'sleep 300.{0} & sleep 300.{0}' &)",
    "streams closed": "sleep 300.{0} <&- >&- 2>&- &",
    "streams elsewhere": "sleep 300.{0} </dev/null >/dev/null 2>&1 &",
    "in a pipe": "sleep 300.{0} | cat &",
    "a shell that waits": "sh -c 'while :; do sleep 300.{0}; done' &",
    "another folder": "(cd / && sleep 300.{0}) &",
}
ENDINGS = {
    "ends": "echo done",
    "fails": "exit 3",
    "is killed": "kill -9 $$",
    "stays": "trap '' TERM HUP INT; wait; sleep 300.{0}",
}


@pytest.mark.attack("E09")
@pytest.mark.variants(len(LINGERING) * len(ENDINGS))
def test_e09_no_process_outlives_its_command(root: Path) -> None:
    kinds = list(itertools.product(LINGERING.items(), ENDINGS.items()))
    server = served(
        root,
        *(script(f"{way} {end}", f"{begun.format(OURS)} {ending.format(OURS)}", seconds=1 if end == "stays" else 60)
          for (way, begun), (end, ending) in kinds if end != "stays" or way in ("in the background", "twice away")),
    )  # fmt: skip
    for (way, _), (end, _) in kinds:
        tried((way, end))
        if end != "stays" or way in ("in the background", "twice away"):
            call(server, f"{way} {end}")
            assert left(f"300.{OURS}") == [], (way, end)


READERS = {
    "cat": "cat", "read": "read line; echo $?", "head": "head -n 1", "wc": "wc -c", "sort": "sort",
    "dd": "dd 2>/dev/null", "tee": "tee",
    "the terminal": "cat /dev/tty; true", "descriptor 0": "cat <&0", "a device": "cat /dev/stdin",
    "a pipe": "cat | cat",
    "a child": "sh -c cat", "in the background": "cat & wait", "od": "od", "a loop": "while read x; do :; done",
    "tail": "tail -n 1",
    "grep": "grep x; true", "sed": "sed p", "awk": "tr a b",
    "python": f"{sys.executable} -I -S -c 'input()' 2>/dev/null; true",
}  # fmt: skip


@pytest.mark.attack("E10")
@pytest.mark.variants(len(READERS))
def test_e10_no_program_waits_for_input(root: Path) -> None:
    server = served(root, *(script(name, text, seconds=60) for name, text in READERS.items()))
    for name in READERS:
        tried(name)
        assert call(server, name).value["ended"] == "exit", name


OPEN = """
import os
def is_open(fd):
    try:
        return bool(os.fstat(fd))
    except OSError:
        return False
print(*filter(is_open, range(1024)))
"""


@contextlib.contextmanager
def everything_open(folder: Path) -> Generator[list[str]]:
    """Descriptors of each kind, all inheritable."""
    (folder / "file").write_text(SECRET)
    with contextlib.ExitStack() as stack:
        kinds: dict[str, int] = {}
        for mode in ("r", "a", "r+"):
            kinds[f"a file, {mode}"] = stack.enter_context(open(folder / "file", mode)).fileno()
        for name, family in (
            ("a socket", socket.AF_INET),
            ("an IPv6 socket", socket.AF_INET6),
            ("a local socket", socket.AF_UNIX),
        ):
            kinds[name] = stack.enter_context(socket.socket(family)).fileno()
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        kinds["a listener"] = listening.fileno()
        kinds["a connection"] = stack.enter_context(socket.create_connection(listening.getsockname())).fileno()
        one, other = socket.socketpair()
        kinds |= {"one end": stack.enter_context(one).fileno(), "the other": stack.enter_context(other).fileno()}
        opened = [*os.pipe(), os.open(folder, os.O_RDONLY), os.open(folder, os.O_PATH), os.open("/dev/null", os.O_RDWR)]
        opened += [
            os.open("/dev/zero", os.O_RDONLY),
            os.memfd_create("secret"),
            os.eventfd(0),
            os.pidfd_open(os.getpid()),
        ]
        opened += [os.open("/proc/self/status", os.O_RDONLY), *os.openpty()]
        for number, fd in enumerate(opened):
            stack.callback(os.close, fd)
            kinds[f"another, {number}"] = fd
        for least, fd in ((200, kinds["a socket"]), (255, kinds["a listener"]), (900, kinds["a file, r"])):
            place = fcntl.fcntl(fd, fcntl.F_DUPFD, least)  # the first free one: this process has others open
            stack.callback(os.close, place)
            kinds[f"at {least} or above"] = place
        for fd in kinds.values():
            os.set_inheritable(fd, True)
        yield list(kinds)


@pytest.mark.attack("E11")
@pytest.mark.variants(20)
def test_e11_no_descriptor_of_ours_is_open_in_a_program(root: Path, tmp_path: Path) -> None:
    server = served(root, python("open", OPEN))
    with everything_open(tmp_path) as kinds:
        assert call(server, "open").value["stdout"] == "0 1 2\n"
    for kind in kinds:
        tried(kind)


# -- E12: folders and paths outside ------------------------------------------------------------------------------------


@pytest.mark.attack("E12")
@pytest.mark.variants(55)
def test_e12_no_folder_and_no_path_leads_outside(root: Path) -> None:
    (root / "link").symlink_to(root.parent)
    (root / "file").symlink_to(root.parent / "outside")
    (root / "absolute").symlink_to("/etc")
    (root / "chain").symlink_to("link")
    (root / "hard").hardlink_to(root.parent / "outside")
    (root / ".env").write_text("KEY=1")
    os.mkfifo(root / "pipe")
    server = served(root, entry("where", "pwd"), entry("copy", "cat", arguments=FILES))
    folders = [
        "..", "../..", "sub/../..", "./..", "/", "/etc", "//etc", str(root.parent), f"{root}/..", f"{root}-x", "link",
        "link/data", "chain",
        "absolute", "a.txt", "none", "~", "~root", "$HOME", "..\\", "sub\0", "sub\n", "sub/../../data/..", "pipe",
        "file", "hard",
    ]  # fmt: skip
    paths = [
        "../outside", "./../outside", "sub/../../outside", f"{root}/../outside", str(root.parent / "outside"),
        "/etc/passwd", "//etc/passwd",
        "file", "hard", "link/outside", "chain/outside", "absolute/passwd", ".env", "./.env", "sub/../.env", "pipe",
        "/proc/self/environ",
        "/dev/zero", "/dev/stdin", "~/x", "$HOME/x", "-", "..", "/", "file:///etc/passwd", "a.txt\0",
        "a.txt\n../outside", "..\\outside",
        "sub/../../data/../outside", "/proc/self/cwd/../outside", "/proc/self/root/etc/passwd",
    ]  # fmt: skip
    for folder in folders:
        tried(("folder", folder))
        result = call(server, "where", working_directory=folder)
        assert result.is_error, folder
        assert folder == str(root.parent) or str(root.parent) not in result.text or folder.startswith(str(root))
    for path, (refused, text) in zip(paths, answers(server, [("copy", [path]) for path in paths]), strict=True):
        tried(("path", path))
        assert refused or (SECRET not in text and "root:" not in text and "KEY" not in text), path
        assert SECRET not in text


# -- E13: the network and files outside the roots ----------------------------------------------------------------------

REACHING = [
    "cat OUT", "head -c 9 OUT", "cp OUT here", "ln OUT here", "ln -s OUT here && cat here", "cat < OUT",
    "dd if=OUT 2>/dev/null",
    "cat /etc/shadow", "ls /root", "ls /home", "ls PARENT", "cat DATA/../outside", "cd .. && cat outside",
    "cat /proc/1/environ",
    "cat /proc/PID/environ", "cat /proc/PID/cwd/x", "cat /proc/PID/root/etc/shadow", "ls /proc/PID/fd",
    "cat /proc/self/root/etc/shadow",
    "echo x > OUT", "echo x >> OUT", ": > OUT", "rm -f OUT", "mv OUT here", "touch PARENT/new", "mkdir PARENT/new",
    "chmod 777 OUT",
    "ln -sf OUT PARENT/link", "echo x > /tmp/t2-OURS", "echo x > /var/tmp/t2-OURS", "echo x > /dev/shm/t2-OURS",
    "kill -0 PID", "kill -9 PID",
]  # fmt: skip


@pytest.mark.attack("E13")
@pytest.mark.skipif(not {"landlock", "seccomp"} <= {*HOLDS}, reason="this kernel has no Landlock")
@pytest.mark.variants(len(REACHING))
def test_e13_no_program_reaches_files_outside_its_roots(root: Path) -> None:
    outside = root.parent / "outside"
    before = outside.stat()
    given = {"OUT": str(outside), "PARENT": str(root.parent), "DATA": str(root), "PID": str(os.getpid()), "OURS": OURS}
    lines = [_with(text, given) for text in REACHING]
    text = "\n".join(f"( {line} ) 2>/dev/null && echo reached {number}" for number, line in enumerate(lines))
    value = call(served(root, script("reach", text, seconds=30)), "reach").value
    for line in REACHING:
        tried(line)
    reached = [REACHING[int(line.split()[1])] for line in value["stdout"].splitlines() if line.startswith("reached")]
    assert SECRET not in value["stdout"]
    # A link is only words, and is made where the program may write; the program lives, which a signal 0 asks.
    assert reached == []
    assert (outside.read_text(), outside.stat().st_mode) == (SECRET, before.st_mode)
    assert sorted(os.listdir(root.parent)) == ["data", "outside"]
    assert not any(Path(place, f"t2-{OURS}").exists() for place in ("/tmp", "/var/tmp", "/dev/shm"))


def _with(text: str, given: dict[str, str]) -> str:
    for word, value in given.items():
        text = text.replace(word, value)
    return text


NETWORK = """
import socket, sys
port = int(sys.argv[2])
def tried(name, make):
    try:
        make()
        print("reached", name)
    except OSError:
        pass
kinds = {"stream": socket.SOCK_STREAM, "datagram": socket.SOCK_DGRAM, "raw": socket.SOCK_RAW}
def send(host, kind):
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind) as one:
        one.settimeout(2)
        one.connect((host, port))
        one.send(b"secret")
        if kind != socket.SOCK_STREAM:
            raise OSError
for host in ("127.0.0.1", "127.1.2.3", "0.0.0.0", "::1", "localhost"):
    for name, kind in kinds.items():
        tried(f"{host} {name}", lambda: send(host, kind))
print("all tried")
"""


@pytest.mark.attack("E13")
@pytest.mark.skipif(not {"seccomp", "namespaces"} & {*HOLDS}, reason="this kernel has nothing to hold a program with")
@pytest.mark.variants(15)
def test_e13_no_kind_of_connection_is_made_without_leave(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        ports = [{"name": "port", "type": "integer"}]
        value = call(served(root, python("connect", NETWORK, arguments=ports)), "connect", port).value
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()
    for host, kind in itertools.product(
        ("127.0.0.1", "127.1.2.3", "0.0.0.0", "::1", "localhost"), ("stream", "datagram", "raw")
    ):
        tried((host, kind))
    assert "reached" not in value["stdout"], value
    assert "all tried" in value["stdout"], value


# -- E16: terminal sequences -------------------------------------------------------------------------------------------

SEQUENCES = [
    *(f"\x1b[{number}m" for number in (0, 1, 5, 7, 8, 31, 38)), "\x1b[2J", "\x1b[H", "\x1b[1;1H", "\x1b[K", "\x1b[6n",
    "\x1b[?25l", "\x1b[?1049h",
    "\x1b[21t", "\x1b[5i", "\x1b]0;title\x07", "\x1b]0;title\x1b\\", "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]8;;http://evil\x07", "\x1b]1337;File=x\x07",
    "\x1bPq#0\x1b\\", "\x1b_x\x1b\\", "\x1b^x\x1b\\", "\x1bXx\x1b\\", "\x1bc", "\x1b7",
    "\x1b(0", "\x1b#8", "\x9b31m", "\x9d0;t\x9c", "\x90q\x9c", "\x84",
    "\x07", "\x08", "\x0e", "\x0f", "\x7f", "\x00", "\u202e", "\u2066", "\u200b", "\ufeff",
]  # fmt: skip


@pytest.mark.attack("E16")
@pytest.mark.variants(2 * len(SEQUENCES))
def test_e16_no_terminal_sequence_is_left_in_output(root: Path) -> None:
    (root / "shown").write_text("".join(f"{number}<{sequence}>\n" for number, sequence in enumerate(SEQUENCES)))
    value = call(served(root, script("paint", "cat shown; cat shown >&2")), "paint").value
    allowed = {*string.printable} - {"\x0b", "\x0c", "\r"}
    for stream in ("stdout", "stderr"):
        for sequence in SEQUENCES:
            tried((stream, sequence))
        assert set(value[stream]) <= allowed
        assert value[stream].count("\n") == len(SEQUENCES)


# -- E17: a list that its commands can change --------------------------------------------------------------------------


@pytest.mark.attack("E17")
@pytest.mark.variants(20)
def test_e17_no_list_within_reach_of_its_commands_is_used(root: Path) -> None:
    (root / "sub" / "deep").mkdir()
    (root.parent / "way").symlink_to(root)
    places = [
        root / name
        for name in (
            "commands.toml",
            "c.toml",
            ".hidden.toml",
            "commands",
            "sub/c.toml",
            "sub/deep/c.toml",
            "COMMANDS.TOML",
        )
    ]
    for place in places:
        place.write_text(entry("where", "pwd"))
    links: list[Path] = []
    for number, place in enumerate(places):
        (root.parent / f"link{number}.toml").symlink_to(place)
        links.append(root.parent / f"link{number}.toml")
    by_way = [root.parent / "way" / place.relative_to(root) for place in places]
    for place in (*places, *links, *by_way):
        tried(place.relative_to(root.parent).as_posix())
        with pytest.raises(ConfigurationError) as caught:
            toolset(read(place), [root])
        assert caught.value.code == "TT6104"


@pytest.mark.attack("E17")
@pytest.mark.variants(10)
def test_e17_no_empty_list_allows_anything() -> None:
    texts = [
        "",
        "\n",
        "# nothing",
        "[commands]\n",
        "commands = {}\n",
        "commands = []\n",
        "[other]\n",
        "[[commands]]\n",
        "{}",
        "[commands.'']\n",
    ]
    for text in texts:
        tried(text)
        with pytest.raises(ConfigurationError):
            read_text(text)
    with pytest.raises(ConfigurationError):
        simple([])
