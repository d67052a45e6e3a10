"""The replayer itself: the messages that it accepts and rejects, and the transcripts that it rewrites."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.wire import servers
from tooltrue.testing.transcripts import difference, read, replay, rewrite, rewritten
from tooltrue.transport.memory import MemoryLink

HEAD = "One line.\nAnother.\n\nspec: basic\nrequirement: a:b\nrequirement: c\nserver: letters\n\n"
ASK = '> {"id": 1, "method": "ping"}\n'


def conversation(*lines: str, title: str = "== legacy") -> str:
    return HEAD + "\n".join((title, *lines)) + "\n"


def run(text: str) -> None:
    transcript = read(text)
    for section in transcript.sections:
        asyncio.run(replay(section, MemoryLink(servers.make(transcript.server))))


def test_a_transcript_is_read() -> None:
    transcript = read(HEAD + "== modern\n\n# nothing\n== legacy 2025-03-26 raw over http memory\n" + ASK)
    assert transcript.about == "One line. Another."
    assert (transcript.spec, transcript.requirements, transcript.server) == (("basic",), ("a:b", "c"), "letters")
    said = [(s.era, s.revision, s.raw, s.over, len(s.steps), s.title) for s in transcript.sections]
    assert said == [
        ("modern", "2026-07-28", False, ("memory", "stdio", "http"), 0, "modern:9"),
        ("legacy", "2025-03-26", True, ("memory", "http"), 1, "legacy-2025-03-26-raw:12"),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("server: a", "a transcript needs a section: == modern or == legacy"),
        ("== modern", "a transcript needs one 'server:' line"),
        (HEAD + "server: b\n== modern", "a transcript needs one 'server:' line"),
        (HEAD + "== ancient", "line 9: not a section: '== ancient'"),
        (HEAD + "== modern over pigeon", "line 9: not a section: '== modern over pigeon'"),
        (HEAD + "== modern\nhello", "line 10: it begins with none of '>', '<' and '#'"),
    ],
)
def test_a_syntax_error_in_a_transcript_is_named(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        read(text)
    assert str(caught.value) == problem


def test_bytes_of_any_kind_are_read() -> None:
    steps = '> raw: {junk\n> bytes: 00 ff\n> repeat: 2 * "[" + "\\n" + 3 * "]"\n'
    (section,) = read(HEAD + "== modern\n" + steps).sections
    assert [getattr(step, "frame", None) for step in section.steps] == [b"{junk", b"\x00\xff", b"[[\n]]]"]


def pattern(text: str) -> Any:
    (section,) = read(HEAD + "== modern\n< " + text).sections
    (step,) = section.steps
    return getattr(step, "pattern", None)


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("...", [1, {}]),
        ("{...}", {"a": 1}),
        ('{"a": ..., "b": [...], ...}', {"b": [1, 2], "a": None, "c": 0}),
        ("[1, ...]", [1]),
        ("[..., 2]", [1, 2]),
        ('{"text": "a ... b"}', {"text": "a ... b"}),
        ('["<x>", "<x>", "<y>"]', [7, 7, "7"]),
        ('["<_>", "<_>"]', [1, 2]),
        ('"error <id> at <line>."', "error 5 at 6."),
        ('["<id>", "no <id>!"]', ["7", "no 7!"]),
    ],
)
def test_a_message_that_matches_its_pattern_has_no_difference(text: str, got: Any) -> None:
    assert difference(pattern(text), got, {}) is None


@pytest.mark.parametrize(
    ("text", "got", "problem"),
    [
        ("1", True, "$: 1 expected, true came"),
        ("1", 1.0, "$: 1 expected, 1.0 came"),
        ("{...}", [], "$: {...} expected, [] came"),
        ('{"a": 1}', {"a": 1, "b": 2}, "$: 'b' is not expected"),
        ('{"a": {"b": 1}, ...}', {"a": {}}, "$.a: without 'b'"),
        ("[1]", [1, 2], "$: 1 items expected, 2 came"),
        ("[1, 2, ...]", [1], "$: 2 items expected, 1 came"),
        ('["<x>", "<x>"]', ["1", 1], '$[1]: "<x>" expected, 1 came'),
        ('"<x>"', {}, '$: "<x>" expected, {} came'),
        ('"<x>"', None, '$: "<x>" expected, null came'),
        ('["<x>", "a <x>"]', ["b", "a c"], '$[1]: "a <x>" expected, "a c" came'),
        ('"a.<x>"', "a-b", '$: "a.<x>" expected, "a-b" came'),
    ],
)
def test_a_message_that_differs_from_its_pattern_is_shown(text: str, got: Any, problem: str) -> None:
    assert difference(pattern(text), got, {}) == problem


def test_a_captured_opaque_value_is_sent_back() -> None:
    run(
        conversation(
            '> {"id": 1, "method": "tools/list"}',
            '< {"id": 1, "result": {"tools": [{"name": "a", ...}, {"name": "b", ...}], "nextCursor": "<next>"}}',
            '> {"id": 2, "method": "tools/list", "params": {"cursor": "<next>"}}',
            '< {"id": 2, "result": {"tools": [{"name": "c", ...}, ...], ...}}',
        )
    )


def test_answers_of_different_requests_may_come_in_any_order() -> None:
    answers = ['< {"id": 2, "result": {}}', '< {"id": 1, "result": {}}']
    run(conversation(ASK.strip(), '> {"id": 2, "method": "ping"}', *answers))


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([ASK, '< {"id": 1, "result": {"a": 1}}'], "line 12: $.result: without 'a'"),
        ([ASK, '< {"id": 2, "result": {}}'], 'line 12: {"id": 1, "result": {}} came and was not expected'),
        ([ASK], "the end of the transcript: nothing expected, "),
        (['> {"id": 1, "method": "ping", "params": []}', '< {"id": 1, "result": {}}'], "line 11: $: without 'result'"),
    ],
)
def test_a_conversation_that_deviates_fails_with_the_place(lines: list[str], problem: str) -> None:
    with pytest.raises(AssertionError) as caught:
        run(conversation(*lines))
    assert str(caught.value).startswith(problem)


def test_a_raw_section_is_sent_and_compared_as_it_stands() -> None:
    ping = '"jsonrpc": "2.0", "id": 1'
    run(conversation(f'> {{{ping}, "method": "ping"}}', f'< {{{ping}, "result": {{}}}}', title="== modern raw"))
    with pytest.raises(AssertionError):
        run(conversation(f'> {{{ping}, "method": "ping"}}', '< {"id": 1, "result": {}}', title="== modern raw"))


def test_rewriting_a_transcript_records_received_messages_and_keeps_matching_patterns() -> None:
    text = conversation(
        '> {"id": 1, "method": "tools/list"}',
        '< {"id": 1, "result": {"tools": [{"name": "z", ...}, {...}], "nextCursor": "<next>"}}',
        '> {"id": 2, "method": "tools/list", "params": {"cursor": "<next>x"}}',
        "< ...",
        '> {"id": 3, "method": "ping"}',
        '< {"id": 3, ...}',
    )
    (section,) = read(text).sections
    changed = asyncio.run(rewrite(section, MemoryLink(servers.make("letters"))))
    got = rewritten(text, changed)
    assert got.splitlines()[-6:] == [
        '> {"id": 1, "method": "tools/list"}',
        '< {"id": 1, "result": {"tools": [{"name": "a", ...}, {...}], "nextCursor": "<next>"}}',
        '> {"id": 2, "method": "tools/list", "params": {"cursor": "<next>x"}}',
        '< {"id": 2, "error": {"code": -32602, "message": "The cursor is not valid any more; list again from '
        'the start. [TT1015]"}}',
        '> {"id": 3, "method": "ping"}',
        '< {"id": 3, ...}',
    ]
    run(got)
