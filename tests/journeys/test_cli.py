"""The command line, as a person and a script see it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.serving import SERVER, command, environment
from support.warm_command import warm_command

pytestmark = pytest.mark.process

TEST = str(SERVER)


def run(
    *arguments: str, input: str = "", stdout: Any = subprocess.PIPE, **env: str
) -> subprocess.CompletedProcess[str]:
    """``stdout``: a file, or `None` for a closed one."""
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *command(*arguments)]
    done = subprocess.run(
        closed if stdout is None else warm_command(*arguments),
        input=input,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        env=environment(**env),
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def call(*arguments: str, **more: Any) -> Any:
    """The output of a call with ``--json``."""
    done = run("call", TEST, *arguments, "--json", **more)
    return json.loads(done.stdout)


def other(folder: Path, code: str) -> str:
    """A server that is no tooltrue: a command line that answers with ``code``."""
    path = folder / "other.py"
    path.write_text(code)
    return f"{sys.executable} {path}"


REFUSES = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        error = {"code": -32000, "message": "no"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
"""


# -- exit codes --------------------------------------------------------------------------------------------------------


def test_0_is_done():
    for arguments in (("list", TEST), ("call", TEST, "add", "a=1"), ("inspect", TEST), ("--help",), ("--version",)):
        assert run(*arguments).returncode == 0


def test_1_is_an_answer_that_is_an_error():
    for arguments in (("refuse",), ("add", "a=x"), ("add",), ("add", "a=1", "z=1")):
        done = run("call", TEST, *arguments)
        assert done.returncode == 1
        assert "The tool answered with an error" in done.stderr
        assert done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "nowhere.py"),
        ("list", "files"),
        ("call", TEST, "add", "a"),
        ("call", TEST, "add", "--args", "{"),
        ("call", TEST, "add", "--args", "[]"),
        ("serve", TEST, "--workers", "2"),
        ("serve", TEST, "--http", "nonsense"),
        ("serve", TEST, "--http", ":0", "--workers", "0"),
        ("call",),
        ("nonsense",),
        ("--lang", "fr", "list", TEST),
    ],
)
def test_2_is_wrong_usage_or_a_wrong_setting_said_in_a_sentence(arguments: tuple[str, ...]):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr


def test_2_is_a_tool_that_is_defined_wrongly(tmp_path: Path):
    path = tmp_path / "wrong.py"
    path.write_text("from tooltrue import Server\nserver = Server('w')\n@server.tool\ndef bad(a): ...\n")
    done = run("list", str(path))
    assert done.returncode == 2
    assert "[TT3005]" in done.stderr


def test_3_is_broken_protocol(tmp_path: Path):
    assert run("list", other(tmp_path, REFUSES)).returncode == 3


def test_an_unreachable_server_exits_with_4(tmp_path: Path):
    for target in ("no-such-command-anywhere", other(tmp_path, "raise SystemExit"), "http://127.0.0.1:9/mcp"):
        assert run("list", target).returncode == 4


def test_4_is_an_answer_that_does_not_come():
    assert run("call", TEST, "brief", "seconds=20", "--timeout", "0.2").returncode == 4


# -- output ------------------------------------------------------------------------------------------------------------


def test_a_list_shows_names_types_defaults_and_words():
    shown = run("list", TEST).stdout
    for part in ("add", "read-only", "Add two numbers.", "integer", "(default 2)", "The second number"):
        assert part in shown


def test_json_output_is_json_and_nothing_else():
    tools = json.loads(run("list", TEST, "--json").stdout)
    assert [tool["name"] for tool in tools] == sorted(tool["name"] for tool in tools)
    report = json.loads(run("inspect", TEST, "--json").stdout)
    assert report["server"]["name"] == "author"
    assert report["tools"] == len(tools)
    assert {"layer", "state", "from"} == set(report["guard"][0])
    assert [row["package"] for row in report["speed"]] == ["hyperscan", "orjson", "uvloop"]
    assert call("add", "a=1")["structuredContent"] == 3
    assert call("refuse")["isError"] is True


def test_inspect_shows_the_guards_of_a_local_server_and_their_origin():
    shown = run("inspect", TEST).stdout
    for part in ("author 1.2", "modern", "100000 bytes", "Server(limits=", "validate", "timeout"):
        assert part in shown
    assert "cannot be seen from outside" in run("inspect", f"{sys.executable} {TEST}").stdout


def test_errors_are_said_in_the_language_that_was_asked_for():
    english, chinese = "there is no such file", "无法启动"
    assert english in run("list", "nowhere.py").stderr
    assert chinese in run("--lang", "zh", "list", "nowhere.py").stderr
    assert chinese in run("list", "nowhere.py", LC_ALL="zh_CN.UTF-8").stderr
    assert chinese not in run("--lang", "en", "list", "nowhere.py", LC_ALL="zh_CN.UTF-8").stderr


@pytest.mark.parametrize(
    ("arguments", "env"),
    [
        (("--lang", "zh", "serve", "--help"), {}),
        (("serve", "--help", "--lang=zh"), {}),
        (("serve", "--help"), {"LC_ALL": "zh_CN.UTF-8"}),
    ],
)
def test_help_is_shown_in_the_language_that_was_asked_for(arguments: tuple[str, ...], env: dict[str, str]):
    done = run(*arguments, **env)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "用法：tooltrue serve [选项] TARGET..."
    assert "选项：" in lines
    assert lines[-1] == "  示例：tooltrue serve notes.py --http :8000"
    shown = " ".join(done.stdout.split())
    for part in (
        "--workers 整数 HTTP：进程数。 [默认：1; 1<=x<=64]",
        "--help 显示此帮助并退出。",
        "--config 文件 ",
    ):
        assert part in shown


def test_english_help_is_shown_in_a_chinese_locale_on_request():
    assert run("serve", "--help", "--lang", "en", LC_ALL="zh_CN.UTF-8").stdout == run("serve", "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("serve", "--bogus", "x"), "没有选项 '--bogus'。"),
        (("approvals", "allow"), "缺少参数 'TICKET'."),
        (("approvals", "--store", "memory:"), "缺少命令。"),
        (("audit", "prune"), "缺少选项 '--before'."),
        (("audit", "tail", "-n", "some"), "'-n' 的值无效：'some' 不是有效的整数。"),
        (("serve", TEST, "--workers", "65"), "'--workers' 的值无效：65 不在范围 1<=x<=64 之内。"),
        (("check", "--format", "xml"), "'--format' 的值无效：'xml' 不是以下之一：'text', 'json'"),
        (("inventory", "nowhere.json"), "'[PATH]...' 的值无效：路径 'nowhere.json' 不存在。"),
        (("list", TEST, "--timeout", "nan"), "'--timeout' 的值无效：'nan' 不是可以计算的数值。"),
        (("list", TEST, "more"), "多余的参数（more）。"),
        (("list", "--timeout"), "选项 '--timeout' 需要一个值。"),
        (("list", "--json=1"), "选项 '--json' 不接受值。"),
        (("check",), "缺少参数 'TARGET...'。"),
        (("trust",), "需要 FILE、--list 或 --revoke DIGEST。"),
    ],
)
def test_wrong_usage_is_told_in_chinese(arguments: tuple[str, ...], error: str):
    done = run("--lang", "zh", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"错误：{error}" in done.stderr
    assert not any(word in done.stderr for word in ("Usage", "Try", "Error", "Invalid", "OPTIONS"))


def test_progress_goes_to_standard_error():
    done = run("call", TEST, "count", "to=2")
    assert done.stdout == "2 of 2\n"
    assert "2 of 2 at 2" in done.stderr


def test_a_reader_that_has_seen_enough_is_no_error():
    pipe = subprocess.Popen(
        command("list", TEST), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True
    )
    assert pipe.stdout is not None
    pipe.stdout.close()
    assert pipe.stderr is not None
    assert "Traceback" not in pipe.stderr.read()
    pipe.stderr.close()
    assert pipe.wait(30) in (0, 141)


LOGS = """
import sys

from tooltrue import Server, ToolError

server = Server("logs", audit=False)


@server.tool(effect="read")
def fail() -> str:
    print("line 1\\nthe store \\x1b[2Jis locked", file=sys.stderr, flush=True)
    raise ToolError("try later")


@server.tool(effect="read")
async def hang() -> str:
    print("waiting for the store", file=sys.stderr, flush=True)
    await asyncio.Event().wait()


server.run()
""".replace("import sys", "import asyncio, sys")


def test_the_log_of_a_started_server_is_shown_when_a_call_fails(tmp_path: Path):
    target = other(tmp_path, LOGS)
    failed = run("call", target, "fail", "--json")
    assert failed.returncode == 1
    assert json.loads(failed.stdout)["isError"] is True
    assert "standard error:\n    line 1\n    the store \\x1b[2Jis locked\n" in failed.stderr
    late = run("call", target, "hang", "--timeout", "5")
    assert late.returncode == 4
    assert late.stderr.startswith("The server has written to standard error:\n    waiting for the store\n")


@pytest.mark.parametrize("verb", [("list",), ("inspect",), ("call", "x")])
def test_a_legacy_server_that_refuses_has_its_log_shown_too(tmp_path: Path, verb: tuple[str, ...]):
    code = REFUSES.replace("error = {", "print('no store', file=sys.stderr, flush=True); error = {")
    done = run(verb[0], other(tmp_path, code), *verb[1:])
    assert done.returncode == 3
    assert "    no store\n" in done.stderr


# -- standard output ---------------------------------------------------------------------------------------------------

SAYS = [
    ("--help",),
    ("list", "--help"),
    ("list", TEST),
    ("diff", TEST, TEST),
    ("check", TEST),
    ("call", TEST, "refuse"),
]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a disk that is full")
@pytest.mark.parametrize("arguments", SAYS, ids=" ".join)
def test_output_on_a_full_disk_is_an_error_in_one_sentence(arguments: tuple[str, ...]):
    with open("/dev/full", "wb") as full:
        done = run(*arguments, stdout=full)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("its output is incomplete. [TT4011]")


@pytest.mark.parametrize("arguments", SAYS, ids=" ".join)
def test_closed_output_is_an_error_only_where_there_is_something_to_say(arguments: tuple[str, ...], tmp_path: Path):
    assert run(*arguments, stdout=None).stderr.splitlines()[-1].endswith("its output is incomplete. [TT4011]")
    assert run("check", TEST, "--fail-on", "never", "-o", str(tmp_path / "report"), stdout=None).returncode == 0


# -- arguments of a call -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "input", "value"),
    [
        (("a=1",), "", 3),
        (("a=1", "b=5"), "", 6),
        (("a:=1", "b:=2.0"), "", 3),
        (("--args", '{"a": 1, "b": 4}'), "", 5),
        (("--args", '{"a": 1, "b": 4}', "b=9"), "", 10),
        (("--args", "-"), '{"a": 7}', 9),
    ],
)
def test_arguments_come_as_pairs_as_json_or_from_standard_input(arguments: tuple[str, ...], input: str, value: int):
    assert call("add", *arguments, input=input)["structuredContent"] == value


def test_every_kind_of_target_is_reached(tmp_path: Path):
    module = tmp_path / "shop.py"
    module.write_text(Path(TEST).read_text())
    (tmp_path / "note.txt").write_text("hello")
    for target in (TEST, f"{TEST}:server", f"{sys.executable} {TEST}"):
        assert run("call", target, "add", "a=1").stdout == "3\n"
    done = subprocess.run(
        command("call", "shop:server", "add", "a=1"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(),
    )
    assert done.stdout == "3\n"
    listed = json.loads(run("list", "files", "--root", str(tmp_path), "--json").stdout)
    assert "read_file" in {tool["name"] for tool in listed}
