"""The change of a client's file for a person to read: a diff without secrets.

Values of environment variables and headers are masked altogether, and other values if their name or their look says
that they are secret. A mask differs where the value differs, so that a change of a secret is seen as one.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import secrets
from collections.abc import Iterator, Sequence
from typing import Final

from tooltrue.caching import cache_short_texts
from tooltrue.client.config import is_secret, refers_only
from tooltrue.host.client_files import json_edit
from tooltrue.host.client_files.json_edit import EditRefused, JsonNode, Member
from tooltrue.policy.audit.argument_masking import Masks

__all__ = ["diff"]

_LINE: Final = 400
_CONTEXT: Final = 3
_MARK: Final = "\ufeff"
_HIDDEN: Final = frozenset({"env", "headers", "http_headers", "env_http_headers"})
_MASK: Final = "[masked "
_SALT: Final = secrets.token_bytes(16)


def diff(before: str | None, after: str | None, form: str) -> list[str]:
    """The lines of a unified diff, without its header. A text that is one long line is shown with line ends."""
    masked = _masked_json if form == "json" else _masked_toml
    if form == "json" and any(len(line) > _LINE for text in (before, after) for line in (text or "").splitlines()):
        before, after = _with_lines(before), _with_lines(after)
    old, new = (masked(text).splitlines() if text else [] for text in (before, after))
    lines = _unified(old, new)
    shown = (line if line.startswith("@@") else line[:1] + _look_masked(line[1:]) for line in lines)
    return [line if len(line) <= _LINE else line[: _LINE - 1] + "…" for line in shown]


def _unified(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """The lines of a unified diff. Only the part between the first and the last difference is compared: a file may have
    tens of thousands of lines before and behind it."""
    start = next((place for place, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), None)
    start = max((min(len(old), len(new)) if start is None else start) - _CONTEXT, 0)
    most = min(len(old), len(new)) - start
    end = next((count for count in range(most) if old[-1 - count] != new[-1 - count]), most)
    end = max(end - _CONTEXT, 0)
    lines = difflib.unified_diff(old[start : len(old) - end], new[start : len(new) - end], lineterm="", n=_CONTEXT)
    for line in list(lines)[2:]:
        yield re.sub(r"(?<=[-+])\d+", lambda match: str(int(match[0]) + start), line) if line[:2] == "@@" else line


def _with_lines(text: str | None) -> str | None:
    root = None if text is None else _parsed(text)
    return text if root is None else json.dumps(root.plain(), ensure_ascii=False, indent=2)


def _parsed(text: str) -> JsonNode | None:
    """The value of the text; None if there is none, or if it cannot be read: such a file can be shown, though not
    edited."""
    try:
        return json_edit.parse(text) if text.removeprefix(_MARK).strip() else None
    except EditRefused:
        return None


def _mask(value: str) -> str:
    return f"{_MASK}{hashlib.sha256(_SALT + value.encode(errors='replace')).hexdigest()[:4]}]"


_PAIR: Final = re.compile(r"([\w-]+)([\"']?\s*[:=]\s*)(\"(?:[^\"\\]|\\.)*\"|'[^']*')")


def _look_masked(line: str) -> str:
    """The line with the secrets masked that are left in it, as in comments: by the name before them, or by their look.

    Only lines that are shown are searched: a pattern takes longer than the rest of the work."""
    named = _PAIR.sub(lambda match: f"{match[1]}{match[2]}{_pair_value(match[1], match[3])}", line)
    return Masks().text(named)


def _pair_value(name: str, value: str) -> str:
    is_shown = not is_secret(name) or refers_only(value[1:-1]) or value[1:].startswith(_MASK)
    return value if is_shown else f'"{_mask(value)}"'


# --- JSON -------------------------------------------------------------------------------------------------------------


_SHOWN: Final = re.compile(r'\s*(?:"[\w.-]{1,80}"\s*:)?[\s{}\[\],]*')
"""The part of a line of broken JSON that is shown: its key and its brackets."""


def _masked_json(text: str) -> str:
    if (root := _parsed(text)) is None:
        return "\n".join(map(_masked_rest, text.splitlines()))
    parts: list[str] = []
    at = 0
    for start, end, value in _secrets_of(root, "", is_hidden=False):
        parts += (text[at:start], json.dumps(_mask(value), ensure_ascii=False))
        at = end
    return "".join((*parts, text[at:]))


def _masked_rest(line: str) -> str:
    match = _SHOWN.match(line)
    shown = match[0] if match is not None else ""
    return line if shown == line else shown + _mask(line)


def _secrets_of(node: JsonNode, name: str, *, is_hidden: bool) -> Iterator[tuple[int, int, str]]:
    if node.members is not None:
        for member in node.members:
            yield from _secrets_of(member.value, member.key, is_hidden=is_hidden or _hides(member))
    elif node.elements is not None:
        option = ""
        for element in node.elements:
            word = element.value if isinstance(element.value, str) else ""
            yield from _secrets_of(element, option or name, is_hidden=is_hidden)
            option = word.lstrip("-") if word.startswith("-") and "=" not in word else ""
    elif isinstance(node.value, str) and _is_shown_masked(node.value, is_hidden or _is_secret_name(name)):
        yield node.start, node.end, node.value


def _is_shown_masked(value: str, is_named_secret: bool) -> bool:
    return bool(value) and (is_named_secret or _is_secret_option(value)) and not refers_only(value)


@cache_short_texts(1024)
def _is_secret_name(name: str) -> bool:
    return is_secret(name)


def _hides(member: Member) -> bool:
    return member.key in _HIDDEN and member.value.members is not None


def _is_secret_option(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and word.startswith("-") and is_secret(name)


# --- TOML -------------------------------------------------------------------------------------------------------------

_TEXT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')
_ASSIGNED: Final = re.compile(r"((?<=[\"'])--?[\w-]+=)((?:[^\"'\\]|\\.)+)")
_OPTION: Final = re.compile(r'(["\'])(--?[\w-]+)\1\s*,\s*("(?:[^"\\]|\\.)*"|\'[^\']*\')')


def _masked_toml(text: str) -> str:
    """Line by line: in a table of variables, at a secret key, and behind a secret option every text is masked."""
    lines: list[str] = []
    is_hidden = False
    for line in text.splitlines():
        if (header := re.match(r"\s*\[+([^\]]+)\]", line)) is not None:
            is_hidden = header[1].rpartition(".")[2].strip(" \"'") in _HIDDEN
            lines.append(line)
        else:
            lines.append(_masked_line(line, is_hidden))
    return "\n".join(lines)


def _masked_line(line: str, is_hidden: bool) -> str:
    key, equals, value = line.partition("=")
    name = key.strip(" \t\"'")
    if not line.strip():
        return line
    if is_hidden and not equals and not line.lstrip().startswith("#"):
        return _mask(line)  # a part of a text of several lines
    if equals and (is_hidden or name.rpartition(".")[2] in _HIDDEN or ".env." in f".{name}" or is_secret(name)):
        return f"{key}={_TEXT.sub(_masked_match, value)}"
    line = _OPTION.sub(lambda match: _masked_option(match) if is_secret(match[2]) else match[0], line)
    return _ASSIGNED.sub(lambda match: f"{match[1]}{_mask(match[2])}" if is_secret(match[1]) else match[0], line)


def _masked_match(match: re.Match[str]) -> str:
    return match[0] if refers_only(match[0][1:-1]) else f'"{_mask(match[0])}"'


def _masked_option(match: re.Match[str]) -> str:
    return f'{match[1]}{match[2]}{match[1]}, "{_mask(match[3])}"'
