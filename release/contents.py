"""The parts that a release brings to a machine: the licences of all dependencies, and a bill of materials with digests.

    python -m release.contents licences           a table; a licence that licences.toml does not allow fails
    python -m release.contents sbom FILE          CycloneDX 1.5 as JSON, from the lock file

Both are about `tooltrue[all]` on every supported system and Python. The bill is the same in every run: its serial
number comes from its content, its time is that of the last commit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from license_expression import ExpressionError, get_spdx_licensing

from release.archives import DISTRIBUTIONS, ROOT, commit_time
from release.wheels_offered import PYTHONS, SYSTEMS, needed
from tooltrue.version import __version__

__all__ = ["bill", "is_allowed", "licences", "packages", "settings"]

SPDX = get_spdx_licensing()


def settings() -> Mapping[str, Mapping[str, str]]:
    """The tables of `licences.toml`."""
    return tomllib.loads(Path(__file__).with_name("licences.toml").read_text("utf-8"))


def packages() -> dict[str, str]:
    """Name → version of each dependency of `tooltrue[all]` on any system."""
    every = (one for system in SYSTEMS for python in PYTHONS for one in needed(system, python, ("all",)))
    return {one["name"]: one["version"] for one in every if "registry" in one["source"]}


def licences() -> dict[str, str]:
    """Name → the licence of each dependency as an expression of SPDX; one that has none begins with `unknown`."""
    known = settings()
    return {name: known["stated"].get(name) or _found(name, known["words"]) for name in sorted(packages())}


def _found(name: str, words: Mapping[str, str]) -> str:
    try:
        facts = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return "unknown: it is not installed here"
    classifiers = facts.get_all("Classifier") or ()
    named = [one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License :: ")]
    for said in (*facts.get_all("License-Expression", ()), *facts.get_all("License", ()), *named):
        if said and _is_spdx(words.get(said, said)):
            return words.get(said, said)
    return f"unknown: {'; '.join(named) or 'nothing is said'}"


def _is_spdx(expression: str) -> bool:
    try:
        return not SPDX.validate(expression).errors
    except ExpressionError:
        return False


def is_allowed(expression: str, allowed: Mapping[str, str]) -> bool:
    """Whether an expression can be fulfilled with allowed licences: one side of an OR, both of an AND."""
    if not _is_spdx(expression):
        return False
    parsed: Any = SPDX.parse(expression)  # its package has types that do not fit its values
    granted = {symbol: SPDX.TRUE if str(symbol) in allowed else SPDX.FALSE for symbol in parsed.symbols}
    return bool(parsed.subs(granted).simplify() == SPDX.TRUE)


# --- the bill of materials --------------------------------------------------------------------------------------------


def bill(exported: str) -> dict[str, Any]:
    """The bill that uv exports from the lock file, with our distributions, licences, time and serial number."""
    read = json.loads(exported)
    known = licences()
    read["components"] = [_component(one, known) for one in read["components"] if one["name"] not in DISTRIBUTIONS]
    read["components"] += [_own(name) for name in DISTRIBUTIONS[1:]]
    main = _own("tooltrue")
    replaced = read["metadata"]["component"]["bom-ref"]
    read["metadata"] = {
        "timestamp": datetime.fromtimestamp(int(commit_time()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "tools": read["metadata"]["tools"],
        "component": main,
    }
    ours = {replaced: "tooltrue", **dict(_refs(exported))}
    read["dependencies"] = [_dependency(one, ours) for one in read["dependencies"]]
    del read["serialNumber"]
    read["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(read, sort_keys=True))}"
    return read


def _refs(exported: str) -> Iterator[tuple[str, str]]:
    for one in json.loads(exported)["components"]:
        if one["name"] in DISTRIBUTIONS:
            yield one["bom-ref"], one["name"]


def _dependency(one: dict[str, Any], ours: Mapping[str, str]) -> dict[str, Any]:
    named = {key: ours.get(value, value) if key == "ref" else value for key, value in one.items()}
    if "dependsOn" in one:
        named["dependsOn"] = [ours.get(ref, ref) for ref in one["dependsOn"]]
    return named


def _component(one: dict[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    return {**one, "licenses": [{"expression": known[one["name"]]}]} if one["name"] in known else one


OWN_LICENCES = {**dict.fromkeys(DISTRIBUTIONS, "Apache-2.0"), "tooltrue-console": "Apache-2.0 AND 0BSD"}
"""The second is that of htmx, which the console brings along."""


def _own(name: str) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": name,
        "name": name,
        "version": __version__,
        "purl": f"pkg:pypi/{name}@{__version__}",
        "licenses": [{"expression": OWN_LICENCES[name]}],
    }


def exported() -> str:
    """The export of uv: all packages of the lock file that `tooltrue[all]` may need anywhere."""
    command = [os.environ.get("UV", "uv"), "export", "--quiet", "--locked", "--format", "cyclonedx1.5"]
    asked = ["--no-default-groups", "--package", "tooltrue", "--extra", "all"]
    done = subprocess.run([*command, *asked], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def main() -> int:
    match sys.argv[1:]:
        case ["sbom", file]:
            made = bill(exported())
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(json.dumps(made, indent=2) + "\n", "utf-8")
            print(f"{file}: {len(made['components'])} components")
            return 0
        case ["licences"]:
            allowed, found = settings()["allowed"], licences()
            refused = [name for name, licence in found.items() if not is_allowed(licence, allowed)]
            for name, licence in found.items():
                print(f"{name:24} {packages()[name]:12} {licence}{'  NOT ALLOWED' if name in refused else ''}")
            return int(bool(refused))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
