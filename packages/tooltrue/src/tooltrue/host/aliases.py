"""Names of tools at a host: ``server_tool``, in characters that every model provider accepts.

A name depends on the server's label and the tool's own name alone, so it stays the same while other servers come and
go. No mark contains the underscore that follows it, so no two pairs make the same name; and a name is never parsed: a
table maps it to its tool. A name with characters that are not allowed, or that is too long, ends in a digest.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from tooltrue.contract.names import skeleton
from tooltrue.errors import ConfigurationError
from tooltrue.host.wording import (
    HOST_TOOL_NAME_INVALID,
    REASON_LABEL_LOOKS_LIKE,
    REASON_LABEL_MIXES_SCRIPTS,
    REASON_LABEL_UNREADABLE,
    SERVER_LABEL_INVALID,
    SERVER_LABELS_LOOK_ALIKE,
)
from tooltrue.protocol.characters import may_hide
from tooltrue.protocol.letters import LOOK_LATIN, latin, script, unmarked
from tooltrue.wording import Worded

__all__ = ["MAX_NAME", "RESERVED", "alias", "check_alias", "marks", "plain_alias"]

MAX_NAME: Final = 64
RESERVED: Final = frozenset(
    {
        "call_tool",
        "describe_tools",
        "find_tools",
        "get_prompt",
        "get_tool",
        "list_prompts",
        "list_resources",
        "list_servers",
    }
    | {"list_tools", "read_resource", "read_more", "run_code", "search_tools", "tool_search", "tools_search"}
)
"""Names reserved for tools of the host itself: a server's tool can never be mistaken for one of them."""

_MAX_MARK: Final = 24
_ALIAS: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def marks(labels: Iterable[str]) -> dict[str, str]:
    """The prefix for the tools of each server. ``ConfigurationError`` for a label that looks like another, or that
    is deceptive itself."""
    made: dict[str, str] = {}
    by_sign: dict[tuple[str, str], str] = {}
    for label in labels:
        _check_label(label)
        mark = _mark(label)
        for sign in (("mark", mark.lower()), ("look", _label_skeleton(label))):
            if (other := by_sign.setdefault(sign, label)) != label:
                raise ConfigurationError.of(SERVER_LABELS_LOOK_ALIKE, label=label, other=other)
        made[label] = mark
    return made


def _check_label(label: str) -> None:
    if not label.strip() or not label.isprintable() or may_hide(label) or label != label.strip() or len(label) > 128:
        raise ConfigurationError.of(
            SERVER_LABEL_INVALID, label=ascii(label)[:140], why=Worded(REASON_LABEL_UNREADABLE, {})
        )
    if unicodedata.normalize("NFKC", label) != label:
        plain = unicodedata.normalize("NFKC", label)
        raise ConfigurationError.of(
            SERVER_LABEL_INVALID, label=ascii(label), why=Worded(REASON_LABEL_LOOKS_LIKE, {"plain": plain})
        )
    scripts = {script(letter) for letter in label if letter.isalpha()}
    if "LATIN" in scripts and scripts & LOOK_LATIN:
        raise ConfigurationError.of(
            SERVER_LABEL_INVALID, label=ascii(label), why=Worded(REASON_LABEL_MIXES_SCRIPTS, {})
        )


_SEPARATORS: Final = re.compile(r"[\s_.\-\u00b7\u2010-\u2015\u2212]+")


def _label_skeleton(label: str) -> str:
    """The skeleton of a label for a cursory reader, who overlooks accents on Latin letters and the kind of separator
    between two words."""
    plain = latin(label)
    bare = unmarked(plain)
    return skeleton(_SEPARATORS.sub("-", bare if bare.isascii() else plain).strip("-"))


def _mark(label: str) -> str:
    """Letters, digits and hyphens; ``_``, ``.`` and spaces become hyphens, so that labels which differ only in them
    look alike, and are refused together."""
    plain = re.sub(r"[_. ]", "-", label)
    mark = re.sub(r"[^A-Za-z0-9-]", "", plain)
    if not mark[:1].isalpha():
        mark = f"s-{mark}".rstrip("-")
    if mark.removeprefix("s-") == plain.removeprefix("s-") and len(mark) <= _MAX_MARK:
        return mark
    return f"{mark[: _MAX_MARK - 7].rstrip('-')}-{_digest(label)[:6]}"


def alias(mark: str, name: str) -> str:
    """The name here of the tool or prompt ``name`` of the server with this mark."""
    candidate = f"{mark}_{re.sub(r'[^A-Za-z0-9_-]', '_', name)}"
    if candidate == f"{mark}_{name}" and len(candidate) <= MAX_NAME and not _is_reserved(candidate):
        return candidate
    return f"{candidate[: MAX_NAME - 9]}-{_digest(name)[:8]}"


def plain_alias(mark: str, name: str) -> str:
    """The name itself if it may be a name here, else :func:`alias`."""
    is_usable = _ALIAS.fullmatch(name) and len(name) <= MAX_NAME and not _is_reserved(name)
    return name if is_usable else alias(mark, name)


def check_alias(name: str) -> None:
    """``ConfigurationError`` for a name that an operator may not give a tool."""
    if not _ALIAS.fullmatch(name) or len(name) > MAX_NAME or _is_reserved(name):
        raise ConfigurationError.of(HOST_TOOL_NAME_INVALID, name=name[:140], limit=MAX_NAME)


_RESERVED_LOOKS: Final = frozenset(map(skeleton, RESERVED))


def _is_reserved(name: str) -> bool:
    """Whether the name is reserved for the host, or looks like one that is."""
    return name.lower() in RESERVED or skeleton(name) in _RESERVED_LOOKS


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
