"""Records the answers of the original servers: ``python tests/ported/record.py [NAME…]``. Needs the package index.

Each is installed at its pinned version, into an environment that is gone afterwards, and is asked over stdio.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from ported.originals import ORIGINALS, Original
from ported.replaying import MANY, Person, lines, perform, plain, shape, substitute, without_flag
from ported.worlds import WORLDS
from tooltrue import Client

RECORDED = Path(__file__).parents[2] / "examples/ported/recorded"
PYTHON = os.environ.get("UV_PYTHON", "3.13")


def install(original: Original, environment: Path) -> Path:
    """Install a package at its version into a new environment. Returns the folder of its packages."""
    wanted = [f"{original.package}=={original.version}", *original.beside]
    subprocess.run(["uv", "venv", "-q", "--clear", "-p", PYTHON, environment], check=True)
    subprocess.run(["uv", "pip", "install", "-q", "-p", environment / "bin/python", *wanted], check=True)
    return next(environment.glob("lib/python*/site-packages"))


async def record(name: str, original: Original, environment: Path, files: list[Path], folder: Path) -> None:
    """Ask an original for the answers to its steps, and write them down."""
    steps = []
    with WORLDS[name](folder) as world:
        real = {new: old for old, new in world.names.items()}
        command = [str(environment / "bin" / original.command), *world.arguments]
        person = Person({"confirm": True})
        async with Client(command, env=world.env, cwd=str(folder), elicit=person, questions=MANY) as client:
            for step in original.steps:
                answer = await perform(client, person, substitute(step, real))
                if step.get("in_words") or without_flag(answer):
                    answer |= {"failed": True, "without_flag": True}
                if not answer["failed"]:
                    value = answer["value"]  # words are theirs; what varies is a matter of this machine
                    answer["value"] = (
                        shape(value) if step["compared"] == "words" else plain(value, step.get("varying", ()))
                    )
                steps.append({**step, "answer": substitute(answer, world.names)})
    recording = {
        "package": original.package,
        "version": original.version,
        "licence": original.licence,
        "kind": original.kind,
        "recorded": datetime.now(UTC).date().isoformat(),
        "lines": lines(*files),
        "files": list(original.files),
        "steps": steps,
    }
    RECORDED.mkdir(exist_ok=True)
    text = json.dumps(recording, ensure_ascii=False, indent=1)
    (RECORDED / f"{name}.json").write_text(text + "\n", "utf-8")


def main() -> None:
    for name in sys.argv[1:] or ORIGINALS:
        original = ORIGINALS[name]
        with tempfile.TemporaryDirectory() as environment, tempfile.TemporaryDirectory() as folder:
            packages = install(original, Path(environment))
            files = sorted({file for pattern in original.files for file in packages.glob(pattern)})
            asyncio.run(record(name, original, Path(environment), files, Path(folder)))
        print(f"recorded {name}")


if __name__ == "__main__":
    main()
