"""Run the official conformance suite through a gateway, before our own server of everything and the official one.

    python tests/conformance/run_gateways.py [--before SERVER] [--scenario NAME] [--typescript COMMAND] [--keep]

`stateless` and `session-based` stand for `everything.py`, to which the gateway speaks a revision of that kind.
`typescript` stands for the official server of TypeScript, as published on npm. A checkout of the suite has a larger
one, which ``--typescript "npx tsx …/examples/servers/typescript/everything-server.ts"`` starts instead, at ``PORT``.
That server runs without the gateway first: each scenario that passes then has to pass through the gateway.

Parts, verdicts and the exit code are those of `run.py`. The scenarios that may fail have sections of their own in
`expected-failures.yml`.
"""

import argparse
import contextlib
import json
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

sys.path.append(str(Path(__file__).resolve().parents[1] / "interop"))

from environments import HOME, NODE_HOME, node
from processes import free_port, listening
from suites import STABLE
from verdicts import Row

from run import OURS, SCENARIOS, add_common_options, complaints, concluded, everything, expecting, results_folder, run

SPOKEN = {"stateless": "2026-07-28", "session-based": "2025-11-25"}
TYPESCRIPT = "typescript"
CHECKOUT = "typescript-checkout"
PARTS = ("2026-07-28", "2025-11-25", STABLE)
PUBLISHED = NODE_HOME / "node_modules" / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
PUBLISHED_PARTS = ("2025-11-25",)  # it knows no later revision, and the stable suite has the same scenarios
FAILS_WITHOUT = "it fails without the gateway too"

Found = dict[str, list[Row]]


@contextlib.contextmanager
def gateway(url: str, revision: str, log: IO[bytes]) -> Iterator[str]:
    """A gateway before the server at ``url``; its URL. Tools keep their names, and no call needs an approval."""
    port = free_port()
    server = {"url": url, "revision": revision}
    with tempfile.TemporaryDirectory() as folder:
        servers, settings = Path(folder, "servers.json"), Path(folder, "tooltrue.toml")
        servers.write_text(json.dumps({"mcpServers": {"everything": server}}))
        settings.write_text("[servers.everything]\nprefix = false\n[gateway]\nquestions = 600\npins = false\n")
        options = ["--config", str(settings), "--no-confirm", "--http", f"127.0.0.1:{port}"]
        with listening([OURS, "gateway", str(servers), *options], port, log):
            yield f"http://127.0.0.1:{port}/mcp"


@contextlib.contextmanager
def typescript(command: str | None, log: IO[bytes]) -> Iterator[str]:
    """The official server of TypeScript; its URL."""
    port = free_port()
    words = [node(), str(PUBLISHED), "streamableHttp"] if command is None else shlex.split(command)
    with listening(["env", f"PORT={port}", *words], port, log):
        yield f"http://127.0.0.1:{port}/mcp"


def before_ours(kind: str, scenario: str | None, folder: Path, log: IO[bytes]) -> Found:
    """The rows of each part, through a gateway before `everything.py`."""
    with everything(OURS, log) as server, gateway(server, SPOKEN[kind], log) as url:
        return expecting(rows_of(url, PARTS, scenario, folder), kind, is_whole=scenario is None)


def before_typescript(command: str | None, scenario: str | None, folder: Path, log: IO[bytes]) -> Found:
    """The rows of each part, through a gateway before the official server; those that fail without it may fail."""
    parts, side = (PUBLISHED_PARTS, TYPESCRIPT) if command is None else (PARTS, CHECKOUT)
    compared: Found = {}
    with tempfile.TemporaryFile() as own, typescript(command, own) as server:
        without = rows_of(server, parts, scenario, folder / "without")
        for part in parts:  # the gateway speaks the revision of the part, as what this server has differs by revision
            with gateway(server, "2025-11-25" if part == STABLE else part, log) as url:
                through = rows_of(url, [part], scenario, folder / "through")[part]
            compared[part] = compared_with(without[part], through)
    return expecting(compared, side, is_whole=False)


def rows_of(url: str, parts: Sequence[str], scenario: str | None, folder: Path) -> Found:
    return {part: run(url, part, scenario, folder / part) for part in parts}


def compared_with(without: Sequence[Row], through: Sequence[Row]) -> list[Row]:
    """The rows ``through`` the gateway, where a scenario that fails ``without`` it is expected to fail."""
    failed = {row.scenario for row in without if not row.passed}
    excused = [not row.passed and row.scenario in failed for row in through]
    return [
        replace(row, troubles=(), expected=FAILS_WITHOUT) if is_excused else row
        for row, is_excused in zip(through, excused, strict=True)
    ]


def found_by(options: argparse.Namespace) -> tuple[Found, list[str]]:
    """The rows by server and part, and the complaints of our programs. Raises NoNode or Failure."""
    node()  # before a server starts: the first time it takes a while
    found: Found = {}
    with results_folder(options.keep, "conformance-gateways") as folder, tempfile.TemporaryFile() as log:
        for kind in options.before or (*SPOKEN, TYPESCRIPT):
            if kind == TYPESCRIPT:
                rows = before_typescript(options.typescript, options.scenario, folder / kind, log)
            else:
                rows = before_ours(kind, options.scenario, folder / kind, log)
            found |= {f"{kind}, {part}": those for part, those in rows.items()}
        return found, complaints(log)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The official conformance suite through a gateway of ours.")
    parser.add_argument("--before", action="append", choices=[*SPOKEN, TYPESCRIPT], help="only this server; repeatable")
    parser.add_argument("--scenario", help="only this one")
    parser.add_argument("--typescript", metavar="COMMAND", help="another official server, which listens at $PORT")
    add_common_options(parser)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    scenarios_of = {f"{kind}, {part}": SCENARIOS[part] for kind in (*SPOKEN, TYPESCRIPT) for part in PARTS}
    return concluded(lambda: found_by(options), scenarios_of, options, HOME / "conformance-gateways")


if __name__ == "__main__":
    sys.exit(main())
