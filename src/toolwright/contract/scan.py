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
from toolwright.contract.finding import Finding, Severity
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
    texts, size = _texts(said)
    if size > MAX_CHARACTERS:
        return (Finding("TW9150", Severity.BLOCK, (), "", {"size": size, "limit": MAX_CHARACTERS}),)
    return tuple(_unique(_scan(said, texts, neighbours, own)))


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
    definition: dict[str, Json], texts: list[str], neighbours: Neighbours, own: frozenset[str]
) -> Iterator[Finding]:
    name = definition.get("name")
    name = name if isinstance(name, str) and "uri" not in definition else ""
    if name and not is_name(name):
        yield from _odd_name(name)
    read = _strings(definition) if neighbours or _may_hide(texts) or _have_orders(texts) else []
    yield from _alone(read)
    if "x-mcp-header" in texts:
        yield from _headers(definition)
    yield from _icons(definition)
    if neighbours:
        yield from beside(name, [(one.path, one.text) for one in read], neighbours, own)


def _alone(read: Iterable[_Read]) -> Iterator[Finding]:
    for one in read:
        yield from _hiding(one)
        if len(one.text) > _LONG_TEXT:
            yield from _out_of_sight(one)
            yield from _encoded(one)
    for path, text, is_key in read:
        for pattern, said in _orders(text):
            if is_key or not pattern.keys:
                yield Finding(pattern.code, pattern.severity, path, said)


# -- what there is to read ---------------------------------------------------------------------------------------------


class _Read(NamedTuple):
    """A string or key of a definition, and where it stands."""

    path: Path
    text: str
    is_key: bool = False


def _texts(value: Json) -> tuple[list[str], int]:
    """Each string and each key that somebody has made up, once, and how much there is of all."""
    found: list[str] = []
    nodes: list[Json] = [value]
    for node in nodes:  # what is within one is looked at after all others
        if isinstance(node, str):
            found.append(node)
        elif is_object(node):
            found += node
            nodes += node.values()
        elif is_array(node):
            nodes += node
    texts = [text for text in dict.fromkeys(found) if text not in _WELL_KNOWN]
    return texts, len(nodes) - 1 + sum(map(len, found))


def _strings(value: Json) -> list[_Read]:
    """The same, wherever it stands, in the order in which it stands. Most definitions are found harmless before."""
    found: list[_Read] = []
    waiting: list[tuple[Path, Json]] = [((), value)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, str):
            if node not in _VALUES:
                found.append(_Read(path, node))
        elif is_object(node):
            found += [_Read((*path, key), key, True) for key in node if key not in _KEYWORDS]
            waiting += [((*path, key), inner) for key, inner in reversed(node.items())]
        elif is_array(node):
            waiting += [((*path, index), inner) for index, inner in reversed(list(enumerate(node)))]
    return found


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

_WELL_KNOWN: Final = _KEYWORDS | _VALUES


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


@functools.cache
def _needs(is_ascii: bool) -> tuple[re.Pattern[str], Mapping[str, list[int]]]:
    """What finds the words that patterns need in a text in lower case, and the places of the patterns that need each.
    A word that others begin with stands for them."""
    needs = [(word.casefold(), place) for place, pattern in enumerate(patterns()) for word in pattern.needs]
    needs = [(word, place) for word, place in needs if word.isascii() or not is_ascii]
    expression = re.compile(_tree(word for word, _ in needs))
    found: dict[str, list[int]] = {}
    for word, place in needs:
        found.setdefault(expression.findall(word)[0], []).append(place)
    return expression, found


@functools.cache
def _unread_needs() -> re.Pattern[str]:
    """What finds them in ASCII before it is read: its names are not taken apart yet and its lines not put together, so
    that between two words there may be anything but letters, or nothing."""
    return re.compile(_needs(True)[0].pattern.replace(r"\ ", r"[\s_.-]*"))


def _tree(words: Iterable[str]) -> str:
    """An expression for any of these words that goes by their letters, for it is quicker than word by word."""
    branches: dict[str, list[str]] = {}
    for word in words:
        branches.setdefault(word[:1], []).append(word[1:])
    if "" in branches:
        return ""
    options = [re.escape(first) + _tree(rest) for first, rest in branches.items()]
    return options[0] if len(options) == 1 else f"(?:{'|'.join(options)})"


def _needed(text: str) -> set[int]:
    """The places of the patterns whose words stand in a text in lower case; one word may begin within another."""
    expression, needing = _needs(text.isascii())
    found: set[int] = set()
    at = 0
    while match := expression.search(text, at):
        found.update(needing[match[0]])
        at = match.start() + 1
    return found


def _parts(text: str) -> Iterator[str]:
    return (text[start : start + _PART] for start in range(0, len(text), _PART))


def _without_marks(text: str) -> str:
    """Letters without the marks on them: ``ígnore`` is read as ``ignore``."""
    apart = unicodedata.normalize("NFD", text)
    marks = {ord(one) for one in set(apart) if unicodedata.combining(one)}
    return apart.translate(dict.fromkeys(marks)) if marks else apart


def _seen(text: str) -> str:
    return latin(_without_marks(cleaned(text, {}) if may_hide(text) else text))


def _plain(text: str) -> str:
    """A text as a reader would take it: nothing hidden in it, one form for each letter, blanks that are one."""
    if not text.isascii():
        text = "".join(map(_seen, _parts(text)))
    if text.isprintable() and "  " not in text:
        return text  # most are so, and this is a tenth of the time
    text = _BLANK.sub(" ", text)
    return _END_OF_LINE.sub("\n", text) if "\n" in text else text


_BLANK: Final = re.compile(r"[ \t\r\f\v]{2,200}|[\t\r\f\v]")
_END_OF_LINE: Final = re.compile(r" ?\n[ \n]{0,200}")


def _have_orders(texts: Iterable[str]) -> bool:
    """Whether the patterns find something. With most definitions one look at all their texts together rules it out."""
    together = "\n".join(texts)
    return _may_match(together) and any(True for text in texts for _ in _orders(text))


def _orders(text: str) -> Iterator[tuple[Pattern, str]]:
    """What the patterns find, and what stands there."""
    if not _may_match(text):
        return
    for reading in _readings(text):
        lowered = reading.casefold()
        for place in sorted(_needed(lowered)):
            pattern = patterns()[place]
            searched = reading if pattern.cased else lowered
            if match := pattern.first_in(searched):
                written = reading if len(reading) == len(searched) else searched  # as it was, if that is in its place
                yield pattern, excerpt(written, match.start(), match.end())


def _may_match(text: str) -> bool:
    return not text.isascii() or _unread_needs().search(text.lower()) is not None


def _readings(text: str) -> Iterator[str]:
    """A text as patterns read it; once more with its lines put together, where it has some. Orders take two words."""
    if len(text) < _LONG_WORD and text.isascii() and text.isalpha() and text.islower():
        return
    yield _in_words(text)
    if "\n" in text and (together := _WRAPPED.sub(_as_one_line, text)) != text:
        yield _in_words(together)


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


def _may_hide(texts: Iterable[str]) -> bool:
    """Whether one of these may hide something, or have what a person does not see."""
    together = "".join(texts)
    if not (together.isascii() and together.isprintable()) and may_hide(together):
        return True
    return any(map(_may_be_out_of_sight, (text for text in texts if len(text) > _LONG_TEXT)))


def _may_be_out_of_sight(text: str) -> bool:
    """Whether a text has a long gap, or a long word, or a word of a page's markup."""
    is_long = max(map(len, text.split()), default=0) >= _LONG_RUN or _WIDE.search(text) is not None
    return is_long or "<!--" in text or "display:" in text


_LONG_TEXT: Final = 100
_WIDE: Final = re.compile(r"[ \t\n][ \t\n]{19}")  # what _BLANKS finds has one, or one of the words
_BLANKS: Final = re.compile(r"[ \t]{80}|\n[ \t]{0,8}(?:\n[ \t]{0,8}){19}|<!--|\bdisplay:\s?none\b")
_LONG_RUN: Final = 40
_BASE64: Final = re.compile(rf"[A-Za-z0-9+/]{{{_LONG_RUN},4000}}")


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
        if any(pattern.severity is Severity.BLOCK and not pattern.keys for pattern, _ in _orders(decoded)):
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
