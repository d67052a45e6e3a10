"""Attacks on the audit log: tampering that verification detects, and manipulations that are impossible."""

from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from support.fake_secrets import FAKES
from support.serving import Process, environment, started
from support.variants import tried
from tooltrue import Client, RpcError, Server
from tooltrue.cli.main import main
from tooltrue.policy.audit.audit_settings import Audit
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.policy.guard import Guard
from tooltrue.policy.pipeline import standard
from tooltrue.server.service import SILENT
from tooltrue.state.log import MemoryLog
from tooltrue.state.verify import verify
from tooltrue.testing.state import LIMIT
from tooltrue.tools.library import LocalLibrary, shelved
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.vocabulary import LOCAL, RequestContext, ToolCall

SERVER = Path(__file__).parents[1] / "journeys" / "audited.py"


def audited(folder: Path, **more: str) -> AbstractContextManager[Process]:
    said = environment(XDG_STATE_HOME=str(folder), MARKS=str(folder), **more)
    return started([sys.executable, str(SERVER)], env=said)


def audit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, in this process: one of its own would take half a second each time."""
    said, complained, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(complained):
        patch.setenv("XDG_STATE_HOME", str(folder))
        patch.setenv("LC_ALL", "C.UTF-8")
        patch.setattr(sys, "argv", argv := ["tooltrue", "audit", *arguments])
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return subprocess.CompletedProcess(argv, code, said.getvalue(), complained.getvalue())


def records(folder: Path) -> list[dict[str, Any]]:
    done = audit(folder, "export", "--server", "audited")
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["record"] for line in done.stdout.splitlines()]


def file(folder: Path) -> Path:
    return folder / "tooltrue" / "audit" / "audited.db"


def cut(folder: Path, statements: str) -> None:
    with closing(sqlite3.connect(file(folder), isolation_level=None)) as db:
        db.executescript(statements)


def write_some(folder: Path, count: int = 20, seal: str = "", *, together: bool = False) -> None:
    """A log and its seal, as a server leaves them behind: each record in a row of its own, or all in one batch."""

    async def serve() -> None:
        server = Server("audited", audit=Audit(f"sqlite://{file(folder)}", seal=seal))
        server.add_tool(lambda: "done", name="tool", effect="read")
        async with server.serving(), Client(server) as client:
            with locked(folder) if together else contextlib.nullcontext():  # nothing is written before all are made
                for _ in range(count):
                    await client.call_tool("tool")
                    if not together:
                        await server.audit_log.head()  # written by now

    asyncio.run(serve())


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Context in which no other connection writes to the log."""
    with closing(sqlite3.connect(file(folder), isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("COMMIT")


def copied(source: int, target: int) -> str:
    columns = "writer, record, previous, hash"
    return f"INSERT INTO log (position, {columns}) SELECT {target}, {columns} FROM log WHERE position = {source}"


# --- J01, J02: record contents ----------------------------------------------------------------------------------------

FORGED = 'a\n{"decision":"allow","outcome":"ok","who":"root"}\x1b[2J'


def in_memory(name: str, arguments: dict[str, Any]) -> str:
    async def call() -> str:
        server = Server("t")

        @server.tool(effect="read")
        def sign_in(user: str, password: str = "", author: str = "", max_tokens: int = 1) -> str:
            return user

        async with Client(server) as client:
            with contextlib.suppress(RpcError):  # there is no tool of such a name
                await client.call_tool(name, arguments)
        [entry] = await server.audit_log.read()
        return entry.text

    return asyncio.run(call())


@pytest.mark.attack("J01")
@pytest.mark.parametrize("place", ["name", "argument"])
def test_j01_no_caller_input_adds_a_line_to_the_audit_log(place: str):
    text = in_memory(FORGED, {}) if place == "name" else in_memory("sign_in", {"user": FORGED})
    assert text.isascii()
    assert text.isprintable()
    record = json.loads(text)
    assert record["who"] == "local"
    assert FORGED in (record["subject"], record["arguments"].get("user"))


@pytest.mark.twin("J01")
def test_j01_twin_text_of_several_lines_is_recorded_to_the_letter():
    said = 'first\nsecond "quoted" \\ naïve'
    assert json.loads(in_memory("sign_in", {"user": said}))["arguments"] == {"user": said}


@pytest.mark.attack("J02")
@pytest.mark.parametrize("arguments", [{"user": "a", "password": "hunter2"}, {"password": {"of": ["hunter2"]}}])
def test_j02_no_password_is_recorded_whether_the_call_is_accepted_or_not(arguments: dict[str, Any]):
    assert "hunter2" not in in_memory("sign_in", arguments)


@pytest.mark.twin("J02")
def test_j02_twin_an_argument_with_a_name_similar_to_a_secret_is_recorded():
    said = {"user": "secretary", "author": "token ring", "max_tokens": 5}
    assert json.loads(in_memory("sign_in", said))["arguments"] == said


# --- J03, J04, J05: tampering after the write -------------------------------------------------------------------------

EDITS = {
    "a byte": "UPDATE log SET record = replace(record, '\"ok\"', '\"no\"') WHERE position = 7",
    "the whole record": "UPDATE log SET record = '{}' WHERE position = 7",
    "who wrote it": "UPDATE log SET writer = 'me' WHERE position = 7",
}


def faults(folder: Path, *more: str) -> list[str]:
    """The findings of ``verify``, as position and message; its exit code must agree."""
    done = audit(folder, "verify", *more)
    verdict, *found, _ = done.stdout.splitlines()
    assert (done.returncode, verdict.startswith("NOT OK: ")) == (bool(found), bool(found)), done.stdout
    return found


@pytest.mark.attack("J03")
@pytest.mark.parametrize("what", EDITS)
def test_j03_a_record_that_was_changed_is_named(what: str, tmp_path: Path):
    write_some(tmp_path)
    cut(tmp_path, EDITS[what])
    assert faults(tmp_path) == ["7: this record was changed, or moved here."]


@pytest.mark.twin("J03")
def test_j03_twin_an_untouched_log_verifies(tmp_path: Path):
    write_some(tmp_path)
    cut(tmp_path, "VACUUM")
    assert faults(tmp_path) == []


@pytest.mark.attack("J04")
def test_j04_a_log_whose_last_records_were_dropped_is_seen_by_its_seal(tmp_path: Path):
    write_some(tmp_path)
    cut(tmp_path, "DELETE FROM log WHERE position > 10")
    assert [line.partition(":")[0] for line in faults(tmp_path)] == ["20"]
    elsewhere = tmp_path / "kept.seal"
    file(tmp_path).with_name("audited.db.seal").rename(elsewhere)
    assert faults(tmp_path, "--unsealed") == []  # it cannot be seen without
    assert len(faults(tmp_path, "--seal", str(elsewhere))) == 1


@pytest.mark.attack("J04")
def test_j04_a_log_whose_head_is_kept_in_another_log_cannot_be_cut_short(tmp_path: Path):
    seals = f"sqlite:{tmp_path}/seals.db"
    write_some(tmp_path, seal=seals)
    assert faults(tmp_path, "--seal", seals) == []
    assert "OK: no record was changed or removed.\n" in audit(tmp_path, "verify", "--seal", seals).stdout
    cut(tmp_path, "DELETE FROM log WHERE position > 10")
    assert [line.partition(":")[0] for line in faults(tmp_path, "--seal", seals)] == ["20"]
    done = audit(tmp_path, "verify", "--log", seals, "--seal", seals)
    assert (done.returncode, "TT7090" in done.stderr) == (2, True)


@pytest.mark.attack("J04")
def test_j04_a_beginning_that_was_dropped_is_seen_unless_it_was_pruned_with_our_key(tmp_path: Path):
    write_some(tmp_path)
    assert "20 records deleted" in audit(tmp_path, "prune", "--before", "2999-01-01").stdout
    write_some(tmp_path)
    assert faults(tmp_path) == []
    other = tmp_path / "other.key"
    other.write_text("not ours")
    assert len(faults(tmp_path, "--key", str(other))) == 1
    cut(tmp_path, "DELETE FROM log WHERE position <= 25")
    assert [line.partition(":")[0] for line in faults(tmp_path)] == ["26"]


@pytest.mark.twin("J04")
def test_j04_twin_a_log_that_has_grown_since_it_was_sealed_is_whole(tmp_path: Path):
    write_some(tmp_path)
    seal = file(tmp_path).with_name("audited.db.seal").read_text()
    write_some(tmp_path)
    file(tmp_path).with_name("audited.db.seal").write_text(seal)
    assert faults(tmp_path) == []


INSERTED = {
    "at the end": copied(20, 21),
    "exchanged": "UPDATE log SET position = -1 WHERE position = 5; UPDATE log SET position = 5 WHERE position = 6;"
    "UPDATE log SET position = 6 WHERE position = -1",
    "taken out": "DELETE FROM log WHERE position = 5",
    "at zero": copied(20, 0),
    "below zero": copied(20, -7),
}


@pytest.mark.attack("J04")
def test_j04_a_log_whose_seal_is_gone_is_not_called_whole(tmp_path: Path):
    write_some(tmp_path)
    assert "OK: no record was changed or removed. The seal lies beside" in audit(tmp_path, "verify").stdout
    file(tmp_path).with_name("audited.db.seal").unlink()
    done = audit(tmp_path, "verify")
    assert (done.returncode, done.stdout.startswith("NOT PROVEN: no seal is found")) == (1, True)
    done = audit(tmp_path, "verify", "--unsealed")
    assert (done.returncode, "Without a seal" in done.stdout) == (0, True)


@pytest.mark.attack("J05")
@pytest.mark.parametrize("position", [0, -7, -(2**63)])
def test_j05_a_record_below_the_first_position_is_named(tmp_path: Path, position: int):
    write_some(tmp_path)
    cut(tmp_path, copied(20, position))
    assert faults(tmp_path) == [f"{position}: this record stands below position 1, where no server writes."]


@pytest.mark.attack("J05")
@pytest.mark.parametrize("position", [0, -7, -(2**63)])
def test_j05_a_record_below_the_first_position_is_shown(tmp_path: Path, position: int):
    write_some(tmp_path, count=3)
    cut(tmp_path, copied(2, position))
    for verb in (("tail", "-n", "1"), ("search", "--kind", "call")):
        rows = audit(tmp_path, *verb).stdout.splitlines()
        assert rows[0].split()[0] == str(position)
        assert rows[-1].split()[0] == "3"
    exported = [json.loads(line)["position"] for line in audit(tmp_path, "export").stdout.splitlines()]
    assert exported == [position, 1, 2, 3]
    assert "4 operations" in audit(tmp_path, "stats").stdout


@pytest.mark.attack("J05")
@pytest.mark.parametrize("what", INSERTED)
def test_j05_records_in_another_order_are_found(what: str, tmp_path: Path):
    write_some(tmp_path)
    cut(tmp_path, INSERTED[what])
    assert faults(tmp_path)


# --- J06, J08, J09, J10: failures during the write --------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.attack("J06", "B57")
def test_j06_with_a_full_disk_nothing_is_changed_and_the_operator_is_told(tmp_path: Path):
    with audited(tmp_path, FILE_BYTES="60000") as server:
        result: Any = {"isError": False}
        while not result["isError"]:  # within its group of 50 ms a call that only writes may still run
            server.result("echo", text="x" * 1000)
            result = server.result("put", text="a")
        assert "[TT7011]" in result["content"][0]["text"]
        wiped = [name for name in map(str, range(100)) if not server.result("wipe", name=name)["isError"]]
        assert len(wiped) < 100
        assert sorted(path.name for path in tmp_path.iterdir() if path.name.isdecimal()) == sorted(wiped)
        assert server.result("echo", text="still here")["content"][0]["text"] == "still here"
        server.wait_for("are being lost")
    written = [record for record in records(tmp_path) if (record["kind"], record["subject"]) == ("intent", "wipe")]
    assert [record["arguments"]["name"] for record in written] == wiped


@pytest.mark.process
@pytest.mark.twin("J06", "B57")
def test_j06_twin_with_room_on_the_disk_everything_runs(tmp_path: Path):
    with audited(tmp_path) as server:
        assert not server.result("put", text="a")["isError"]
        assert not server.result("wipe", name="wiped")["isError"]
    assert (tmp_path / "wiped").exists()


@pytest.mark.process
@pytest.mark.attack("J08")
def test_j08_a_call_in_the_middle_of_which_the_process_was_killed_is_listed(tmp_path: Path):
    with audited(tmp_path) as server:
        server.result("wipe", name="first")
        server.call("wipe", 2, name="second", hang=True)
        while not (tmp_path / "second").exists():
            assert server.popen.poll() is None, server.popen.stderr and server.popen.stderr.read()
            os.sched_yield()
        server.popen.kill()
    done = audit(tmp_path, "search", "--unfinished", "--json")
    [unfinished] = [json.loads(line) for line in done.stdout.splitlines()]
    assert unfinished["arguments"] == {"name": "second", "hang": True}
    assert faults(tmp_path, "--unsealed") == []  # killed before its first seal, perhaps


ENDINGS = [
    "KILL", "ABRT", "SEGV", "BUS", "FPE", "ILL", "TRAP", "SYS", "XCPU", "ALRM", "VTALRM", "PROF", "USR1", "USR2",
    "QUIT", "IO",
]  # fmt: skip
"""Signals that end a process at once: sent by another one, by the kernel, or by a fault in a library."""


@pytest.mark.process
@pytest.mark.attack("J08")
@pytest.mark.parametrize("name", ENDINGS)
def test_j08_a_call_is_listed_however_its_process_ended(tmp_path: Path, name: str):
    with audited(tmp_path) as server:
        server.call("wipe", 2, name="second", hang=True)
        while not (tmp_path / "second").exists():
            assert server.popen.poll() is None, server.popen.stderr and server.popen.stderr.read()
            os.sched_yield()
        server.popen.send_signal(getattr(signal, f"SIG{name}"))
        server.popen.wait(LIMIT)
    assert unfinished(tmp_path) == ["second"]


def unfinished(folder: Path) -> list[str]:
    lines = audit(folder, "search", "--unfinished", "--json").stdout.splitlines()
    return sorted(json.loads(line)["arguments"]["name"] for line in lines)


@pytest.mark.process
@pytest.mark.attack("J08")
@pytest.mark.parametrize(
    ("before", "hanging", "after"),
    [(0, 1, 0), (200, 1, 0), (0, 20, 0), (5, 2, 5), (0, 1, 200), (50, 5, 50)],
    ids=["the first call", "after many", "many at once", "between others", "before many", "among many"],
)
def test_j08_each_call_that_was_running_is_listed_and_no_other(tmp_path: Path, before: int, hanging: int, after: int):
    with audited(tmp_path) as server:
        for number in range(before):
            server.result("wipe", name=f"before{number}")
        for number in range(hanging):
            server.call("wipe", 1_000 + number, name=f"hanging{number}", hang=True)
        while not all((tmp_path / f"hanging{number}").exists() for number in range(hanging)):
            assert server.popen.poll() is None, server.popen.stderr and server.popen.stderr.read()
            os.sched_yield()
        for number in range(after):
            server.result("wipe", name=f"after{number}")
        while audit(tmp_path, "export", "--server", "audited").stdout.count('"call"') < before + after:
            os.sched_yield()  # outcomes are written soon after their answers
        server.popen.kill()
        server.popen.wait()
    assert unfinished(tmp_path) == sorted(f"hanging{number}" for number in range(hanging))


@pytest.mark.process
@pytest.mark.attack("J08")
def test_j08_of_the_calls_that_were_answered_a_killed_process_loses_those_of_its_last_moment_at_most(tmp_path: Path):
    """Records are written soon and by themselves: no later call, nor the end of the process, has to push them out."""
    with audited(tmp_path) as server:
        for number in range(100):
            server.result("echo", text=str(number))
        while audit(tmp_path, "export", "--server", "audited").stdout.count("\n") < 100:  # nor need the file be there
            os.sched_yield()
        for number in range(100, 200):
            server.result("echo", text=str(number))
        server.popen.kill()
    kept = [record["arguments"]["text"] for record in records(tmp_path)]
    assert len(kept) >= 100
    assert kept == [str(number) for number in range(len(kept))]
    assert faults(tmp_path, "--unsealed") == []  # killed before its first seal, perhaps


@pytest.mark.process
@pytest.mark.twin("J08")
def test_j08_twin_a_call_that_ended_is_not_listed(tmp_path: Path):
    with audited(tmp_path) as server:
        server.result("wipe", name="first")
        server.close_input()
        assert server.ended() == 0
    assert audit(tmp_path, "search", "--unfinished", "--json").stdout == ""


@pytest.mark.process
@pytest.mark.attack("J09")
def test_j09_servers_that_write_to_one_file_write_one_chain(tmp_path: Path):
    with audited(tmp_path) as one, audited(tmp_path) as other:
        for number in range(50):
            for server in (one, other):
                server.call("wipe" if number % 10 == 0 else "echo", number, **_arguments(number))
        for server in (one, other):
            for _ in range(50):
                assert not server.read()["result"]["isError"]
            server.close_input()
            assert server.ended() == 0
    assert faults(tmp_path) == []
    kinds = [record["kind"] for record in records(tmp_path)]
    assert (kinds.count("call"), kinds.count("intent")) == (100, 10)


def _arguments(number: int) -> dict[str, Any]:
    return {"name": f"n{number}"} if number % 10 == 0 else {"text": "a"}


@pytest.mark.twin("J05", "J09")
def test_j09_twin_a_server_that_is_started_again_goes_on_with_the_chain(tmp_path: Path):
    for _ in range(2):
        write_some(tmp_path)
    assert faults(tmp_path) == []


def with_clock(clock: Callable[[], float]) -> list[int]:
    """The positions of three calls, by the time that their records say."""
    audit = Audit(log := MemoryLog())
    tools = LocalToolset()
    tools.add(lambda: "done", name="tool", effect="read")
    provider = standard(shelved(tools, LocalLibrary()), Guard(audit=audit), None, Recorder(audit, clock=clock))

    async def scenario() -> list[int]:
        for _ in range(3):
            await provider.call_tool(ToolCall("tool", {}, RequestContext(LOCAL, SILENT)))
        assert (await verify(log)).faults == ()
        return [entry.position for entry in sorted(await log.read(), key=lambda entry: entry.record["at"])]

    return asyncio.run(scenario())


@pytest.mark.attack("J10")
def test_j10_a_clock_that_was_set_back_changes_no_order():
    times = iter([300.5, 200.5, 100.5])
    assert with_clock(lambda: next(times)) == [3, 2, 1]


@pytest.mark.twin("J10")
def test_j10_twin_a_clock_that_goes_on_agrees_with_the_order():
    times = iter([100.5, 200.5, 300.5])
    assert with_clock(lambda: next(times)) == [1, 2, 3]


# --- kill -9 ----------------------------------------------------------------------------------------------------------


@pytest.mark.process
def test_a_process_that_is_killed_loses_no_more_than_its_last_group(tmp_path: Path):
    with audited(tmp_path) as server:
        for number in range(50):
            server.result("echo", text=str(number))
        server.result("wipe", name="mark")  # its write-ahead record is durable, and so are all earlier records
        server.popen.kill()
    texts = [record["arguments"].get("text") for record in records(tmp_path)]
    assert texts[:50] == [str(number) for number in range(50)]
    assert faults(tmp_path, "--unsealed") == []  # killed before its first seal, perhaps


# --- families ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def faults_after(tmp_path: Path) -> Callable[[str], list[str]]:
    """Verifies a log of twenty records in which only these statements have changed something: :func:`faults`."""
    write_some(tmp_path)
    return verifier(tmp_path)


@pytest.fixture
def batch_faults(tmp_path: Path) -> Callable[[Callable[[list[str]], object]], list[str]]:
    """Verifies a log of a record, a batch of eighteen, and a record, after the function has changed the lines of the
    batch."""
    for count in (1, 18, 1):
        write_some(tmp_path, count, together=True)
    with closing(sqlite3.connect(file(tmp_path))) as db:
        [[text]] = db.execute("SELECT record FROM log WHERE position = 19")
    found = verifier(tmp_path)

    def faults_of(change: Callable[[list[str]], object]) -> list[str]:
        lines = text.split("\n")
        change(lines)
        quoted = "\n".join(lines).replace("'", "''")
        return found(f"UPDATE log SET record = '{quoted}' WHERE position = 19")

    return faults_of


def verifier(tmp_path: Path) -> Callable[[str], list[str]]:
    whole = file(tmp_path).read_bytes()

    def found(statements: str) -> list[str]:
        for name in ("audited.db-wal", "audited.db-shm"):
            file(tmp_path).with_name(name).unlink(missing_ok=True)
        file(tmp_path).write_bytes(whole)
        cut(tmp_path, statements)
        return faults(tmp_path)

    return found


CHANGED = {
    **{f"{old} becomes {new}": f"replace(record, '{old}', '{new}')" for old, new in (
        ('"ok"', '"no"'), ('"tool"', '"tulip"'), ('"local"', '"root"'), ("2", "3"), ('":', '" :'), (",", ", "),
        ("t", "T"), ("e", "\u0435"),
    )},
    "a member more": "substr(record, 1, length(record) - 1) || ',\"x\":1}'",
    "cut by a byte": "substr(record, 1, length(record) - 1)",
    "a space behind": "record || ' '",
    "a zero behind": "record || char(0)",
    "emptied": "'{}'",
    "of another": "(SELECT record FROM log WHERE position = 8)",
}  # fmt: skip
OF_ANOTHER = "(SELECT {} FROM log WHERE position = 8)"
COLUMNS = {
    "who wrote it": "writer = 'me'",
    "the hash": f"hash = {OF_ANOTHER.format('hash')}",
    "the one before": f"previous = {OF_ANOTHER.format('previous')}",
    "both": f"hash = {OF_ANOTHER.format('hash')}, previous = {OF_ANOTHER.format('previous')}",
    "all": f"(writer, record, previous, hash) = {OF_ANOTHER.format('writer, record, previous, hash')}",
}


@pytest.mark.attack("J03")
@pytest.mark.variants(50)
def test_j03_no_change_of_a_record_goes_unseen(faults_after: Callable[[str], list[str]]):
    assert faults_after("SELECT 1") == []
    edits = {**{name: f"record = {edit}" for name, edit in CHANGED.items()}, **COLUMNS}
    for (name, edit), position in itertools.product(edits.items(), (1, 7, 20)):
        tried((name, position))
        found = faults_after(f"UPDATE log SET {edit} WHERE position = {position}")
        assert [line for line in found if line.startswith(f"{position}:")], (name, position, found)


def exchanged(first: int, second: int) -> str:
    steps = ((first, -1), (second, first), (-1, second))
    return ";".join(f"UPDATE log SET position = {there} WHERE position = {here}" for here, there in steps)


def without(position: int) -> str:
    return f"DELETE FROM log WHERE position = {position}"


def moved_up(position: int) -> str:
    """Those behind it, by one; below zero for a moment, since no two may have one position."""
    moved = f"UPDATE log SET position = 1 - position WHERE position > {position}"
    return f"{moved}; UPDATE log SET position = -position WHERE position < 0"


def changing(index: int, edit: Callable[[str], str]) -> Callable[[list[str]], object]:
    def change(lines: list[str]) -> None:
        lines[index] = edit(lines[index])

    return change


LINE_EDITS: dict[str, Callable[[str], str]] = {
    "a byte": lambda line: line.replace('"ok"', '"no"'),
    "a space": lambda line: f"{line} ",
    "a member more": lambda line: f'{line[:-1]},"x":1}}',
    "cut by a byte": lambda line: line[:-1],
    "emptied": lambda line: "",
    "anything": lambda line: "{}",
    "another alphabet": lambda line: line.replace("e", "\u0435", 1),
}


@pytest.mark.attack("J03")
@pytest.mark.variants(3 * len(LINE_EDITS))
def test_j03_a_changed_record_of_a_batch_is_named(batch_faults: Callable[..., list[str]]):
    assert batch_faults(lambda lines: None) == []
    for (name, edit), index in itertools.product(LINE_EDITS.items(), (0, 7, 17)):
        tried((name, index))
        assert batch_faults(changing(index, edit)) == [f"{index + 2}: this record was changed, or moved here."]


@pytest.mark.attack("J03")
def test_j03_a_batch_whose_common_facts_were_changed_is_named(tmp_path: Path):
    write_some(tmp_path, together=True)
    cut(tmp_path, "UPDATE log SET writer = 'me'")
    [fault] = faults(tmp_path)
    assert fault.startswith("1: at least one of the records from here to 20")


@pytest.mark.attack("J05")
@pytest.mark.variants(12)
def test_j05_no_record_of_a_batch_is_moved_taken_out_or_put_in_unseen(batch_faults: Callable[..., list[str]]):
    for index in (0, 7, 17):
        tried(("taken out", index))
        assert batch_faults(lambda lines: lines.pop(index)) == [f"{index + 3}: records before this one were removed."]  # noqa: B023
        tried(("put in", index))
        [fault] = batch_faults(lambda lines: lines.insert(index, "{}"))  # noqa: B023
        assert fault == f"{index + 2}: a record that no server wrote was put in before this one."
        tried(("exchanged", index))
        other = (index + 5) % 18

        def exchange(lines: list[str]) -> None:
            lines[index], lines[other] = lines[other], lines[index]  # noqa: B023

        expected = [f"{position + 2}: this record was changed, or moved here." for position in sorted((index, other))]
        assert batch_faults(exchange) == expected
    tried("turned around")
    assert len(batch_faults(lambda lines: lines.reverse())) == 18
    tried("cut at its end")
    assert batch_faults(lambda lines: lines.__delitem__(slice(10, None)))[0].startswith("20:")
    tried("all but one")
    assert batch_faults(lambda lines: lines.__delitem__(slice(1, None)))[0].startswith("20:")


MOVED = {
    **{f"{one} and {other} exchanged": exchanged(one, other) for one, other in ((1, 2), (5, 6), (5, 15), (19, 20))},
    **{f"{position} taken out": without(position) for position in (1, 2, 10, 19, 20)},
    **{f"{position} closed up": f"{without(position)}; {moved_up(position)}" for position in (1, 2, 10, 19)},
    **{f"{position} again at the end": copied(position, 21) for position in (1, 10, 20)},
    **{f"one at {position}": copied(20, position) for position in (0, -1, -7, 22, 100)},
    "moved on by one": "UPDATE log SET position = -position; UPDATE log SET position = 1 - position",
    "turned around": "UPDATE log SET position = -position; UPDATE log SET position = position + 21",
}


@pytest.mark.attack("J05")
@pytest.mark.variants(20)
def test_j05_no_record_is_moved_taken_out_or_put_in_unseen(faults_after: Callable[[str], list[str]]):
    for name, statements in MOVED.items():
        tried(name)
        assert faults_after(statements), name


@pytest.mark.attack("J04")
@pytest.mark.variants(17)
def test_j04_no_end_of_a_batch_is_cut_off_unseen(tmp_path: Path):
    write_some(tmp_path, 18, together=True)
    found = verifier(tmp_path)
    with closing(sqlite3.connect(file(tmp_path))) as db:
        [[text]] = db.execute("SELECT record FROM log")
    for left in range(1, 18):
        tried(left)
        lines = "\n".join(text.split("\n")[:left]).replace("'", "''")
        assert found(f"UPDATE log SET record = '{lines}'"), left
        assert found(f"UPDATE log SET record = '{lines}', position = {left}"), left


@pytest.mark.attack("J04")
@pytest.mark.variants(20)
def test_j04_no_end_of_a_log_is_cut_off_unseen(faults_after: Callable[[str], list[str]]):
    """By any number of records; also where others of its own kind are put in their place."""
    for dropped in range(1, 21):
        tried(dropped)
        assert faults_after(f"DELETE FROM log WHERE position > {20 - dropped}"), dropped


@pytest.mark.attack("J02")
@pytest.mark.variants(2 * len(FAKES))
def test_j02_no_secret_of_any_kind_is_recorded():
    for kind, secret in FAKES:
        for place, arguments in {"a value": {"user": secret}, "a name": {"user": "a", secret[:200]: 1}}.items():
            tried((kind, secret, place))
            text = json.dumps(json.loads(in_memory("sign_in", arguments)), ensure_ascii=False)
            parts = [line for line in secret.splitlines() if len(line) > 7 and "-----" not in line]
            assert not [part for part in parts if part in text], (kind, place, text)


@pytest.mark.attack("J10")
@pytest.mark.variants(24)
def test_j10_no_clock_changes_the_order_of_records():
    for jumps in itertools.permutations((100.5, 200.5, 1e9, 0.0), 3):
        tried(jumps)
        times = iter(jumps)
        order = sorted(range(3), key=lambda number: jumps[number])
        assert with_clock(lambda: next(times)) == [number + 1 for number in order]  # noqa: B023
