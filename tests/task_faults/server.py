"""The server whose workers are killed. Its tools write what they do to a pipe, ``ledger.py`` reads it.

Settings are variables of the environment: ``STORE`` is the database of the tasks, ``LEDGER`` the descriptor of the
pipe, and ``VERSION`` is 2 for the later version of the server, in which the tool ``work_of_version_1`` is gone.
"""

from __future__ import annotations

import asyncio
import functools
import os
import random
import secrets
import time

from typing_extensions import TypedDict

from tooltrue import Abuse, Context, Form, Rate, Server, Tasks

UNLIMITED = Rate(per_second=1_000_000, burst=1_000_000)  # the load must not be refused
STORE = os.environ["STORE"]
LEDGER = int(os.environ["LEDGER"])
LONGEST_PAUSE = 0.03
"""Seconds, before the effect of a step, and after it."""

server = Server(
    "faulty",
    tasks=Tasks(store=STORE, caller=1_000_000, poll_seconds=0.1),
    # SQLite has its keys in a file beside it.
    keys=() if STORE.startswith("sqlite") else (b"a key that the workers share",),
    audit=False,
    rate=UNLIMITED,
    abuse=Abuse(refusals=UNLIMITED, unknown=UNLIMITED, repeated=UNLIMITED),
)


class Choice(TypedDict):
    """The answer to the question of a task."""

    word: str


QUESTION = Form("Go on?", Choice)


def note(task: str, verb: str, step: str = "-", value: str = "-") -> None:
    """Add a line to the ledger. Short writes to a pipe are atomic, and in order across processes."""
    os.write(LEDGER, f"{os.getpid()} {task} {verb} {step} {value}\n".encode())


def pause() -> float:
    return random.random() * LONGEST_PAUSE


async def effect(task: str, step: str) -> str:
    """A step: its effect is a line in the ledger, and each run of it has a value of its own."""
    await asyncio.sleep(pause())
    note(task, "ran", step, value := secrets.token_hex(6))
    await asyncio.sleep(pause())
    return value


def plain_effect(task: str, step: str) -> str:
    """The same, on a thread."""
    time.sleep(pause())
    note(task, "ran", step, value := secrets.token_hex(6))
    time.sleep(pause())
    return value


@server.tool(effect="write", task=True)
async def work(task: str, steps: int, asks: int, retry: bool, context: Context) -> list[str]:
    """Run steps, with a question before the step ``asks``, and return their values."""
    note(task, "begins")
    values = list[str]()
    for number in range(steps):
        if number == asks and (answer := context.ask(QUESTION)) and answer.value:
            values.append(answer.value["word"])
        step = f"s{number}"
        values.append(await context.once(step, functools.partial(effect, task, step), retry=retry))
        note(task, "confirmed", step, values[-1])
    note(task, "returns")
    return values


@server.tool(effect="write", task=True)
def plain_work(task: str, steps: int, asks: int, retry: bool, context: Context) -> list[str]:
    """The same as a plain function."""
    note(task, "begins")
    values = list[str]()
    for number in range(steps):
        if number == asks and (answer := context.ask(QUESTION)) and answer.value:
            values.append(answer.value["word"])
        step = f"s{number}"
        values.append(context.once(step, functools.partial(plain_effect, task, step), retry=retry))
        note(task, "confirmed", step, values[-1])
    note(task, "returns")
    return values


if os.environ["VERSION"] == "1":
    server.tool(effect="write", task=True, name="work_of_version_1")(work)


if __name__ == "__main__":
    server.run()
