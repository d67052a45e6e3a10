"""Records that are encoded together have the text that each has by itself."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.fake_secrets import FAKES
from tooltrue.jsonrpc.messages import canonical
from tooltrue.policy.audit.argument_masking import Masks
from tooltrue.policy.audit.record import Record, RecordSource
from tooltrue.protocol.types import replaced
from tooltrue.server.service import SILENT
from tooltrue.state.log import timestamp
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.vocabulary import LOCAL, CallRecord, Principal, RequestContext, Tool

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
    source = RecordSource(masks, facts["instance"], "call", facts["subject"], LOCAL)
    return Record(source, text, len(text), facts["at"], facts.get("traceparent"), trail, 0, "ok", 0.001234, 50)


def texts(records: list[Record]) -> list[str]:
    """The texts of records that are encoded together, which must be those that they have alone."""
    lines = [line.decode() for line in Record.encode_all(records, Record.times(records))]
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


# --- the text that ordinary records share ----------------------------------------------------------------------------

OPERATOR = Principal("op", frozenset({"write", "read"}))
NAMED = Principal('名, "ms":0.5,"outcome":')
SOURCES = [
    RecordSource(masks, instance, kind, subject, principal)
    for masks in (MASKS, MASKS, Masks(str.upper))
    for instance in ("shop (1)", 'a,"ms":0.5,"outcome":')
    for kind, subject in (("call", "tool"), ("read", 'x,"decision":"y"'))
    for principal in (LOCAL, OPERATOR, NAMED)
]
UNUSUAL = st.builds(
    CallRecord,
    tool=st.sampled_from([ECHO, SIGN_IN, None]),
    ran=st.sampled_from([True, True, True, False]),
    decision=st.sampled_from(["", "allow", "ask"]),
    rule=st.sampled_from(["", "", "a rule", 'of,"ms":0.5,"outcome":']),
    code=st.sampled_from(["", "", "", "TT2001"]),
    write_ahead_id=st.sampled_from(["", "", "", "ab12"]),
    notes=st.sampled_from([(), (), (), ("a note",)]),
    called=st.sampled_from(["", "", "", "old name"]),
    wrong=st.sampled_from([(), (), (), ("$.text: type",)]),
    paused=st.sampled_from([0, 0, 0, 60]),
)
ORDINARY = st.builds(
    CallRecord, tool=st.just(ECHO), ran=st.just(True), decision=st.just("allow"), rule=st.sampled_from(["", "a rule"])
)
ARGUMENTS = [{}, PLAIN, {"text": "名"}, {"password": "hunter2"}]
TIMES = st.one_of(
    st.floats(2.0**30, 2.0**33),
    st.floats(0, 1e-5),
    st.integers(2**30 * 128, 2**33 * 128).map(lambda number: number / 128),  # a half of them half-way times
)
RECORDS = st.builds(
    Record,
    source=st.sampled_from(SOURCES),
    arguments=st.sampled_from([canonical(one) for one in ARGUMENTS]),
    size=st.integers(0, 3),
    at=TIMES,
    traceparent=st.sampled_from([None, None, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]),
    trail=st.one_of(ORDINARY, UNUSUAL),
    rounds=st.sampled_from([0, 0, 0, 2]),
    outcome=st.sampled_from(["ok", "ok", "ok", "error", ""]),
    seconds=st.floats(1e-6, 1e6),
    bytes_out=st.integers(0, 3),
)


@given(st.lists(RECORDS, min_size=1, max_size=40))
@settings(max_examples=100)
def test_a_record_has_the_same_text_whichever_records_stand_before_it(records: list[Record]):
    texts(records)


def test_a_shared_text_is_composed_once_for_the_records_of_an_operation():
    source = RecordSource(MASKS, "shop (1)", "call", "tool", LOCAL)
    first = [replaced(record({"text": text}), source=source) for text in ("one", "two")]
    texts(first)
    [shared] = source.shared_texts.values()
    texts([replaced(first[0], at=1_790_000_001.5)])
    assert [*source.shared_texts.values()] == [shared]


def test_rules_without_number_do_not_fill_the_memory():
    source = RecordSource(MASKS, "shop (1)", "call", "tool", LOCAL)
    for number in range(250):
        one = replaced(record(PLAIN), source=source)
        one.trail.rule = f"rule {number}"
        texts([one])
    assert len(source.shared_texts) <= 100


@given(TIMES)
@example(5e-7)
@example(2.0**30 + 1 / 128)
@settings(max_examples=300)
def test_the_time_of_a_record_is_rounded_like_every_other(at: float):
    [line] = texts([record(PLAIN, at=at)])
    assert json.loads(line)["at"] == timestamp(at)
