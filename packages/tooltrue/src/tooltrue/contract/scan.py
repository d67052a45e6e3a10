"""Detection of prompt injection and tool poisoning in definitions, offline, before a model sees them.

Every string and every key of a definition is read: descriptions, schemas of both directions, values, comments, titles,
annotations, icons. The patterns are data, in ``poison.toml`` beside this file. A finding has a place and a severity:
``BLOCK`` keeps the definition from the model until a person has reviewed it, ``WARN`` is shown to a person, ``NOTE`` is
for reviewers.

No decision about the use of a tool is made here: a definition without findings does not make its server honest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from tooltrue.caching import cache_short_texts
from tooltrue.contract.contract import Contract, Path
from tooltrue.contract.digests import Definition, definition_of
from tooltrue.contract.display import display_safe, excerpt
from tooltrue.contract.encoded import decoded, may_be_encoded
from tooltrue.contract.finding import ScanFinding, Severity
from tooltrue.contract.neighbours import NOBODY, Neighbours, beside
from tooltrue.contract.normalization import PART, parts
from tooltrue.contract.orders import OrderMatch, orders
from tooltrue.contract.wording import (
    SUSPICIOUS_BIDIRECTIONAL_CHARACTERS,
    SUSPICIOUS_CONTROL_CHARACTERS,
    SUSPICIOUS_ENCODED_INSTRUCTIONS,
    SUSPICIOUS_HEADERS_INVALID,
    SUSPICIOUS_HIDDEN_TEXT,
    SUSPICIOUS_ICON_SOURCE,
    SUSPICIOUS_ICON_SVG,
    SUSPICIOUS_INVISIBLE_CHARACTERS,
    SUSPICIOUS_NAME_INVISIBLE_CHARACTERS,
    SUSPICIOUS_NAME_MIXED_SCRIPTS,
    SUSPICIOUS_NAME_NOT_PORTABLE,
    SUSPICIOUS_SMUGGLED_TEXT,
    SUSPICIOUS_TAG_CHARACTERS,
    SUSPICIOUS_TEXT_TOO_LONG,
    SUSPICIOUS_VARIATION_SELECTORS,
)
from tooltrue.errors import DefinitionError
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.characters import cleaned, may_hide
from tooltrue.protocol.headers import find_mirrors
from tooltrue.protocol.letters import LOOK_LATIN, latin, script
from tooltrue.protocol.name_rules import is_name
from tooltrue.protocol.types import Prompt, ResourceDefinition, ResourceTemplate, ToolDefinition

__all__ = ["MAX_CHARACTERS", "scan", "scan_contract", "scan_text"]

MAX_CHARACTERS: Final = 200_000
"""Maximum size of one definition, keys included. A larger one is blocked unread."""


def scan(
    definition: ToolDefinition | ResourceDefinition | ResourceTemplate | Prompt | Definition,
    neighbours: Neighbours = NOBODY,
    own: frozenset[str] = frozenset(),
) -> tuple[ScanFinding, ...]:
    """Scan a definition. ``neighbours`` are tools of other servers, ``own`` the other tools of its own server, which it
    may mention."""
    data = definition if isinstance(definition, dict) else definition_of(definition)
    texts, size = _texts(data)
    if size > MAX_CHARACTERS:
        return (ScanFinding(SUSPICIOUS_TEXT_TOO_LONG, Severity.BLOCK, (), "", {"size": size, "limit": MAX_CHARACTERS}),)
    return tuple(_worst(_scan(data, texts, neighbours, own)))


def scan_text(
    text: str, path: Path = (), neighbours: Neighbours = NOBODY, own: frozenset[str] = frozenset()
) -> tuple[ScanFinding, ...]:
    """Scan a text, such as the instructions of a server."""
    return tuple(replace(one, path=path) for one in scan({"description": text}, neighbours, own))


def scan_contract(contract: Contract, neighbours: Neighbours = NOBODY) -> tuple[ScanFinding, ...]:
    """Scan everything that a server has published. Paths start at the contract."""
    own = frozenset(contract.tools)
    findings = list(scan_text(contract.instructions or "", ("instructions",), neighbours, own))
    for section, entries in contract.sections():
        for name, definition in sorted(entries.items()):
            findings += [replace(one, path=(section, name, *one.path)) for one in scan(definition, neighbours, own)]
    return tuple(findings)


def _worst(findings: Iterable[ScanFinding]) -> Iterator[ScanFinding]:
    """Each code once per place, with the highest severity."""
    worst: dict[tuple[str, Path], ScanFinding] = {}
    for one in findings:
        previous = worst.setdefault((one.code, one.path), one)
        if _WEIGHTS[one.severity] > _WEIGHTS[previous.severity]:
            worst[one.code, one.path] = one
    yield from worst.values()


_WEIGHTS: Final = {Severity.NOTE: 0, Severity.WARN: 1, Severity.BLOCK: 2}


def _scan(
    definition: dict[str, Json], texts: list[str], neighbours: Neighbours, own: frozenset[str]
) -> Iterator[ScanFinding]:
    name = definition.get("name")
    name = name if isinstance(name, str) and "uri" not in definition else ""
    if name and not is_name(name):
        yield from _odd_name(name)
    by_text = _orders_by_text(texts)
    strings = _strings(definition) if neighbours or by_text or _may_hide(texts) or any(map(_goes_on, texts)) else []
    for one in strings:
        yield from _hiding(one)
        if len(one.text) > _LONG_TEXT:
            yield from _out_of_sight(one)
    findings = list(_ordered(strings, by_text))
    yield from _weighed([*findings, *_divided(findings, strings)])
    if "x-mcp-header" in texts:
        yield from _headers(definition)
    yield from _icons(definition)
    if neighbours:
        yield from beside(name, [(one.path, one.text) for one in strings], neighbours, own)


# -- orders ------------------------------------------------------------------------------------------------------------


class _OrderFinding(NamedTuple):
    """A finding caused by a text; ``in_keys``: only if the text is a name."""

    finding: ScanFinding
    in_keys: bool = False


def _orders_by_text(texts: list[str]) -> dict[str, tuple[_OrderFinding, ...]]:
    """The orders in each text that has some. Their places are determined later, since most definitions have no
    orders."""
    return {text: text_orders for text in texts if len(text) >= _SHORT and (text_orders := _orders_in(text))}


_SHORT: Final = 6  # the length of the shortest order


@cache_short_texts(4096, longest=200)  # many tools share texts
def _orders_in(text: str) -> tuple[_OrderFinding, ...]:
    """The orders in one text."""
    order_findings = [_OrderFinding(_finding(one), one.pattern.keys) for one in orders(text)]
    return (*order_findings, *map(_OrderFinding, _encoded(text))) if may_be_encoded(text) else tuple(order_findings)


def _finding(order: OrderMatch) -> ScanFinding:
    return ScanFinding(order.pattern.code, order.pattern.severity, (), order.excerpt)


def _encoded(text: str) -> Iterator[ScanFinding]:
    """Orders that are only present in another encoding, and not openly as well."""
    openly: set[str] | None = None
    for reading in decoded(text[:_MOST_DECODED]):
        codes = {one.pattern.code for one in orders(reading) if _is_heavy(one)}
        if codes and openly is None:
            openly = {one.pattern.code for one in orders(text)}
        if codes - (openly or set()):
            yield ScanFinding(SUSPICIOUS_ENCODED_INSTRUCTIONS, Severity.BLOCK, (), display_safe(reading[:120]))
            return


_MOST_DECODED: Final = 20_000


def _is_heavy(order: OrderMatch) -> bool:
    return order.pattern.severity is not Severity.NOTE and not order.pattern.keys


def _ordered(strings: Iterable[_String], by_text: Mapping[str, tuple[_OrderFinding, ...]]) -> Iterator[ScanFinding]:
    for path, text, is_key in strings:
        yield from (replace(one.finding, path=path) for one in by_text.get(text, ()) if is_key or not one.in_keys)


def _divided(findings: list[ScanFinding], strings: list[_String]) -> Iterator[ScanFinding]:
    """Find an order that is split over several fields, which a model reads one after the other."""
    if len(strings) < 2 or any(one.severity is not Severity.NOTE for one in findings):
        return
    own_first = sorted(strings, key=lambda one: len(one.path) > 1)  # in the order in which models see them
    together = " ".join(one.text for one in own_first if not one.is_key)[:PART]
    yield from (replace(_finding(one), severity=Severity.WARN) for one in orders(together) if _is_heavy(one))


def _goes_on(text: str) -> bool:
    """Whether a text continues a sentence that another field began."""
    return text[:1].islower() and _GOING_ON.match(text) is not None


_GOING_ON: Final = re.compile(
    r"(?:and|then|but|or|nor|(?:to )?the (?:user|person|human)|(?:all )?(?:previous|prior|earlier)|your|them|its?|"
    r"about|into|without)\b .{0,200}\w"
)


def _weighed(findings: list[ScanFinding]) -> list[ScanFinding]:
    """Raise notes to warnings if notes of two different kinds occur in one definition."""
    if len({one.code for one in findings}) < 2 or any(one.severity is not Severity.NOTE for one in findings):
        return findings
    return [replace(one, severity=Severity.WARN) for one in findings]


# -- texts of a definition ---------------------------------------------------------------------------------------------


class _String(NamedTuple):
    """A string or key of a definition, and its path."""

    path: Path
    text: str
    is_key: bool = False


def _texts(value: Json) -> tuple[list[str], int]:
    """Each custom string and key once, and the size of the whole definition."""
    strings: list[str] = []
    nodes: list[Json] = [value]
    for node in nodes:  # breadth first: nested values are appended
        if isinstance(node, str):
            strings.append(node)
        elif is_object(node):
            strings += node
            nodes += node.values()
        elif is_array(node):
            nodes += node
    texts = [text for text in dict.fromkeys(strings) if text not in _WELL_KNOWN]
    return texts, len(nodes) - 1 + sum(map(len, strings))


def _strings(value: Json) -> list[_String]:
    """Every custom string and key with its path, in document order. Not needed for most definitions, which are found
    harmless before."""
    strings: list[_String] = []
    waiting: list[tuple[Path, Json]] = [((), value)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, str):
            if node not in _VALUES:
                strings.append(_String(path, node))
        elif is_object(node):
            strings += [_String((*path, key), key, True) for key in node if key not in _KEYWORDS]
            waiting += [((*path, key), inner) for key, inner in reversed(node.items())]
        elif is_array(node):
            waiting += [((*path, index), inner) for index, inner in reversed(list(enumerate(node)))]
    return strings


_KEYWORDS: Final = frozenset(
    {"name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta", "src", "mimeType"}
    | {"type", "properties", "required", "items", "enum", "default", "const", "anyOf", "oneOf", "allOf", "not"}
    | {"additionalProperties", "$schema", "$defs", "$ref", "format", "minimum", "maximum", "minLength", "maxLength"}
)
"""Keys defined by the protocol and by JSON Schema."""


_VALUES: Final = frozenset(
    {"string", "number", "integer", "boolean", "object", "array", "null"}
    | {"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"}
)
"""Values defined by JSON Schema."""

_WELL_KNOWN: Final = _KEYWORDS | _VALUES


# -- hidden text -------------------------------------------------------------------------------------------------------

_KINDS: Final = {
    # kind → the code, and the number from which on they are no accident
    "terminal": (SUSPICIOUS_CONTROL_CHARACTERS, 1),
    "control": (SUSPICIOUS_CONTROL_CHARACTERS, 1),
    "direction": (SUSPICIOUS_BIDIRECTIONAL_CHARACTERS, 1),
    "tag": (SUSPICIOUS_TAG_CHARACTERS, 1),
    "invisible": (SUSPICIOUS_INVISIBLE_CHARACTERS, 8),
    "private": (SUSPICIOUS_INVISIBLE_CHARACTERS, 8),
    "selector": (SUSPICIOUS_VARIATION_SELECTORS, 4),
}


def _hiding(string: _String) -> Iterator[ScanFinding]:
    path, text, is_key = string
    if text.isascii() and text.isprintable():
        return
    counts: dict[str, int] = {}
    if not may_hide(text) or "".join(cleaned(part, counts) for part in parts(text)) == text:
        return
    for kind in sorted(counts):
        code, many = _KINDS[kind]
        severity = Severity.BLOCK if is_key or counts[kind] >= many else Severity.WARN
        yield ScanFinding(code, severity, path, excerpt(text, *_first_hidden(text)), {"count": counts[kind]})
    if tags := "".join(chr(ord(char) - 0xE0000) for char in text if 0xE0020 <= ord(char) < 0xE007F):
        yield ScanFinding(SUSPICIOUS_SMUGGLED_TEXT, Severity.BLOCK, path, display_safe(tags[:120]))


def _first_hidden(text: str) -> tuple[int, int]:
    start = next((at for at, char in enumerate(text) if not char.isascii() or not char.isprintable()), 0)
    return start, min(len(text), start + 40)


def _may_hide(texts: Iterable[str]) -> bool:
    """Whether one of these texts may contain hidden characters or text out of sight."""
    together = "".join(texts)
    if not (together.isascii() and together.isprintable()) and may_hide(together):
        return True
    return any(map(_may_be_out_of_sight, (text for text in texts if len(text) > _LONG_TEXT)))


def _may_be_out_of_sight(text: str) -> bool:
    """Whether a text has a long gap, or a word of HTML markup."""
    return "<!--" in text or "display:" in text or _WIDE.search(text) is not None


_LONG_TEXT: Final = 100
_WIDE: Final = re.compile(r"[ \t\n][ \t\n]{19}")  # any match of _BLANKS has one, or one of the words
_BLANKS: Final = re.compile(r"[ \t]{80}|\n[ \t]{0,8}(?:\n[ \t]{0,8}){19}|<!--|\bdisplay:\s?none\b")


def _out_of_sight(string: _String) -> Iterator[ScanFinding]:
    """Find text that a person does not see because of its position."""
    path, text, _ = string
    for match in _BLANKS.finditer(text):
        if text[match.end() :].strip():
            yield ScanFinding(SUSPICIOUS_HIDDEN_TEXT, Severity.WARN, path, excerpt(text, match.end(), match.end() + 80))
            return


# -- names -------------------------------------------------------------------------------------------------------------


def _odd_name(name: str) -> Iterator[ScanFinding]:
    """Judge a name outside of the protocol's character set. A Chinese name is not portable; a mix of scripts is a
    disguise."""
    scripts = {_script(char) for char in name if char.isalpha()}
    mixed = len(scripts) > 1 and bool(scripts & _PASS_FOR_LATIN)
    disguised = not name.isascii() and latin(name).isascii()
    if mixed or disguised:
        yield ScanFinding(
            SUSPICIOUS_NAME_MIXED_SCRIPTS,
            Severity.BLOCK,
            ("name",),
            display_safe(name[:120]),
            {"plain": display_safe(latin(name)[:120])},
        )
    elif name != name.strip() or any(not char.isprintable() for char in name):
        yield ScanFinding(
            SUSPICIOUS_NAME_INVISIBLE_CHARACTERS, Severity.BLOCK, ("name",), display_safe(repr(name[:120]))
        )
    else:
        yield ScanFinding(SUSPICIOUS_NAME_NOT_PORTABLE, Severity.NOTE, ("name",), display_safe(name[:120]))


_PASS_FOR_LATIN: Final = LOOK_LATIN | {"FULLWIDTH", "LATIN?"}


def _script(char: str) -> str:
    name = script(char)
    return "LATIN?" if name == "LATIN" and not char.isascii() and latin(char).isascii() else name


# -- headers and icons -------------------------------------------------------------------------------------------------


def _headers(definition: dict[str, Json]) -> Iterator[ScanFinding]:
    schema = definition.get("inputSchema")
    if is_object(schema):
        try:
            find_mirrors(schema)
        except DefinitionError as error:
            problem = error.facts.get("problem", "")
            yield ScanFinding(
                SUSPICIOUS_HEADERS_INVALID,
                Severity.BLOCK,
                ("inputSchema",),
                display_safe(str(problem)[:120]),
                {"problem": problem},
            )


_PICTURE: Final = re.compile(r"data:image/(?:png|jpe?g|gif|webp|avif|bmp|x-icon)[;,]", re.IGNORECASE)


def _icons(definition: dict[str, Json]) -> Iterator[ScanFinding]:
    icons = definition.get("icons")
    for index, icon in enumerate(icons if is_array(icons) else ()):
        source = icon.get("src") if is_object(icon) else None
        path = ("icons", index, "src")
        if not isinstance(source, str):
            yield ScanFinding(SUSPICIOUS_ICON_SOURCE, Severity.BLOCK, path, "")
        elif _is_vector(icon, source):
            yield ScanFinding(SUSPICIOUS_ICON_SVG, Severity.WARN, path, display_safe(source[:120]))
        elif not source.lower().startswith("https://") and not _PICTURE.match(source):
            yield ScanFinding(SUSPICIOUS_ICON_SOURCE, Severity.BLOCK, path, display_safe(source[:120]))


def _is_vector(icon: Mapping[str, Json], source: str) -> bool:
    """Whether an icon is SVG, which may hold scripts, by https or as data. The reader may refuse a remote one; as data
    it is already here."""
    lowered = source.lower()
    is_svg = "svg" in str(icon.get("mimeType", "")).lower() or lowered.partition("?")[0].endswith(".svg")
    return (is_svg and lowered.startswith("https://")) or lowered.startswith("data:image/svg+xml")
