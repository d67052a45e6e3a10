"""The servers of examples/ported answer as the originals did: each recorded call is made again, and compared."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ported.replaying import MANY, Person, lines, perform, replaced, told
from ported.worlds import WORLDS, World
from tooltrue import Client

PORTED = Path(__file__).parents[2] / "examples/ported"
NAMES = sorted(path.stem for path in (PORTED / "recorded").glob("*.json"))


def recording(name: str) -> dict[str, Any]:
    return json.loads((PORTED / "recorded" / f"{name}.json").read_text("utf-8"))


def port(name: str) -> ModuleType:
    """The module of a port, loaded anew: no state of another test is in it."""
    spec = importlib.util.spec_from_file_location(f"ported_{name}", PORTED / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def virtual(clock: type) -> type:
    """A clock that a sleep moves forward at once."""

    class VirtualClock(clock):
        def __init__(self) -> None:
            self.time = datetime.now()

        def now(self) -> datetime:
            return self.time

        async def sleep(self, seconds: float) -> None:
            self.time += timedelta(seconds=seconds)

    return VirtualClock


@pytest.mark.parametrize("name", NAMES)
def test_answers_as_the_original(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = recording(name)["steps"]
    monkeypatch.chdir(tmp_path)
    with WORLDS[name](tmp_path) as world:
        answers = asyncio.run(replayed(name, steps, world, monkeypatch))
    for step, answer in zip(steps, answers, strict=True):
        theirs, ours = told(step, step["answer"]), told(step, answer)
        if "differs" in step:
            assert ours != theirs, f"no difference any more: {step}"
        else:
            assert ours == theirs, f"{step}\n{answer}"


async def replayed(name: str, steps: list[Any], world: World, patch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The answers of a port to the steps of a recording, in a world of its own."""
    for key, value in world.env.items():
        patch.setenv(key, value)
    module, person = port(name), Person()
    if name == "timer":
        patch.setattr(module, "Clock", virtual(module.Clock))
    real = {new: old for old, new in world.names.items()}
    async with Client(module.server, elicit=person, questions=MANY) as client:
        return [replaced(await perform(client, person, replaced(step, real)), world.names) for step in steps]


@pytest.mark.parametrize("name", NAMES)
def test_is_shorter_than_the_original(name: str) -> None:
    assert lines(PORTED / f"{name}.py") < recording(name)["lines"]
