"""What in a definition is meant for a model and hidden from a person: found offline, before a model sees it.

Every string and every key of a definition is read: descriptions, schemas of both directions, values, comments, titles,
annotations, icons. The patterns are data, in ``poison.toml`` beside this file. A finding says what was found where, and
how much it weighs: ``BLOCK`` keeps the definition from the model until a person has looked, ``WARN`` is for a person to
see, ``NOTE`` for whoever reviews.

Nothing here decides what a tool may do: that a definition has no findings does not make its server an honest one.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import Any, Final, NamedTuple

from toolwright.contract.contract import Contract, Definition, Path, definition_of
from toolwright.contract.finding import Finding, Severity, is_blocked
from toolwright.contract.names import latin, words
from toolwright.contract.neighbours import NOBODY, Neighbours, beside
from toolwright.contract.shown import excerpt, shown
from toolwright.errors import DefinitionError
from toolwright.jsonrpc.messages import Json, is_array, is_object
from toolwright.protocol.characters import cleaned, may_hide
from toolwright.protocol.headers import find_mirrors
from toolwright.protocol.names import is_name
from toolwright.protocol.types import Prompt, Resource, ResourceTemplate, Tool

__all__ = ["MAX_CHARACTERS", "patterns", "scan", "scan_contract", "scan_text"]

MAX_CHARACTERS: Final = 200_000
"""Of one definition, keys included. A larger one is not read, and blocked for it."""


def scan(
    definition: Tool | Resource | ResourceTemplate | Prompt | Definition,
    neighbours: Neighbours = NOBODY,
    own: frozenset[str] = frozenset(),
) -> tuple[Finding, ...]:
    """What is suspicious in a definition. ``neighbours`` are tools of other servers, ``own`` the other ones of its own
    server, which it may speak of."""
    said = definition if isinstance(definition, dict) else definition_of(definition)
    read = _strings(said)
    if isinstance(read, int):
        return (Finding("TW9150", Severity.BLOCK, (), "", {"size": read, "limit": MAX_CHARACTERS}),)
    return tuple(_unique(_scan(said, read, neighbours, own)))


def scan_text(
    text: str, path: Path = (), neighbours: Neighbours = NOBODY, own: frozenset[str] = frozenset()
) -> tuple[Finding, ...]:
    """What is suspicious in a text, such as the instructions of a server."""
    return tuple(replace(one, path=path) for one in scan({"description": text}, neighbours, own))


def scan_contract(contract: Contract, neighbours: Neighbours = NOBODY) -> tuple[Finding, ...]:
    """What is suspicious in all that a server has published, with paths from the contract."""
    own = frozenset(contract.tools)
    found = list(scan_text(contract.instructions or "", ("instructions",), neighbours, own))
    for section, entries in contract.sections():
        for name, definition in sorted(entries.items()):
            found += [replace(one, path=(section, name, *one.path)) for one in scan(definition, neighbours, own)]
    return tuple(found)


def _unique(findings: Iterable[Finding]) -> Iterator[Finding]:
    met: set[tuple[str, Path]] = set()
    for one in findings:
        if (one.code, one.path) not in met:
            met.add((one.code, one.path))
            yield one


def _scan(
    definition: dict[str, Json], read: list[_Read], neighbours: Neighbours, own: frozenset[str]
) -> Iterator[Finding]:
    name = definition.get("name")
    name = name if isinstance(name, str) and "uri" not in definition else ""
    if name and not is_name(name):
        yield from _odd_name(name)
    yield from _alone(definition, read)
    if neighbours:
        yield from beside(name, [(one.path, one.text) for one in read], neighbours, own)


def _alone(definition: dict[str, Json], read: list[_Read]) -> Iterator[Finding]:
    for one in read:
        yield from _hiding(one)
        if len(one.text) > _LONG_TEXT:
            yield from _out_of_sight(one)
            yield from _encoded(one)
    yield from _phrases(read)
    if any(one.is_key and one.text == "x-mcp-header" for one in read):
        yield from _headers(definition)
    yield from _icons(definition)


# -- what there is to read ---------------------------------------------------------------------------------------------


class _Read(NamedTuple):
    """A string or key of a definition, and where it stands."""

    path: Path
    text: str
    is_key: bool = False


def _strings(value: Json) -> list[_Read] | int:
    """Each string and each key, in the order in which they stand; or how much there is, where that is too much."""
    found: list[_Read] = []
    size = 0
    waiting: list[tuple[Path, Json]] = [((), value)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, str):
            size += len(node)
            if node not in _VALUES:
                found.append(_Read(path, node))
        elif is_object(node):
            size += sum(map(len, node)) + len(node)
            if not _KEYWORDS.issuperset(node):
                found += [_Read((*path, key), key, True) for key in node if key not in _KEYWORDS]
            waiting += [
                ((*path, key), inner) for key, inner in reversed(node.items()) if inner.__class__ not in _SCALARS
            ]
        elif is_array(node):
            size += len(node)
            waiting += [((*path, index), inner) for index, inner in reversed(list(enumerate(node)))]
        if size > MAX_CHARACTERS:
            return size
    return found


_SCALARS: Final = frozenset({bool, int, float, type(None)})
_KEYWORDS: Final = frozenset(
    {"name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta", "src", "mimeType"}
    | {"type", "properties", "required", "items", "enum", "default", "const", "anyOf", "oneOf", "allOf", "not"}
    | {"additionalProperties", "$schema", "$defs", "$ref", "format", "minimum", "maximum", "minLength", "maxLength"}
)
"""Keys of the protocol and of JSON Schema, which nobody has made up."""


_VALUES: Final = frozenset(
    {"string", "number", "integer", "boolean", "object", "array", "null"}
    | {"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"}
)
"""Of JSON Schema, too."""


# -- patterns ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pattern:
    code: str
    severity: Severity
    needs: tuple[str, ...]
    expression: re.Pattern[str]
    cased: bool
    keys: bool

    def first_in(self, text: str) -> re.Match[str] | None:
        """Where it stands in ``text``. A long one is searched in parts, for a search lets no other thread run."""
        for start in range(0, len(text), _PART - _OVERLAP):
            if match := self.expression.search(text, start, start + _PART):
                return match
        return None


_PART: Final = 8_192
_OVERLAP: Final = 1_024  # nothing that a pattern finds is longer
_GAP: Final = r"[^\n.;!?。；！？]{0,40}?"


@functools.cache
def patterns() -> tuple[Pattern, ...]:
    """The patterns of ``poison.toml``."""
    said = tomllib.loads(File(__file__).with_name("poison.toml").read_text("utf-8"))
    return tuple(_pattern(row, said["secret"]) for row in said["pattern"])


def _pattern(row: Mapping[str, Any], secret: str) -> Pattern:
    expression = row["expression"].replace("{secret}", secret).replace("…", _GAP)
    return Pattern(
        row["code"],
        Severity(row["severity"]),
        tuple(row["needs"]),
        re.compile(expression),
        row.get("cased", False),
        row.get("keys", False),
    )


class _Need(NamedTuple):
    """A word, in which of the two texts it is looked for, and the places of the patterns that it may be the word of."""

    word: str
    cased: bool
    places: tuple[int, ...]


@functools.cache
def _needs(is_ascii: bool) -> tuple[_Need, ...]:
    """Of all patterns, each once; those that a text in ASCII can have, or all."""
    places: dict[tuple[str, bool], list[int]] = {}
    for place, pattern in enumerate(patterns()):
        for word in pattern.needs:
            if word.isascii() or not is_ascii:
                places.setdefault((word, pattern.cased), []).append(place)
    return tuple(_Need(word, cased, tuple(found)) for (word, cased), found in places.items())


def _possible(cased: str, lowered: str) -> list[Pattern]:
    """The patterns that may match one of the texts that stand here, a line or more each."""
    needs = _needs(lowered.isascii())
    met = {place for one in needs if one.word in (cased if one.cased else lowered) for place in one.places}
    every = [patterns()[place] for place in sorted(met)]
    return [one for one in every if one.keys or one.first_in(cased if one.cased else lowered)]


def _parts(text: str) -> Iterator[str]:
    return (text[start : start + _PART] for start in range(0, len(text), _PART))


def _without_marks(text: str) -> str:
    """Letters without the marks on them: ``ígnore`` is read as ``ignore``."""
    return "".join(one for one in unicodedata.normalize("NFD", text) if not unicodedata.combining(one))


def _plain(text: str) -> str:
    """A text as a reader would take it: nothing hidden in it, one form for each letter, blanks that are one."""
    if not text.isascii():
        text = "".join(latin(_without_marks(cleaned(part, {}))) for part in _parts(text))
    if text.isprintable() and "  " not in text:
        return text  # most are so, and this is a tenth of the time
    text = _BLANK.sub(" ", text)
    return _END_OF_LINE.sub("\n", text) if "\n" in text else text


_BLANK: Final = re.compile(r"[ \t\r\f\v]{2,200}|[\t\r\f\v]")
_END_OF_LINE: Final = re.compile(r" ?\n[ \n]{0,200}")


def _phrases(read: Iterable[_Read]) -> Iterator[Finding]:
    """What the patterns find. Most of them are ruled out by one look at all texts together."""
    plain = [(one, text) for one in read for text in _readings(one.text)]
    cased = "\n".join(text for _, text in plain)
    lowered = cased.casefold()
    possible = _possible(cased, lowered)
    only_keys = all(one.keys for one in possible)
    found: set[tuple[Path, Pattern]] = set()
    for one, text in plain if possible else ():
        if only_keys and not one.is_key:
            continue
        lowered = text.casefold()
        for pattern in possible:
            searched = text if pattern.cased else lowered
            if (one.is_key or not pattern.keys) and (match := pattern.first_in(searched)):
                written = text if len(text) == len(searched) else searched  # as it was, where that is in the same place
                if (one.path, pattern) not in found:
                    found.add((one.path, pattern))
                    said = excerpt(written, match.start(), match.end())
                    yield Finding(pattern.code, pattern.severity, one.path, said)


def _readings(text: str) -> tuple[str, ...]:
    """A text as patterns read it; once more with its lines put together, where it has some. Orders take two words."""
    return _known_readings(text) if len(text) < _LONG_NAME else tuple(_read_anew(text))


def _read_anew(text: str) -> Iterator[str]:
    if len(text) < _LONG_WORD and text.isascii() and text.isalpha() and text.islower():
        return
    yield _in_words(text)
    if "\n" in text and (together := _WRAPPED.sub(_as_one_line, text)) != text:
        yield _in_words(together)


@functools.lru_cache(maxsize=4096)
def _known_readings(text: str) -> tuple[str, ...]:
    """Short ones recur: names such as id, query, limit."""
    return tuple(_read_anew(text))


# The end of a line within a paragraph; not before an item of a list, a heading, a quotation or a row.
_WRAPPED: Final = re.compile(r"(?<=\S)[ \t]{0,8}\r?\n[ \t]{0,40}(?=[^\s\-*+#>|\d])")


def _as_one_line(end: re.Match[str]) -> str:
    before, after = end.string[end.start() - 1], end.string[end.end()]
    return "" if min(before, after) >= "\u2e80" else " "  # Chinese has no blanks between words


def _in_words(text: str) -> str:
    """A text as patterns read it; a name in its words: ``ignore_previous_instructions``."""
    is_name = " " not in text and "/" not in text and text.isascii()
    return words(text) if is_name else _plain(text)


_LONG_WORD: Final = 16
_LONG_NAME: Final = 64


# -- what hides --------------------------------------------------------------------------------------------------------

_KINDS: Final = {
    # kind → the code, and how many of them are no accident
    "terminal": ("TW9121", 1),
    "control": ("TW9121", 1),
    "direction": ("TW9122", 1),
    "tag": ("TW9123", 1),
    "invisible": ("TW9124", 8),
    "selector": ("TW9125", 4),
}


def _hiding(read: _Read) -> Iterator[Finding]:
    path, text, is_key = read
    if text.isascii() and text.isprintable():
        return
    found: dict[str, int] = {}
    if not may_hide(text) or "".join(cleaned(part, found) for part in _parts(text)) == text:
        return
    for kind in sorted(found):
        code, many = _KINDS[kind]
        severity = Severity.BLOCK if is_key or found[kind] >= many else Severity.WARN
        yield Finding(code, severity, path, excerpt(text, *_first_hidden(text)), {"count": found[kind]})
    if tags := "".join(chr(ord(char) - 0xE0000) for char in text if 0xE0020 <= ord(char) < 0xE007F):
        yield Finding("TW9126", Severity.BLOCK, path, shown(tags[:120]))


def _first_hidden(text: str) -> tuple[int, int]:
    start = next((at for at, char in enumerate(text) if not char.isascii() or not char.isprintable()), 0)
    return start, min(len(text), start + 40)


_LONG_TEXT: Final = 100
_BLANKS: Final = re.compile(r"[ \t]{80}|\n[ \t]{0,8}(?:\n[ \t]{0,8}){19}|<!--|\bdisplay:\s?none\b")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{40,4000}")


def _out_of_sight(read: _Read) -> Iterator[Finding]:
    """What a person does not see because of where it stands."""
    path, text, _ = read
    for match in _BLANKS.finditer(text):
        if text[match.end() :].strip():
            yield Finding("TW9127", Severity.WARN, path, excerpt(text, match.end(), match.end() + 80))
            return


def _encoded(read: _Read) -> Iterator[Finding]:
    """Orders that were put into base64."""
    path, text, _ = read
    for match in _BASE64.finditer(text):
        said = match[0]
        try:
            decoded = base64.b64decode(said[: len(said) // 4 * 4], validate=True).decode()
        except (binascii.Error, ValueError):
            continue
        if is_blocked(_phrases([_Read(path, decoded)])):
            yield Finding("TW9128", Severity.BLOCK, path, shown(decoded[:120]))


# -- names -------------------------------------------------------------------------------------------------------------


def _odd_name(name: str) -> Iterator[Finding]:
    """A name beyond what the protocol asks for. A Chinese one cannot be used everywhere; a mixed one is a mask."""
    scripts = {_script(char) for char in name if char.isalpha()}
    mixed = len(scripts) > 1 and bool(scripts & {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH", "LATIN?"})
    disguised = not name.isascii() and latin(name).isascii()
    if mixed or disguised:
        yield Finding("TW9131", Severity.BLOCK, ("name",), shown(name[:120]), {"plain": shown(latin(name)[:120])})
    elif name != name.strip() or any(not char.isprintable() for char in name):
        yield Finding("TW9130", Severity.BLOCK, ("name",), shown(repr(name[:120])))
    else:
        yield Finding("TW9129", Severity.NOTE, ("name",), shown(name[:120]))


def _script(char: str) -> str:
    if char.isascii():
        return "LATIN"
    said = unicodedata.name(char, "").partition(" ")[0]
    return said if said != "LATIN" else "LATIN?" if latin(char).isascii() else "LATIN"


# -- headers and icons -------------------------------------------------------------------------------------------------


def _headers(definition: dict[str, Json]) -> Iterator[Finding]:
    schema = definition.get("inputSchema")
    if is_object(schema):
        try:
            find_mirrors(schema)
        except DefinitionError as error:
            problem = error.facts.get("problem", "")
            yield Finding("TW9141", Severity.BLOCK, ("inputSchema",), shown(str(problem)[:120]), {"problem": problem})


_PICTURE: Final = re.compile(r"data:image/(?:png|jpe?g|gif|webp|avif|bmp|x-icon)[;,]", re.IGNORECASE)


def _icons(definition: dict[str, Json]) -> Iterator[Finding]:
    icons = definition.get("icons")
    for index, icon in enumerate(icons if is_array(icons) else ()):
        source = icon.get("src") if is_object(icon) else None
        path = ("icons", index, "src")
        if not isinstance(source, str):
            yield Finding("TW9142", Severity.BLOCK, path, "")
        elif _is_vector(icon, source):
            yield Finding("TW9143", Severity.WARN, path, shown(source[:120]))
        elif not source.lower().startswith("https://") and not _PICTURE.match(source):
            yield Finding("TW9142", Severity.BLOCK, path, shown(source[:120]))


def _is_vector(icon: Mapping[str, Json], source: str) -> bool:
    """SVG may hold scripts. From elsewhere it is the reader's to refuse; as data it is here already."""
    lowered = source.lower()
    is_svg = "svg" in str(icon.get("mimeType", "")).lower() or lowered.partition("?")[0].endswith(".svg")
    return (is_svg and lowered.startswith("https://")) or lowered.startswith("data:image/svg+xml")
