"""Lines out of chunks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tooltrue.transport.lines import InputPace, LineSplitter

TOO_LONG = None


def split(*chunks: bytes, limit: int = 10, ends: bool = True) -> list[bytes | None]:
    """The lines, with ``None`` for one that was too long."""
    seen: list[bytes | None] = []
    splitter = LineSplitter(seen.append, lambda: seen.append(TOO_LONG), limit)
    for chunk in chunks:
        splitter.feed(chunk)
    if ends:
        splitter.end()
    return seen


@pytest.mark.twin("B13")
@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b", b"\n", b"c\nd", b"\n"], [b"ab", b"c", b"d"]),
        ([b"a\r\nb\r\n"], [b"a", b"b"]),
        ([b"a\r", b"\n"], [b"a"]),
        ([b"\n\n \n\t\r\n"], []),
        ([b"last"], [b"last"]),
        ([b""], []),
        ([b"a\x00b\n"], [b"a\x00b"]),
        (["é\u2028x\n".encode()], ["é\u2028x".encode()]),
    ],
)
def test_a_line_ends_with_a_newline_wherever_chunks_end(chunks: list[bytes], lines: list[bytes]):
    assert split(*chunks) == lines


def test_a_line_without_its_newline_waits():
    assert split(b"a\nb", ends=False) == [b"a"]


def test_b13_a_line_beyond_the_limit_is_reported_once_and_ends_the_input():
    assert split(b"x" * 11 + b"\nok\n") == [TOO_LONG]
    assert split(b"a\n", *[b"x"] * 50, b"\nok\n") == [b"a", TOO_LONG]
    assert split(b"x" * 10 + b"\n") == [b"x" * 10]
    assert split(b"x" * 50) == [TOO_LONG]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 20, 21, 40, 100, 1_000])
@pytest.mark.parametrize("before", [b"", b"ok\n"])
def test_b13_a_line_that_never_ends_is_reported_before_its_end(size: int, before: bytes):
    seen: list[bytes | None] = []
    splitter = LineSplitter(seen.append, lambda: seen.append(TOO_LONG), 10)
    splitter.feed(before)
    fed = 0
    while TOO_LONG not in seen:
        assert fed <= 10
        splitter.feed(b"x" * size)
        fed += size
    splitter.feed(b"\nlate\n")
    assert seen == [*([b"ok"] if before else []), TOO_LONG]


def test_b13_the_rest_of_an_overlong_line_is_not_buffered():
    splitter = LineSplitter(lambda line: None, lambda: None, 10)
    for _ in range(1_000):
        splitter.feed(b"x" * 100)
    assert sum(map(len, splitter._rest)) <= 10  # pyright: ignore[reportPrivateUsage]


@settings(deadline=None)
@given(st.lists(st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"")), max_size=6), st.data())
def test_any_cut_into_chunks_gives_the_same_lines(lines: list[bytes], data: st.DataObject):
    whole = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    chunks = [whole[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert split(*chunks) == split(whole)


# --- the pace --------------------------------------------------------------------------------------------------------


def test_the_lines_of_a_second_are_taken_at_once_and_more_make_a_pause() -> None:
    pace = InputPace(100.0)
    assert pace.take(100, 0, 5.0) == 0.0
    assert pace.take(50, 0, 5.0) == 0.5
    assert pace.take(0, 0, 5.5) == 0.0
    assert pace.take(100, 0, 5.5) == 1.0
    assert pace.take(100, 0, 60.0) == 0.0


def test_a_long_line_counts_as_several() -> None:
    assert InputPace(1.0).take(1, 3 * 32_768, 0.0) == 3.0


def test_answers_to_requests_make_no_pause() -> None:
    pace = InputPace(10.0)
    for turn in range(1_000):
        pace.expect()
        assert pace.take(1, 0, turn / 1_000) == 0.0
    for _ in range(10):
        pace.expect()
    assert pace.take(20, 0, 1.0) == 0.0
    assert pace.take(1, 0, 1.0) > 0.0


def test_answers_that_never_come_leave_room_for_no_more_than_a_second() -> None:
    pace = InputPace(10.0)
    for _ in range(1_000):
        pace.expect()
    assert pace.take(20, 0, 0.0) == 0.0
    assert pace.take(10, 0, 0.0) == 1.0
