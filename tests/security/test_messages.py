"""Messages that are no JSON, or that two parsers read in two ways, at each door and in each place of a call."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator

import pytest

from security.calling import DOORS, Disk, answers
from support.variants import tried
from support.wire.mounting import Mounts

PARSE_ERROR = -32700

# Where in a call the text stands that no parser should take. `%s` is the text: a value, or the inside of a string.
VALUES = {
    "an argument": '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"save","_meta":META,"arguments":{"path":"a","data":[%s]}}}',  # noqa: E501
    "deep in an argument": '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"save","_meta":META,"arguments":{"path":"a","data":[{"b":[[%s]]}]}}}',  # noqa: E501
    "an argument that is not declared": '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"save","_meta":META,"arguments":{"path":"a","more":%s}}}',  # noqa: E501
    "a parameter that nobody reads": '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"save","_meta":META,"arguments":{"path":"a"},"more":%s}}',  # noqa: E501
    "a member that nobody reads": '{"jsonrpc":"2.0","id":1,"method":"tools/call","more":%s,"params":{"name":"save","_meta":META,"arguments":{"path":"a"}}}',  # noqa: E501
    "the id": '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"save","_meta":META,"arguments":{"path":"a"}}}',  # noqa: E501
}


def bodies(*texts: str) -> Iterator[tuple[str, str]]:
    """Each of these values in each place of a call."""
    for (place, body), text in itertools.product(VALUES.items(), texts):
        said = text if len(text) < 40 else f"{text[:20]}…{len(text)}"
        yield f"{said} as {place}", body % text


def codes(mounts: Mounts, disk: Disk, door: str, named: Iterable[tuple[str, str]]) -> dict[str, int | None]:
    """The codes of the errors that these bodies are answered with."""
    answered = answers(mounts, disk.server, door, named)
    return {name: answer.get("error", {}).get("code") for name, answer in answered.items()}


def refused_everywhere(mounts: Mounts, door: str, named: Iterable[tuple[str, str]]) -> None:
    disk = Disk()
    answered = codes(mounts, disk, door, named)
    for name in answered:
        tried((door, name))
    assert {name: code for name, code in answered.items() if code != PARSE_ERROR} == {}
    assert disk.ran == []


doors = pytest.mark.parametrize("door", DOORS)


# -- B08: the same key twice -------------------------------------------------------------------------------------------

CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"save","_meta":META,"arguments":{"path":"a"}}}'
TWICE = {
    "path": ('"path":"a"', '"path":"a",%s:"/etc/passwd"'),
    "name": ('"name":"save"', '"name":"save",%s:"wipe"'),
    "arguments": ('"arguments":{', '%s:{"path":"/etc/passwd"},"arguments":{'),
    "method": ('"method":"tools/call"', '"method":"tools/call",%s:"tools/list"'),
    "params": ('"params":{', '%s:{"name":"wipe"},"params":{'),
    "id": ('"id":1', '"id":1,%s:2'),
    "jsonrpc": ('"jsonrpc":"2.0"', '"jsonrpc":"2.0",%s:"2.0"'),
    "_meta": ('"_meta":META', '"_meta":META,%s:{}'),
}
SPELLED: dict[str, Callable[[str], str]] = {
    "plain": lambda key: key,
    "first letter escaped": lambda key: f"\\u{ord(key[0]):04x}{key[1:]}",
    "last letter escaped, in capitals": lambda key: f"{key[:-1]}\\u{ord(key[-1]):04X}",
    "all letters escaped": lambda key: "".join(f"\\u{ord(letter):04x}" for letter in key),
}


def doubled() -> Iterator[tuple[str, str]]:
    for (key, (found, put)), (how, spell) in itertools.product(TWICE.items(), SPELLED.items()):
        for space in ("", " ", "\n\t"):
            yield f"{key} twice, {how}, {space!r}", CALL.replace(found, put % f'{space}"{spell(key)}"{space}')


@pytest.mark.variants(96)
@doors
def test_b08_a_key_that_stands_twice_in_a_call_is_refused_at_each_door(mounts: Mounts, door: str) -> None:
    refused_everywhere(mounts, door, doubled())


@doors
def test_b08_twin_the_same_key_in_two_objects_of_a_call_passes(mounts: Mounts, door: str) -> None:
    same = VALUES["an argument"] % '{"path":1,"name":2,"id":3},{"path":4}'
    disk = Disk()
    assert codes(mounts, disk, door, [("same", same)]) == {"same": None}
    assert disk.ran == [("a", [{"path": 1, "name": 2, "id": 3}, {"path": 4}])]


# -- B09: numbers that JSON does not have ------------------------------------------------------------------------------

NO_NUMBERS = [
    "NaN", "-NaN", "nan", "Infinity", "-Infinity", "inf", "1e999", "-1E400", "1e+309", "0x1F", "0b1", "0o7", "01",
    "-01",
    "+1", ".5", "5.", "1_000", "1e", "1e+", "--1", "\uff11", "\u0661", "1f", "1L", "1n",
]  # fmt: skip


@pytest.mark.variants(156)
@doors
def test_b09_an_invalid_number_is_refused_in_each_place_of_a_call(mounts: Mounts, door: str) -> None:
    refused_everywhere(mounts, door, bodies(*NO_NUMBERS))


# -- B10: an integer of thousands of digits ----------------------------------------------------------------------------

LONG = ["1" * 4_301, "-" + "9" * 5_000, "1" + "0" * 20_000, "[" + "7" * 4_400 + "]", '{"n":' + "3" * 6_000 + "}"]


@pytest.mark.variants(30)
@doors
def test_b10_an_endless_integer_is_refused_in_each_place_of_a_call(mounts: Mounts, door: str) -> None:
    refused_everywhere(mounts, door, bodies(*LONG))


# -- B11: half a character ---------------------------------------------------------------------------------------------

HALVES = [
    r"\ud800", r"\uD83D", r"\udbff", r"\udc00", r"\uDFFF", r"\ude00\ud83d", r"\ud83d\ud83d\ude00",
    r"\ud83d\ude00\ude00",
    r"\ud83dA", r"\ud83d\u0041", r"\ud83d\n", "\udced\udca0\udc80", "\udced\udcb0\udc80", "\udc80", "\udcc0\udcaf",
    "\udcff",
    "\udce4\udcb8", "\udcf4\udc90\udc80\udc80",
]  # fmt: skip


@pytest.mark.variants(216)
@doors
def test_b11_half_a_character_is_refused_in_each_place_of_a_call(mounts: Mounts, door: str) -> None:
    refused_everywhere(mounts, door, bodies(*(shape % half for half in HALVES for shape in ('"%s"', '{"%s":1}'))))


# -- B12: a hundred thousand brackets ----------------------------------------------------------------------------------

DEEP = [
    "[" * 100_000,
    "[" * 5_000 + "]" * 5_000,
    '{"a":' * 5_000 + "1" + "}" * 5_000,
    '[{"a":' * 3_000 + "1" + "}]" * 3_000,
    "[ \n" * 3_000 + "]" * 3_000,
    '["[", ' * 3_000 + "1" + "]" * 3_000,
]


@pytest.mark.variants(36)
@doors
def test_b12_bottomless_nesting_is_refused_in_each_place_of_a_call(mounts: Mounts, door: str) -> None:
    refused_everywhere(mounts, door, bodies(*DEEP))


@pytest.mark.twin("B09", "B10", "B11", "B12")
@doors
def test_twin_long_numbers_whole_characters_and_some_depth_pass(mounts: Mounts, door: str) -> None:
    text = "1e308,-0.0,0.5," + "9" * 300 + r',"\ud83d\ude00 😀","[[[[",' + "[" * 20 + "]" * 20
    disk = Disk()
    assert codes(mounts, disk, door, [("plain", VALUES["an argument"] % text)]) == {"plain": None}
    assert disk.ran == [("a", json.loads(f"[{text}]"))]
