"""Run the official conformance suite: every server scenario, in both kinds of revisions, against `everything.py`.

`run_clients.py` does the same for clients, and `run_gateways.py` through a gateway.

    python tests/conformance/run.py [--revision REVISION] [--scenario NAME] [--keep] [--no-skip]

The program starts the server on a free port, runs the suite against it, and evaluates each check of the suite
(`verdicts.py`). A table for each revision has the result of each scenario; details of failures follow. `extension`
stands for the scenarios of extensions, `stable` for the whole suite of the stable release. The exit code is 1
unless every scenario has passed, or is expected to fail (`expected-failures.yml`) and has failed.

The suite and its Node come with those of the interoperability tests, once, under `.interop/`.
"""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

sys.path.append(str(Path(__file__).resolve().parents[1] / "interop"))

from environments import HOME, NoNode, node
from processes import Failure, adopt_orphans, children, completed, end_orphans, free_port, listening, written
from suites import EXTENSION, STABLE, program, scenarios, wire
from verdicts import EXCUSED, Row, expected_failures, rows_in, with_expected

HERE = Path(__file__).resolve().parent

EXPECTED = HERE / "expected-failures.yml"
OURS = str(Path(sys.executable).parent / "tooltrue")
SCENARIOS = {"2025-11-25": 33, "2026-07-28": 40, EXTENSION: 13, STABLE: 32}  # how many the suite has for a server
SUITE_SECONDS = 300
COLUMNS = ("scenario", "passed", "failed", "warnings", "skipped", "")
STATUSES = ("SUCCESS", "FAILURE", "WARNING", "SKIPPED")


def run(url: str, revision: str, scenario: str | None, results: Path) -> list[Row]:
    """The rows of one revision. Raises NoNode, and Failure where the suite itself did not work."""
    if revision != EXTENSION:
        which = ["--scenario", scenario] if scenario else ["--suite", "all"]
        return run_once(url, revision, which, results)
    names = [name for name in scenarios(EXTENSION, "server") if scenario in (None, name)]
    return [row for name in names for row in run_once(url, revision, ["--scenario", name], results / name)]


def run_once(url: str, revision: str, which: list[str], results: Path) -> list[Row]:
    command = [*program(revision), "server", "--url", url, *which, *wire(revision), "-o", str(results)]
    done = completed(command, SUITE_SECONDS, env=os.environ | {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"})
    rows = rows_in(results, revision)
    if done.returncode and all(row.passed for row in rows):
        raise Failure(f"the suite ended with {done.returncode}", done.stdout + done.stderr)
    return rows


@contextlib.contextmanager
def everything(tooltrue: str, log: IO[bytes]) -> Iterator[str]:
    """The server under test; its URL. Raises Failure if it does not start, or does not stop."""
    port = free_port()
    with listening([tooltrue, "serve", str(HERE / "everything.py"), "--http", f"127.0.0.1:{port}"], port, log):
        yield f"http://127.0.0.1:{port}/mcp"


def complaints(log: IO[bytes]) -> list[str]:
    """The server's log lines except its address: the suite may pass although a tool has crashed."""
    return [line for line in written(log).splitlines() if not line.startswith("tooltrue serves ")]


@contextlib.contextmanager
def results_folder(keep: bool, name: str = "conformance") -> Iterator[Path]:
    """A folder for the results of the suite; removed at the end unless ``keep`` is set."""
    folder = HOME / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder)


def table(rows: Sequence[Row]) -> str:
    lines = [COLUMNS, *(cells(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def cells(row: Row) -> tuple[str, ...]:
    counts = (str(row.counts[status] or "-") for status in STATUSES)
    return row.scenario, *counts, "FAILED" if not row.passed else "expected" if row.expected else "passed"


def explained(row: Row) -> str:
    return "\n    ".join([f"\n--- {row.scenario} at {row.revision}", *row.troubles])


def excuses(rows: Sequence[Row]) -> list[str]:
    ran = {row.scenario for row in rows}
    return [f"excused: {check}: {reason}" for (scenario, check), reason in EXCUSED.items() if scenario in ran]


def report(found: dict[str, list[Row]], said: list[str]) -> str:
    everyone = [row for rows in found.values() for row in rows]
    return "\n".join(
        [
            *(f"{revision}\n{table(rows)}\n" for revision, rows in found.items() if rows),
            *excuses(everyone),
            *(f"expected to fail: {row.scenario}: {row.expected}" for row in everyone if row.expected),
            *(explained(row) for row in everyone if not row.passed),
            *(["\n--- the server wrote", *said] if said else []),
        ]
    )


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The official conformance suite against a server of ours.")
    parser.add_argument("--revision", action="append", choices=[*SCENARIOS], help="only this part; repeatable")
    parser.add_argument("--scenario", help="only this one")
    add_common_options(parser)
    parser.add_argument("--tooltrue", default=OURS, help="the program to test (default: beside this Python)")
    return parser.parse_args(arguments)


def add_common_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keep", action="store_true", help="keep what the suite has written, and say where")
    parser.add_argument("--no-skip", action="store_true", help="no Node is a failure (also with CI=true)")


def found_by(options: argparse.Namespace) -> tuple[dict[str, list[Row]], list[str]]:
    """The rows of each requested revision, and the server's complaints. Raises NoNode or Failure."""
    node()  # before the server starts: the first time it takes a while
    with results_folder(options.keep) as folder, tempfile.TemporaryFile() as log:
        with everything(options.tooltrue, log) as url:
            found = {
                revision: run(url, revision, options.scenario, folder / revision)
                for revision in options.revision or SCENARIOS
            }
        return expecting(found, "server", is_whole=options.scenario is None), complaints(log)


def expecting(found: Mapping[str, list[Row]], side: str, *, is_whole: bool) -> dict[str, list[Row]]:
    """The rows, with the failures that `expected-failures.yml` allows marked as expected."""
    expected = expected_failures(EXPECTED, side)
    return {part: with_expected(rows, expected.get(part, {}), is_whole=is_whole) for part, rows in found.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    return concluded(lambda: found_by(options), SCENARIOS, options, HOME / "conformance")


def concluded(
    find: Callable[[], tuple[dict[str, list[Row]], list[str]]],
    scenarios_of: Mapping[str, int],
    options: argparse.Namespace,
    folder: Path,
) -> int:
    """Print the rows that ``find`` returns, and the complaints of the server; return the exit code. ``scenarios_of`` is
    how many scenarios each part has."""
    adopt_orphans()
    before = children()
    try:
        found, said = find()
    except NoNode as reason:
        print(f"SKIPPED (no Node): {reason}")
        return int(options.no_skip or os.environ.get("CI") == "true")
    except Failure as failure:
        print(f"{failure}\n{failure.detail.rstrip()}")
        return 1
    finally:
        end_orphans(before)
    print(report(found, said))
    if options.keep:
        print(f"kept: {folder}")
    ran = {part: len(rows) for part, rows in found.items()}
    wanted = ran if options.scenario else {part: scenarios_of[part] for part in found}
    passed = {part: sum(row.passed for row in rows) for part, rows in found.items()}
    print(", ".join(f"{part}: {passed[part]} of {wanted[part]}" for part in found))
    return int(not passed == ran == wanted or not any(ran.values()) or bool(said))


if __name__ == "__main__":
    sys.exit(main())
