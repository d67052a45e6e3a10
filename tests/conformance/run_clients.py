"""Proof by the official conformance suite: every client scenario, in both eras, against `client.py`.

    python tests/conformance/run_clients.py [--revision REVISION] [--scenario NAME] [--keep] [--no-skip]

The suite serves each scenario, starts the client and watches it. Scenarios run one at a time, since only then the suite
checks the exit of the client; its results are judged as for servers (`verdicts.py`). `extension` stands for the
scenarios of extensions, `stable` for the whole suite of the stable release. The exit code is 1 unless every scenario
has passed, or is expected to fail (`expected-failures.yml`) and has failed.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "interop"))

from environments import HOME
from processes import Failure, completed
from suites import EXTENSION, STABLE, program, scenarios, wire
from verdicts import Row, judged

from run import add_common_options, concluded, expecting, results_folder

HERE = Path(__file__).resolve().parent

SCENARIOS = {"2025-03-26": 2, "2025-11-25": 19, "2026-07-28": 33, EXTENSION: 10, STABLE: 26}  # how many the suite has
SUITE_SECONDS = 60
LOOPBACK = {"NO_PROXY": "localhost,127.0.0.1", "no_proxy": "localhost,127.0.0.1"}


def run(client: str, revision: str, scenario: str, results: Path) -> Row:
    """The result of one scenario. Raises NoNode, and Failure if the suite itself failed."""
    which = ["--scenario", scenario, *wire(revision)]
    command = [*program(revision), "client", "--command", client, *which, "-o", str(results)]
    done = completed(command, SUITE_SECONDS, env=os.environ | LOOPBACK)
    match list(results.rglob("checks.json")):
        case [checks]:
            row = judged(revision, scenario, json.loads(checks.read_bytes()))
        case _:
            raise Failure(f"{scenario}: the suite has left no checks", done.stdout + done.stderr)
    said = (checks.parent / "stderr.txt").read_text().strip()
    if done.returncode and row.passed:
        row = replace(row, troubles=(f"the client or the suite ended badly ({done.returncode})",))
    return row if row.passed or not said else replace(row, troubles=(*row.troubles, f"the client wrote: {said}"))


def found_by(options: argparse.Namespace) -> dict[str, list[Row]]:
    """The rows of each revision asked for. Raises NoNode or Failure."""
    found: dict[str, list[Row]] = {}
    with results_folder(options.keep, "conformance-clients") as folder:
        for revision in options.revision or SCENARIOS:
            names = [name for name in scenarios(revision, "client") if options.scenario in (None, name)]
            found[revision] = [
                run(options.client, revision, name, folder / revision / name.replace("/", "-")) for name in names
            ]
    return expecting(found, "client", is_whole=options.scenario is None)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The official conformance suite against a client of ours.")
    parser.add_argument("--revision", action="append", choices=[*SCENARIOS], help="only this part; repeatable")
    parser.add_argument("--scenario", help="only this one")
    add_common_options(parser)
    ours = f"{sys.executable} {HERE / 'client.py'}"
    parser.add_argument("--client", default=ours, help="the command to test (default: client.py with this Python)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    return concluded(lambda: (found_by(options), []), SCENARIOS, options, HOME / "conformance-clients")


if __name__ == "__main__":
    sys.exit(main())
