"""Exact replacements in a text, all of them against the original text, and the diff that they make.

Text outside the edits keeps its bytes: line endings, a byte order mark, the encoding, bytes that are not text.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import accumulate, pairwise

from tooltrue.errors import ToolError
from tooltrue.wording import Worded
from tooltrue_toolbox.encodings import HEAD
from tooltrue_toolbox.files.text_codec import UTF_8, TextCodec, text_codec_of
from tooltrue_toolbox.files.values import Edit
from tooltrue_toolbox.files.wording import (
    EDIT_COUNT_MISMATCH,
    EDIT_MATCHES_OVERLAP,
    EDIT_NOT_ENCODABLE,
    EDIT_OF_BINARY_FILE,
    EDIT_ONLY_ASCII_POSSIBLE,
    EDIT_SPLITS_CHARACTER,
    EDIT_TEXT_NOT_FOUND,
    EDIT_TEXT_SIMILAR_ONLY,
    EDIT_WITHOUT_EFFECT,
    EDITS_OVERLAP,
)
from tooltrue_toolbox.wording import LABEL_LINE_IS, LABEL_LINE_IS_TOO

__all__ = ["FileText", "TextChange", "apply_changes", "changes_of", "unified_diff"]

_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CONTEXT = 3
_NO_NEWLINE = "\\ No newline at end of file"
_MOST_LINES_NAMED = 5
_MOST_COMPARED = 2_000
_LONGEST_COMPARED = 300


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, and how it becomes bytes again: ``encode`` is the exact inverse of ``of``."""

    content: str
    codec: TextCodec
    mark: bytes = b""

    @classmethod
    def of(cls, data: bytes, display_path: str) -> FileText:
        """Decode ``data`` in its detected encoding, or as ASCII text with opaque other bytes. ``ToolError`` for other
        data."""
        codec = text_codec_of(data[:HEAD]) or UTF_8
        text = cls._exact(data, codec)
        if text is None and not data.startswith(_MARKS):
            # Bytes that are not UTF-8 come through as lone surrogates, and are written back unchanged.
            text = cls(data.decode("utf-8", "surrogateescape"), UTF_8)
        if text is None or "\0" in text.content:  # binary, or UTF-32, whose mark begins like that of UTF-16
            raise ToolError.of(EDIT_OF_BINARY_FILE, path=display_path)
        return text

    @classmethod
    def _exact(cls, data: bytes, codec: TextCodec) -> FileText | None:
        """The text in ``codec``; ``None`` where the bytes do not decode, or do not round-trip exactly."""
        mark = data[:2] if codec.is_wide and data.startswith(_MARKS) else b""
        try:
            content = data.removeprefix(mark).decode(codec.name)
            text = cls(content, codec, mark)
            return text if text.encode(content) == data else None
        except UnicodeError:
            return None

    def encode(self, content: str) -> bytes:
        errors = "surrogateescape" if self.codec.name == "utf-8" else "strict"
        return self.mark + content.encode(self.codec.name, errors)

    def first_unencodable(self, content: str) -> str | None:
        """The first character of ``content`` that the encoding cannot represent; ``None`` if it can represent all."""
        try:
            content.encode(self.codec.name)
        except UnicodeEncodeError as error:
            return content[error.start]
        return None

    @property
    def is_certain(self) -> bool:
        """Whether all bytes are characters, so that any character of the encoding can be added."""
        return not re.search("[\udc80-\udcff]", self.content)

    def may_divide(self, at: int) -> bool:
        """Whether the text before and after ``at`` may be halves of one character. That is so beside a byte that is no
        character by itself, and where a guessed encoding takes each byte for one character."""
        if not 0 < at < len(self.content):
            return False
        before, behind = self.content[at - 1], self.content[at]
        if _is_no_character(before):
            return True
        # The second byte of a character is at least a digit in the encodings in which it may be ASCII.
        return self.codec.is_single and not before.isascii() and behind >= "0"


@dataclass(frozen=True, slots=True)
class TextChange:
    """``new`` in place of the text between ``start`` and ``end``."""

    start: int
    end: int
    new: str


def changes_of(text: FileText, edits: Sequence[Edit], display_path: str) -> list[TextChange]:
    """The changes that ``edits`` make, in the order of the text. ``ToolError`` when one of them does not fit."""
    changes = [change for number, edit in enumerate(edits, 1) for change in _of(text, edit, number, display_path)]
    changes.sort(key=lambda change: change.start)
    for one, other in pairwise(changes):
        if other.start < one.end:
            raise ToolError.of(EDITS_OVERLAP, path=display_path, line=_line(text.content, other.start))
    return changes


def _of(text: FileText, edit: Edit, number: int, display_path: str) -> list[TextChange]:
    if edit.old_text == edit.new_text:
        raise ToolError.of(EDIT_WITHOUT_EFFECT, number=number)
    if not edit.new_text.isascii() and not text.is_certain:
        raise ToolError.of(EDIT_ONLY_ASCII_POSSIBLE, path=display_path, number=number)
    if (character := text.first_unencodable(edit.new_text)) is not None:
        raise ToolError.of(
            EDIT_NOT_ENCODABLE, path=display_path, number=number, character=character, encoding=text.codec.encoding
        )
    expression = _expression(text.content, edit.old_text)
    places = [match.span() for match in expression.finditer(text.content)]
    for start, end in places:
        if (again := expression.search(text.content, start + 1)) and again.start() < end:
            raise ToolError.of(EDIT_MATCHES_OVERLAP, path=display_path, number=number, line=_line(text.content, start))
        if text.may_divide(start) or text.may_divide(end):
            raise ToolError.of(EDIT_SPLITS_CHARACTER, path=display_path, number=number, line=_line(text.content, start))
    if len(places) == edit.count:
        return [TextChange(start, end, _new(text.content, edit, start, end)) for start, end in places]
    if not places:
        raise _nowhere(text.content, edit.old_text, number, display_path)
    lines = ", ".join(str(_line(text.content, start)) for start, _ in places[:_MOST_LINES_NAMED])
    more = ", …" if len(places) > _MOST_LINES_NAMED else ""
    raise ToolError.of(
        EDIT_COUNT_MISMATCH,
        path=display_path,
        number=number,
        found=len(places),
        lines=lines + more,
        expected=edit.count,
    )


def _expression(content: str, old_text: str) -> re.Pattern[str]:
    """A pattern for ``old_text``. In a file with CRLF line endings, a plain line feed in it matches either ending."""
    if "\n" in old_text and "\r" not in old_text and "\r\n" in content:
        return re.compile("(?:\r\n|(?<!\r)\n)".join(map(re.escape, old_text.split("\n"))))
    return re.compile(re.escape(old_text))


def _is_no_character(char: str) -> bool:
    """Whether ``char`` stands for a byte that is not UTF-8, of which the next one may be the other half."""
    return "\udc80" <= char <= "\udcff"


def _new(content: str, edit: Edit, start: int, end: int) -> str:
    """The replacement text, with the line endings of the file unless the edit contains carriage returns."""
    if "\r" in edit.new_text or "\r" in edit.old_text:
        return edit.new_text
    first = re.search(r"\r?\n", content[start:end]) or re.search(r"\r?\n", content)
    return edit.new_text.replace("\n", first[0]) if first else edit.new_text


def _line(content: str, at: int) -> int:
    return content.count("\n", 0, at) + 1


def _nowhere(content: str, old_text: str, number: int, display_path: str) -> ToolError:
    """The error for a text that was not found, with the most similar lines: models get spaces and tabs wrong most."""
    first = next((line.strip() for line in old_text.split("\n") if line.strip()), "")
    lines: dict[str, tuple[int, str]] = {}
    for at, line in enumerate(content.split("\n"), 1):
        if line.strip() and len(line) <= _LONGEST_COMPARED:
            lines.setdefault(line.strip(), (at, line.rstrip("\r")))
    near = [first] if first in lines else get_close_matches(first[:_LONGEST_COMPARED], list(lines)[:_MOST_COMPARED])
    if not near:
        return ToolError.of(EDIT_TEXT_NOT_FOUND, path=display_path, number=number)
    alike = Worded(LABEL_LINE_IS, {"line": lines[near[0]][0], "text": lines[near[0]][1]})
    for each in near[1:]:
        alike = Worded(LABEL_LINE_IS_TOO, {"first": alike, "line": lines[each][0], "text": lines[each][1]})
    return ToolError.of(EDIT_TEXT_SIMILAR_ONLY, path=display_path, number=number, alike=alike)


def apply_changes(content: str, changes: Sequence[TextChange]) -> str:
    """``content`` with the changes made."""
    parts: list[str] = []
    at = 0
    for change in changes:
        parts += (content[at : change.start], change.new)
        at = change.end
    return "".join((*parts, content[at:]))


# The diff. It is built from the changes, whose places are known: no comparison is needed, so it takes linear time.


@dataclass(slots=True)
class _DiffBlock:
    """The lines from ``begin`` up to ``end`` (exclusive) become ``new``."""

    begin: int
    end: int
    new: list[str]


def unified_diff(content: str, changes: Sequence[TextChange], display_path: str) -> list[str]:
    """The lines of a unified diff, each with the line ending that it has in the file."""
    lines = _lines(content)
    blocks = [trimmed for block in _blocks(content, lines, changes) if (trimmed := _trimmed(block, lines))]
    made = [f"--- {display_path}\n", f"+++ {display_path}\n"]
    shift = 0
    for hunk in _hunks(blocks):
        begin, end = max(0, hunk[0].begin - _CONTEXT), min(len(lines), hunk[-1].end + _CONTEXT)
        growth = sum(len(block.new) - (block.end - block.begin) for block in hunk)
        made.append(f"@@ -{_range(begin, end - begin)} +{_range(begin + shift, end - begin + growth)} @@\n")
        shift += growth
        at = begin
        for block in hunk:
            made += _with_mark(" ", lines[at : block.begin])
            made += _with_mark("-", lines[block.begin : block.end])
            made += _with_mark("+", block.new)
            at = block.end
        made += _with_mark(" ", lines[at:end])
    return made


def _lines(text: str) -> list[str]:
    """The lines of ``text`` with their endings. Only line feeds end a line, as for ``diff``."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _blocks(content: str, lines: list[str], changes: Sequence[TextChange]) -> list[_DiffBlock]:
    """The changes as whole lines; those that share a line become one block."""
    starts = [0, *accumulate(map(len, lines))]
    blocks: list[_DiffBlock] = []
    texts: list[list[TextChange]] = []
    for change in changes:
        begin = min(bisect_right(starts, change.start) - 1, len(lines))
        end = min(max(bisect_right(starts, change.end), begin), len(lines))
        if blocks and begin < blocks[-1].end:
            blocks[-1].end = max(end, blocks[-1].end)
            texts[-1].append(change)
        else:
            blocks.append(_DiffBlock(begin, end, []))
            texts.append([change])
    for block, inner in zip(blocks, texts, strict=True):
        offset = starts[block.begin]
        moved = [TextChange(each.start - offset, each.end - offset, each.new) for each in inner]
        block.new = _lines(apply_changes(content[offset : starts[block.end]], moved))
    return blocks


def _trimmed(block: _DiffBlock, lines: list[str]) -> _DiffBlock | None:
    """``block`` without the unchanged lines at either end; ``None`` if no line is left."""
    old, new = lines[block.begin : block.end], block.new
    head = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    old, new = old[head:], new[head:]
    pairs = zip(reversed(old), reversed(new), strict=False)
    tail = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))
    begin, end = block.begin + head, block.end - tail
    new = new[: len(new) - tail]
    return _DiffBlock(begin, end, new) if new or begin < end else None


def _hunks(blocks: list[_DiffBlock]) -> list[list[_DiffBlock]]:
    hunks: list[list[_DiffBlock]] = []
    for block in blocks:
        if hunks and block.begin - hunks[-1][-1].end <= 2 * _CONTEXT:
            hunks[-1].append(block)
        else:
            hunks.append([block])
    return hunks


def _range(begin: int, count: int) -> str:
    return f"{begin + (count > 0)}" if count == 1 else f"{begin + (count > 0)},{count}"


def _with_mark(mark: str, lines: Sequence[str]) -> list[str]:
    return [mark + (line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}\n") for line in lines]
