"""Findings about tools of other servers of a host: orders that concern them, and names that look like theirs.

Publishers choose their names, so a hostile server could take the names that an honest one mentions. A definition is
therefore blocked for a name only if that name was there first, is not an ordinary word and is not one of the
definition's own. In all other cases a warning is raised.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Final

from tooltrue.contract.contract import Path
from tooltrue.contract.display import display_safe, excerpt
from tooltrue.contract.finding import ScanFinding, Severity
from tooltrue.contract.names import Likeness, Names
from tooltrue.contract.wording import (
    SUSPICIOUS_CROSS_SERVER_MENTION,
    SUSPICIOUS_NAME_LOOKALIKE,
    SUSPICIOUS_NAME_SAME_LETTERS,
    SUSPICIOUS_NAME_TYPO,
)

__all__ = ["NOBODY", "Neighbours", "beside"]


class Neighbours:
    """The tools of the other servers of a host: server → names. ``later`` are the servers that were added after the one
    under review. Build it once, query it for each definition."""

    def __init__(self, tools: Mapping[str, Iterable[str]], later: Container[str] = ()) -> None:
        self._owners: dict[str, list[str]] = {}
        for server in sorted(tools, key=lambda label: (label in later, label)):
            for name in tools[server]:
                self._owners.setdefault(name, []).append(server)
        self._self: str | None = None
        self._later = later
        self.names = Names(self._owners)
        self.labels = Names(tools)

    def __bool__(self) -> bool:
        return bool(self._owners)

    def besides(self, server: str) -> Neighbours:
        """The same index without the tools of ``server``, to judge its own definitions. Takes constant time."""
        others = copy.copy(self)
        others._self = server
        return others

    def owner(self, name: str) -> str | None:
        """The first server that has a tool of this name."""
        return next((one for one in self._owners.get(name, ()) if one != self._self), None)

    def was_first(self, name: str) -> bool:
        """Whether a server that was added earlier has a tool of this name."""
        owner = self.owner(name)
        return owner is not None and owner not in self._later


NOBODY: Final = Neighbours({})


def beside(
    name: str, texts: Iterable[tuple[Path, str]], neighbours: Neighbours, own: Container[str]
) -> Iterator[ScanFinding]:
    """Yield the findings about other servers' tools in a definition of this name with these texts. ``own`` are the
    tools of its own server, which it may mention."""
    if not neighbours:
        return
    yield from _alike(name, neighbours)
    texts = list(texts)
    words = {text for _, text in texts}
    for path, text in texts:
        if path != ("name",) and (finding := _reference(path, text, neighbours, own, words)) is not None:
            yield finding


# -- names that look like others ---------------------------------------------------------------------------------------

_SEVERITIES: Final = {
    Likeness.LOOKS: (SUSPICIOUS_NAME_LOOKALIKE, Severity.BLOCK),
    Likeness.CASE: (SUSPICIOUS_NAME_SAME_LETTERS, Severity.WARN),
    Likeness.SLIP: (SUSPICIOUS_NAME_TYPO, Severity.WARN),
}


def _alike(name: str, neighbours: Neighbours) -> Iterator[ScanFinding]:
    for other, likeness in neighbours.names.like(name):
        server = neighbours.owner(other)
        if server is None:
            continue
        code, severity = _SEVERITIES[likeness]
        severity = severity if neighbours.was_first(other) else Severity.WARN
        facts = {"other": display_safe(other), "server": display_safe(server)}
        yield ScanFinding(code, severity, ("name",), display_safe(name[:120]), facts)


# -- orders about tools of others --------------------------------------------------------------------------------------

_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{3,127}")
_ORDER: Final = re.compile(
    r"\b(?:before|when|whenever|instead|always|must|never|every time|after|first|should|do not|don't|set|add|also)\b"
    r"|之前|以前|每次|总是|必须|务必|不要|代替|而不是|同时|时"
)


def _reference(
    path: Path, text: str, neighbours: Neighbours, own: Container[str], words: Container[str]
) -> ScanFinding | None:
    """Find a reference to a tool of another server. It is blocked if the text also gives an order about the tool."""
    finding: ScanFinding | None = None
    for match in _WORD.finditer(text):
        name = match[0].rstrip(".-")
        server = neighbours.owner(name)
        if server is None or name in own or name == text or not _is_made_up(name):
            continue
        nearby = text[max(0, match.start() - 80) : match.end() + 80].casefold()
        blocks = _is_distinct(name) and name not in words and neighbours.was_first(name) and _ORDER.search(nearby)
        if finding is None or blocks:
            facts = {"other": display_safe(name), "server": display_safe(server)}
            quote = excerpt(text, match.start(), match.end() + 60)
            finding = ScanFinding(
                SUSPICIOUS_CROSS_SERVER_MENTION, Severity.BLOCK if blocks else Severity.WARN, path, quote, facts
            )
        if blocks:
            break
    return finding


_CAMEL: Final = re.compile(r"[a-z]{2,}(?:[A-Z][a-z]{2,})+")
_ORDINARY: Final = frozenset({"camelCase", "kebab_case", "snake_case", "upper_case", "lower_case"})


def _is_made_up(name: str) -> bool:
    """Whether a name is made up, and not simply a word of the language."""
    return "_" in name or "-" in name or re.search(r"[a-z][A-Z]", name) is not None


def _is_distinct(name: str) -> bool:
    """Whether a name can only mean the tool: ``send_mail``, ``sendMail``; not ``read-only``, ``JavaScript``."""
    return ("_" in name or _CAMEL.fullmatch(name) is not None) and name not in _ORDINARY
