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
import tomllib
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from tooltrue.caching import cache_short_texts
from tooltrue.client.config import is_secret, refers_only
from tooltrue.host.client_files import json_edit
from tooltrue.host.client_files.json_edit import EditRefused, JsonNode
from tooltrue.jsonrpc.messages import is_array, is_object
from tooltrue.policy.audit.argument_masking import Masks

__all__ = ["diff"]

_LINE: Final = 400
_SEARCHED: Final = 4 * _LINE
"""How much of a line is searched for secrets: more than is shown, so that none is cut off before it is recognized."""
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
    shown = (line if line.startswith("@@") else line[:1] + _look_masked(line[1:_SEARCHED]) for line in lines)
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


_PAIR: Final = re.compile(
    r"(?<![\w-])([\w-]{1,80})([\"']?\s{0,20}[:=]\s{0,20})(\"(?:[^\"\\]|\\.)*(?:\"|\Z)|'[^']*(?:'|\Z))"
)


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


def _masked_rest(line: str, pattern: re.Pattern[str] = _SHOWN) -> str:
    match = pattern.match(line)
    shown = match[0] if match is not None else ""
    return line if shown == line else shown + _mask(line)


def _secrets_of(node: JsonNode, name: str, *, is_hidden: bool) -> Iterator[tuple[int, int, str]]:
    if node.members is not None:
        for member in node.members:
            hides = is_hidden or _hides(member.key, _keys_of(member.value))
            yield from _secrets_of(member.value, member.key, is_hidden=hides)
    elif node.elements is not None:
        options = _with_options([element.value for element in node.elements], name)
        for element, (option, _) in zip(node.elements, options, strict=True):
            yield from _secrets_of(element, option, is_hidden=is_hidden)
    elif isinstance(node.value, str) and _is_shown_masked(node.value, is_hidden or _is_secret_name(name)):
        yield node.start, node.end, node.value


def _with_options(elements: Sequence[Any], name: str) -> Iterator[tuple[str, Any]]:
    """Each element of an array with the name that stands before it: that of an option, or of the array."""
    option = ""
    for element in elements:
        yield option or name, element
        word = element if isinstance(element, str) else ""
        option = word.lstrip("-") if word.startswith("-") and "=" not in word else ""


def _is_shown_masked(value: str, is_named_secret: bool) -> bool:
    return bool(value) and (is_named_secret or _assigns_secret(value)) and not refers_only(value)


@cache_short_texts(1024)
def _is_secret_name(name: str) -> bool:
    return is_secret(name)


def _keys_of(node: JsonNode) -> Collection[str] | None:
    if node.members is not None:
        return [member.key for member in node.members]
    return None if node.elements is None else ()


_OF_SERVERS: Final = frozenset({"command", "url", "httpUrl", "serverUrl"})


def _hides(key: str, keys: Collection[str] | None) -> bool:
    """Whether all texts within the value of this key are masked. ``keys`` are those of an object, none those of an
    array. A server may have any name: it is not masked altogether."""
    return keys is not None and (key in _HIDDEN or (_is_secret_name(key) and _OF_SERVERS.isdisjoint(keys)))


_ASSIGNMENT: Final = re.compile(r"(?<!\S)(?:-{0,2}([A-Za-z_][\w-]{0,80})=|--?([A-Za-z][\w-]{0,80})\s+(?=[^\s-]))")


def _assigns_secret(words: str) -> bool:
    """Whether a text, an argument or a whole command line, sets a secret option or variable, as also in
    ``--env=TOKEN=x``."""
    names = [match[1] or match[2] for match in _ASSIGNMENT.finditer(words.replace("=", "= "))]
    return any(map(is_secret, names))


# --- TOML -------------------------------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(
    r'#[^\n]*|"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'", re.DOTALL
)
"""A comment or a text."""
_SHOWN_TOML: Final = re.compile(r"\s*(?:\[[\w.\[-]{0,80}\]+|[\w.-]{1,80}\s*=)?[\s{}\[\],]*")
"""The part of a line of broken TOML that is shown: its key and its brackets."""


def _masked_toml(text: str) -> str:
    """Each text whose value is a secret somewhere in the file is masked, wherever it stands."""
    try:
        document = tomllib.loads(text.removeprefix(_MARK))
    except (tomllib.TOMLDecodeError, RecursionError):
        return "\n".join(_masked_rest(line, _SHOWN_TOML) for line in text.splitlines())
    hidden = set(_secret_texts(document, "", is_hidden=False))
    return _TOKEN.sub(lambda match: _masked_token(match[0], hidden), text)


def _masked_token(token: str, hidden: Collection[str]) -> str:
    if token.startswith("#"):
        return token
    value = tomllib.loads(f"a = {token}")["a"]
    return f'"{_mask(value)}"' if value in hidden else token


def _secret_texts(value: Any, name: str, *, is_hidden: bool) -> Iterator[str]:
    if is_object(value):
        for key, inner in value.items():
            keys: Collection[str] | None = inner if is_object(inner) else () if is_array(inner) else None
            yield from _secret_texts(inner, key, is_hidden=is_hidden or _hides(key, keys))
    elif is_array(value):
        for option, element in _with_options(value, name):
            yield from _secret_texts(element, option, is_hidden=is_hidden)
    elif isinstance(value, str) and _is_shown_masked(value, is_hidden or _is_secret_name(name)):
        yield value
