"""Runs the official JSON-Schema-Test-Suite against ``compile_schema``. Not collected by pytest.

    python tests/schema_suite/run.py [--suite DIR] [--bounds foreign]

``DIR`` is a checkout of https://github.com/json-schema-org/JSON-Schema-Test-Suite. Without it, the copy is used that
the source distribution of the Python package ``jsonschema`` carries. A group whose schema needs another document, or a
dialect of its own, must be refused for exactly that: such tests have a column of their own and never count as passed.
Any other refusal, and any wrong verdict, is a failure. So is a verdict that ``problems()`` does not share.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tooltrue.protocol.schema import FOREIGN, OWN, Schema, SchemaBounds, SchemaError, compile_schema

DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"
BOUNDS = {"foreign": FOREIGN, "own": OWN}
NO_SUCH_SUITE = 2
CARRIER = "jsonschema==4.26.0"


@dataclass(frozen=True)
class Part:
    """Some files of the suite, and whether ``format`` is an assertion there."""

    name: str
    dialect: str
    pattern: str
    formats: bool = False


# The core files treat ``format`` as an annotation; those in optional/format assert it.
PARTS = (
    Part("2020-12 core", DRAFT_2020_12, "draft2020-12/*.json"),
    Part("2020-12 formats", DRAFT_2020_12, "draft2020-12/optional/format/*.json", formats=True),
    Part("2020-12 optional", DRAFT_2020_12, "draft2020-12/optional/*.json"),
    Part("draft-07 core", DRAFT_07, "draft7/*.json"),
    Part("draft-07 formats", DRAFT_07, "draft7/optional/format/*.json", formats=True),
    Part("draft-07 optional", DRAFT_07, "draft7/optional/*.json"),
)

# Why a schema of the suite may be refused: error code → column.
REFUSALS = {"TT3105": "remote", "TT3103": "dialect"}
# References of which such a schema must contain one: the suite's own remote documents, or a meta-schema.
ELSEWHERE = ("http://localhost:1234/", f'"$ref": "{DRAFT_2020_12}', f'"$ref": "{DRAFT_07}')


@dataclass
class Count:
    tests: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def row(self, name: str) -> str:
        numbers = [self.tests[column] for column in COLUMNS]
        return f"{name:<18}" + "".join(f"{number:>9}" for number in (*numbers, len(self.failures)))


COLUMNS = ("passed", *REFUSALS.values())
HEADER = f"{'tests':<18}" + "".join(f"{title:>9}" for title in (*COLUMNS, "failed"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, help="directory of the JSON-Schema-Test-Suite")
    parser.add_argument("--bounds", choices=BOUNDS, default="own")
    arguments = parser.parse_args()
    suite = arguments.suite or packaged_suite()
    if not (suite / "tests" / "draft2020-12").is_dir():
        print(f"{suite} holds no tests/draft2020-12", file=sys.stderr)
        return NO_SUCH_SUITE
    print(HEADER)
    failures: list[str] = []
    for part in PARTS:
        count = run(part, suite / "tests", BOUNDS[arguments.bounds])
        print(count.row(part.name))
        failures += count.failures
    print(*failures, sep="\n", end="")
    return 1 if failures else 0


def packaged_suite() -> Path:
    """The suite out of a pinned source distribution, fetched once with the ordinary package client."""
    folder = Path(__file__).parents[2] / ".schema-suite"
    suite = folder / CARRIER.replace("==", "-") / "json"
    if not suite.is_dir():
        shutil.rmtree(folder, ignore_errors=True)
        with tempfile.TemporaryDirectory() as environment:
            venv.create(environment, with_pip=True)
            pip = [f"{environment}/bin/python", "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "--no-deps", "--no-binary", "jsonschema", "--dest", folder, CARRIER], check=True)
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
    return suite


def run(part: Part, tests: Path, bounds: SchemaBounds) -> Count:
    count = Count()
    for name, group in groups(part, tests):
        where = f"{name}: {group['description']}"
        try:
            schema = compile_schema(rooted(group["schema"], part), bounds=bounds, assert_formats=part.formats)
        except SchemaError as error:
            note_refusal(count, error, group, where)
        else:
            judge(count, schema, group["tests"], where)
    return count


def groups(part: Part, tests: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    found = sorted(tests.glob(part.pattern))
    if not found:
        raise SystemExit(f"the suite holds no {part.pattern}")
    for path in found:
        for group in json.loads(path.read_text(encoding="utf-8")):
            yield path.relative_to(tests).as_posix(), group


def rooted(schema: Any, part: Part) -> dict[str, Any]:
    """The suite's schema as a tool's: an object, which says when it is not of the default dialect."""
    schema = {"allOf": [schema]} if isinstance(schema, bool) else schema
    return schema if part.dialect == DRAFT_2020_12 else {"$schema": part.dialect} | schema


def note_refusal(count: Count, error: SchemaError, group: dict[str, Any], where: str) -> None:
    column = REFUSALS.get(error.code)
    text = json.dumps(group["schema"])
    if column and any(sign in text for sign in ELSEWHERE):
        count.tests[column] += len(group["tests"])
    else:
        count.failures.append(f"refused: {where}: {error.say()}")


def judge(count: Count, schema: Schema, tests: list[dict[str, Any]], where: str) -> None:
    for test in tests:
        verdict = schema.accepts(test["data"])
        explained = bool(schema.problems(test["data"]))
        if verdict is test["valid"] and explained is not verdict:
            count.tests["passed"] += 1
        else:
            count.failures.append(f"wrong verdict: {where}: {test['description']}")


if __name__ == "__main__":
    sys.exit(main())
