"""Records that are encoded together have the text that each has by itself."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from support.fake_secrets import FAKES
from tooltrue.jsonrpc.messages import canonical
from tooltrue.policy.audit.argument_masking import Masks
from tooltrue.policy.audit.record import Record
from tooltrue.server.service import SILENT
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.vocabulary import LOCAL, CallRecord, RequestContext, Tool

MASKS = Masks()
PLAIN = {"text": "hello there", "to": "ann"}


def tool_of(function: Callable[..., Any]) -> Tool:
    tools = LocalToolset()
    tools.add(function, name="tool", effect="read")
    return asyncio.run(tools.find_tool("tool", RequestContext(LOCAL, SILENT)))


def echo(text: str, to: str = "") -> str:
    return text


def sign_in(user: str, password: str) -> str:
    return user


ECHO, SIGN_IN = tool_of(echo), tool_of(sign_in)


def record(arguments: dict[str, Any], tool: Tool | None = ECHO, masks: Masks = MASKS, **facts: Any) -> Record:
    trail = CallRecord()
    trail.tool, trail.ran, trail.decision = tool, tool is not None, "allow"
    for name in ("called", "notes", "wrong", "ran"):
        if name in facts:
            setattr(trail, name, facts.pop(name))
    text = canonical(arguments)
    facts = {"instance": "shop (1)", "at": 1_790_000_000.25, "subject": "tool", **facts}
    return Record(
        masks,
        facts["instance"],
        "call",
        facts["subject"],
        text,
        len(text),
        facts["at"],
        LOCAL,
        facts.get("traceparent"),
        trail,
        0,
        "ok",
        0.001234,
        50,
    )


def texts(records: list[Record]) -> list[str]:
    """The texts of records that are encoded together, which must be those that they have alone."""
    lines = [line.decode() for line in Record.encode_all(records)]
    assert lines == [one.text() for one in records]
    assert all(line.isascii() and "\n" not in line for line in lines)
    return lines


@pytest.mark.parametrize("around", [0, 1, 3, 40])
def test_a_secret_among_plain_arguments_is_masked(around: int):
    for kind, secret in FAKES:
        others = [record(PLAIN)] * around
        lines = texts([*others, record({"text": f"it is {secret}"}), *others])
        assert lines[:around] == [record(PLAIN).text()] * around
        alone = [line for line in secret.splitlines() if len(line) > 7 and "-----" not in line]
        assert not [line for line in alone if json.dumps(line)[1:-1] in lines[around]], kind


def test_parts_of_a_secret_in_neighbouring_records_are_kept_as_they_came():
    lines = texts([record({"text": half}) for half in ("AKIA7QAB", "CDEFGHIJKLMN", "ghp", "_")])
    assert [json.loads(line)["arguments"]["text"] for line in lines] == ["AKIA7QAB", "CDEFGHIJKLMN", "ghp", "_"]


def test_records_of_every_kind_can_stand_in_one_batch():
    def fail(text: str) -> str:
        raise RuntimeError

    records = [
        record(PLAIN),
        record({}),
        record({"text": "naïve 名 \U0001f600 \x7f\u2028"}),
        record({"user": "a", "password": "hunter2"}, SIGN_IN),
        record({"text": "a"}, None, subject="no tool\nof ours?token=abc"),
        record({}, None),
        record({"text": "a"}, masks=Masks(fail)),
        record(PLAIN, called="old name", subject="old name"),
        record({"user": "a", "password": "b"}, SIGN_IN, called="old name", subject="old name"),
        record(PLAIN, ran=False),
        record(PLAIN, notes=["a note", "名"], wrong=["$.text: type"]),
        record(PLAIN, traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        record(PLAIN, traceparent="nonsense", at=1_790_000_000.0),
        record(PLAIN, at=0.9999999, instance="名"),
    ]
    decoded = [json.loads(line) for line in texts(records)]
    assert decoded[3]["arguments"] == {"user": "a", "password": "[masked]"}
    assert decoded[6]["arguments"] == {"[mask failed]": "RuntimeError"}
    assert decoded[6]["subject"] == "[mask failed]"
    assert [decoded[7]["subject"], decoded[7]["called"]] == ["tool", "old name"]
    assert all(re.fullmatch(r"[0-9-]{10}T[0-9:]{8}(\.[0-9]{6})?Z", line["at"]) for line in decoded)
    assert [line["at"][19:] for line in decoded[-3:]] == [".250000Z", "Z", "Z"]
    assert all([*line] == sorted(line) for line in decoded)


def test_the_times_of_a_batch_are_those_of_its_records():
    assert [*Record.times([record(PLAIN, at=2.0), record(PLAIN, at=1.0)])] == [2.0, 1.0]
