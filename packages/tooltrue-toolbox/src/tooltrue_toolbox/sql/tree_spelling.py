"""The texts that nodes of a tree may hold, and the equality of trees.

A parser keeps some names without their quotes and writes them bare. So every text of every node has to be a plain word,
unless its kind is listed here with its pattern: an unforeseen node cannot hold any SQL.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["are_same", "odd_text"]

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?: [A-Za-z_][A-Za-z0-9_]*)*")
_NAME = re.compile(r"[^\W\d][\w$]*")
_ANY = re.compile(r"[^\x00-\x08\x0e-\x1f]*")
_NO_BACKSLASH = re.compile(r"[^\\\x00-\x08\x0e-\x1f]*")
_NUMBER = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")

_TEXTS: Mapping[tuple[str, str], re.Pattern[str]] = {
    ("BitString", "this"): re.compile("[01]*"),
    ("ByteString", "this"): _NO_BACKSLASH,
    ("HexString", "this"): re.compile("[0-9a-fA-F]*"),
    ("JSONPathKey", "this"): re.compile(r"""[^'"`\\\x00-\x1f]*"""),
    ("National", "this"): _NO_BACKSLASH,
    ("Operator", "operator"): re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*\.)?(?!.*(?:--|/\*))[-+*/<>=~!@#%^&|`?]+"),
    ("Placeholder", "this"): re.compile(r"[A-Za-z_][A-Za-z0-9_]*"),
}
"""Patterns of texts that are not plain words, by the kind of the node and the name of the argument."""


def odd_text(node: Any) -> str | None:
    """The first text of ``node`` itself that must not be written, or ``None``."""
    for name, value in node.args.items():
        for part in value if isinstance(value, list) else (value,):  # pyright: ignore[reportUnknownVariableType]
            if _is_odd(node, name, part):
                return str(part)  # pyright: ignore[reportUnknownArgumentType]
    return None


def _is_odd(node: Any, name: str, value: Any) -> bool:
    if isinstance(value, str):
        return _allowed(node, name).fullmatch(value) is None
    return not (value is None or isinstance(value, bool | int | enum.Enum) or hasattr(value, "args"))


def _allowed(node: Any, name: str) -> re.Pattern[str]:
    kind = type(node).__name__
    if kind == "Literal":
        return _ANY if node.args.get("is_string") else _NUMBER
    if kind == "Identifier":
        return _ANY if node.args.get("quoted") else _NAME
    return _TEXTS.get((kind, name), _PLAIN)


def are_same(one: Any, other: Any) -> bool:
    """Whether two trees are exactly equal. Absent and empty values are equal."""
    pending = [(one, other)]
    while pending:
        left, right = pending.pop()
        if not left and not right and not hasattr(left, "args") and not hasattr(right, "args"):
            if isinstance(left, str) != isinstance(right, str):
                return False
        elif type(left) is not type(right):
            return False
        elif isinstance(left, list):
            if len(left) != len(right):  # pyright: ignore[reportUnknownArgumentType]
                return False
            pending += zip(left, right, strict=True)  # pyright: ignore[reportUnknownArgumentType]
        elif hasattr(left, "args"):
            pending += [(left.args.get(name), right.args.get(name)) for name in {**left.args, **right.args}]
        elif left != right:
            return False
    return True
