"""Interoperability with other implementations: the official MCP clients against `tooltrue serve files`.

    python tests/interop/run.py [--python-only | --node-only] [--only CLIENT] [--no-skip]

Each client, over stdio and over Streamable HTTP, lists the tools, writes a file, reads it back and is refused a
file outside the root; a client of tasks follows those of `task_server.py`, answers a question, and cancels one. The
clients are small programs beside this one (`clients.py` has the list). Each receives the calls and the server as
arguments, and prints one line of JSON: the negotiated revision, the listed tools, and the results. This program starts
them, checks their reports (`judging.py`) and prints a table; it exits with 1 if a row failed.

It needs only the standard library. Environments are created under `.interop/` and reused (`environments.py`).
"""

import argparse
import dataclasses
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from environments import HERE, HOME, NoNode
from judging import Row, calls_of, judged
from processes import Failure, adopt_orphans, children, completed, end_orphans, free_port, listening, written

from clients import CLIENTS, Official

CLIENT_SECONDS = 90
TRANSPORTS = ("stdio", "http")
COLUMNS = ("client", "package", "transport", "revision", "listed", "called", "refused", "seconds", "")


def rows_of(client: Official, tooltrue: str) -> list[Row]:
    """A row for each transport. Raises NoNode."""
    try:
        command = client.command()
    except Failure as failure:
        return [Row(client, transport, trouble=str(failure), detail=failure.detail) for transport in TRANSPORTS]
    return [tried(client, command, transport, tooltrue) for transport in TRANSPORTS]


def all_rows(clients: Sequence[Official], tooltrue: str) -> tuple[list[Row], list[str]]:
    """The rows, and a line for each client that could not be tried."""
    rows, skipped = [], []
    for client in clients:
        try:
            rows += rows_of(client, tooltrue)
        except NoNode as reason:
            skipped.append(f"SKIPPED (no Node): {client.name}: {reason}")
    return rows, skipped


def tried(client: Official, command: list[str], transport: str, tooltrue: str) -> Row:
    """Run one row. Processes that the row left running are ended, and count as trouble."""
    before, start = children(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tooltrue-interop-") as root, tempfile.TemporaryFile() as log:
        serve = [tooltrue, "serve", *served(client, root)]
        row = attempt(client, command, transport, serve, log)
        seconds = time.monotonic() - start
        left = end_orphans(before)
        detail = row.detail + written(log)
    trouble = "; ".join([*filter(None, [row.trouble]), *(f"left running: {name}" for name in left)])
    return dataclasses.replace(row, trouble=trouble, detail=detail, seconds=seconds)


def served(client: Official, root: str) -> list[str]:
    """The target of `tooltrue serve`, with its options. Its data is in `root`."""
    return [shutil.copy(HERE / "task_server.py", root)] if client.tasks else ["files", "--root", root, "--no-confirm"]


def attempt(client: Official, command: list[str], transport: str, serve: list[str], log: IO[bytes]) -> Row:
    run = over_http if transport == "http" else over_stdio
    try:
        seen, stderr = run([*command, json.dumps(calls_of(client))], serve, log)
    except Failure as failure:
        return Row(client, transport, trouble=str(failure), detail=failure.detail)
    return judged(client, transport, seen, stderr)


def over_stdio(command: list[str], serve: list[str], _log: IO[bytes]) -> tuple[dict, str]:
    return report(command, serve)


def over_http(command: list[str], serve: list[str], log: IO[bytes]) -> tuple[dict, str]:
    port = free_port()
    with listening([*serve, "--http", f"127.0.0.1:{port}"], port, log):
        return report(command, [f"http://127.0.0.1:{port}/mcp"])


def report(command: list[str], target: list[str]) -> tuple[dict, str]:
    """The report of the client and its stderr. Raises Failure."""
    done = completed([*command, *target], CLIENT_SECONDS, env=environment())
    if done.returncode:
        raise Failure(f"the client ended with {done.returncode}", done.stdout + done.stderr)
    try:
        return json.loads(done.stdout), done.stderr
    except ValueError:
        raise Failure("the client did not print JSON", done.stdout + done.stderr) from None


def environment() -> dict[str, str]:
    """Ours, with the Inspector's files kept out of the home folder and this machine reached without a proxy."""
    files = HOME / "inspector"
    return os.environ | {
        "MCP_STORAGE_DIR": str(files),
        "MCP_CATALOG_PATH": str(files / "catalog.json"),
        "MCP_CLIENT_CONFIG_PATH": str(files / "client.json"),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


def table(rows: Sequence[Row]) -> str:
    lines = [COLUMNS, *(cells(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def cells(row: Row) -> tuple[str, ...]:
    revision = row.revision if row.agreed else f"{row.revision} (!)"
    marks = ("yes" if good else "NO" for good in (row.listed, row.called, row.refused))
    verdict = "passed" if row.passed else "FAILED"
    return row.client.name, row.client.package, row.transport, revision, *marks, f"{row.seconds:.1f}", verdict


def explained(row: Row) -> str:
    trouble = row.trouble or f"expected revision {row.client.revision} and a yes in each column"
    return f"\n--- {row.client.name} over {row.transport}: {trouble}\n{row.detail.rstrip()}"


def chosen(options: argparse.Namespace) -> list[Official]:
    return [
        client
        for client in CLIENTS
        if (not options.only or client.name in options.only)
        and not (options.python_only and client.needs_node)
        and not (options.node_only and not client.needs_node)
    ]


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Official MCP clients against `tooltrue serve files`.")
    parser.add_argument("--only", action="append", choices=[client.name for client in CLIENTS], help="repeatable")
    language = parser.add_mutually_exclusive_group()
    language.add_argument("--python-only", action="store_true", help="only the clients that need no Node")
    language.add_argument("--node-only", action="store_true", help="only the clients that need Node")
    parser.add_argument("--no-skip", action="store_true", help="no Node is a failure (also with CI=true)")
    beside = Path(sys.executable).parent / "tooltrue"
    parser.add_argument("--tooltrue", default=str(beside), help="the program to test (default: beside this Python)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    adopt_orphans()
    before = children()
    try:
        rows, skipped = all_rows(chosen(options), options.tooltrue)
    finally:
        end_orphans(before)
    print(table(rows), *skipped, *(explained(row) for row in rows if not row.passed), sep="\n")
    may_skip = not options.no_skip and os.environ.get("CI") != "true"
    return int(not all(row.passed for row in rows) or (bool(skipped) and not may_skip))


if __name__ == "__main__":
    sys.exit(main())
