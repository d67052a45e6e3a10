"""Texts of issues, on their way to a model and back. Pure.

To a model: text that GitHub does not render is removed and counted, which means HTML comments, XML instructions and
declarations, and link definitions without a reference. From a model: a text may mention only a few people, and carries
a mark by which a repeated call is recognised.
"""

from __future__ import annotations

import hmac
import html
import re

from tooltrue.errors import ToolError
from tooltrue.jsonrpc.messages import Json, encode
from tooltrue_toolbox.github.wording import GITHUB_QUALIFIER_IN_QUERY, GITHUB_TOO_MANY_MENTIONS

__all__ = ["MENTIONS", "check_mentions", "mark_of", "quote_words", "with_mark", "without_hidden_text"]

MENTIONS = 10
"""People and teams that one text may mention."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
# At the beginning of a line an unclosed comment extends to the end; CommonMark, section 4.6.
_COMMENT = re.compile(
    r"<!--(?:-?>|.*?(?:-->|\Z))"
    r"|^[ ]{0,3}(?:<\?.*?(?:\?>|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<![A-Za-z].*?(?:>|\Z))"
    r"|<\?[^>]{0,500}\?>|<!\[CDATA\[.{0,500}?\]\]>|<![A-Za-z][^>]{0,500}>",
    re.DOTALL | re.MULTILINE,
)
_REFERENCE = re.compile(r"\[([^\[\]\n]{1,300})\](?!:)")
_DEFINITION = re.compile(
    r"^[ ]{0,3}\[(?!\^)([^\[\]\n]{1,300})\]:[ \t]{0,20}\n?[ \t]{0,20}(?:<[^<>\n]{0,2000}>|[^\s<]\S{0,2000})"
    r"(?:[ \t]{0,20}\n?[ \t]{0,20}(?:\"[^\"]{0,2000}\"|'[^']{0,2000}'|\([^()]{0,2000}\)))?[ \t]*$",
    re.MULTILINE,
)
_CODE = re.compile(r"(`{1,3})[^`\n]{1,1000}\1")
_MENTION = re.compile(r"(?<![\w`/@])@([A-Za-z0-9][A-Za-z0-9-]{0,38}(?:/[A-Za-z0-9._-]{1,100})?)")
_QUALIFIER = re.compile(
    r"-?(?:archived|assignee|author|author-name|author-email|base|closed|comments|commenter|content|created|draft|"
    r"enterprise|extension|filename|followers|fork|forks|good-first-issues|head|help-wanted-issues|in|interactions|"
    r"involves|is|label|language|license|linked|mentions|merged|milestone|mirror|no|org|owner|path|project|props|pushed|"
    r"reactions|reason|repo|review|review-requested|reviewed-by|sha|size|sort|stars|state|status|symbol|team|"
    r"team-review-requested|template|topic|topics|type|updated|user|user-review-requested|visibility):.*",
    re.IGNORECASE | re.DOTALL,
)


def without_hidden_text(text: str) -> tuple[str, int]:
    """``text`` without the hidden comments in it, and their number. Code stays as it is."""
    parts, hidden = list[str](), 0
    used = frozenset(label.casefold() for label in _REFERENCE.findall(text))
    for is_code, part in _blocks(text):
        if not is_code:
            part, count = _without_comments(part)
            part, unused = _without_definitions(part, used)
            hidden += count + unused
        parts.append(part)
    return "".join(parts), hidden


def _blocks(text: str) -> list[tuple[bool, str]]:
    """Alternating fenced code and other text. A fence within an unclosed comment belongs to the comment."""
    blocks: list[tuple[bool, list[str]]] = [(False, [])]
    fence, is_open = "", False
    for line in text.splitlines(keepends=True):
        begins = _FENCE.match(line)
        if begins and not fence and not is_open:
            fence = begins[1]
            blocks.append((True, [line]))
        elif fence:
            blocks[-1][1].append(line)
            if line.strip() and set(line.strip()) == {fence[0]} and len(line.strip()) >= len(fence):
                blocks.append((False, []))
                fence = ""
        else:
            blocks[-1][1].append(line)
            opening, closing = line.rfind("<!--"), line.rfind("-->")
            is_open = is_open if opening == closing else opening > closing
    return [(is_code, "".join(lines)) for is_code, lines in blocks]


def _without_comments(text: str) -> tuple[str, int]:
    code = [match.span() for match in _CODE.finditer(text)]
    hidden = 0

    def without(match: re.Match[str]) -> str:
        nonlocal hidden
        if any(start < match.start() and match.end() <= end for start, end in code):
            return match[0]
        hidden += 1
        return ""

    return _COMMENT.sub(without, text), hidden


def _without_definitions(text: str, used: frozenset[str]) -> tuple[str, int]:
    hidden = 0

    def without(match: re.Match[str]) -> str:
        nonlocal hidden
        if match[1].casefold() in used:
            return match[0]
        hidden += 1
        return ""

    return _DEFINITION.sub(without, text), hidden


def check_mentions(*texts: str) -> None:
    """``ToolError`` for more mentions than a text may have."""
    names = {name.casefold() for text in texts for name in _MENTION.findall(html.unescape(text))}
    if len(names) > MENTIONS:
        raise ToolError.of(GITHUB_TOO_MANY_MENTIONS, count=len(names), limit=MENTIONS)


def mark_of(key: str, *facts: Json) -> str:
    """The mark of a call, the same for each repetition and different for any other call. Only the holder of the key can
    compute it."""
    digest = hmac.digest(key.encode(), encode(list(facts)), "sha256").hex()[:32]
    return f"<!-- tooltrue:{digest} -->"


def with_mark(text: str, mark: str) -> str:
    return f"{text}\n\n{mark}" if text else mark


def quote_words(query: str) -> str:
    """The words of a search query, each quoted as literal text. ``ToolError`` for a qualifier."""
    words = query.split()
    for word in words:
        if _QUALIFIER.fullmatch(word.lstrip("(\"'")):
            raise ToolError.of(GITHUB_QUALIFIER_IN_QUERY, word=word[:100])
    plain = (word.replace("\\", "").replace('"', "") for word in words)
    return " ".join(word if word.isalnum() and word not in _OPERATORS else f'"{word}"' for word in plain if word)


_OPERATORS = frozenset(("AND", "OR", "NOT"))
