"""Reads and changes lines of text files, guarded by hashes: in place of mcp-text-editor 1.2.2 (MIT).

Only files in the folder that ``EDITOR_ROOT`` names, by default the working folder, are read and written.
"""

import os
import re
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from tooltrue import Server, ToolError

Line = Annotated[int, Field(ge=1, description="A line, counted from 1")]
LastLine = Annotated[int | None, Field(ge=1, description="The last line, included; null for the end of the file")]
FilePath = Annotated[str, "An absolute path in the folder of this server"]
Encoding = Annotated[str, "Encoding of the file, e.g. 'latin-1'"]
FileHash = Annotated[str, "The file_hash of the last answer about this file: a file that has changed since is refused"]
RangeHash = Annotated[str, "The range_hash of these very lines, from get_text_file_contents"]
Answer = dict[str, Any]


class Range(BaseModel):
    start: Line
    end: LastLine = None


class Wanted(BaseModel):
    file_path: FilePath
    ranges: list[Range]


class HashedRange(Range):
    range_hash: RangeHash


class Patch(HashedRange):
    contents: Annotated[str, "The lines that take their place"]


server = Server("text-editor", version="1.0")


def hash_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def place(path: str) -> Path:
    """The file of a path, if that is absolute and leads into the folder of this server."""
    root = Path(os.environ.get("EDITOR_ROOT", ".")).resolve()
    file = Path(path)
    if not file.is_absolute() or not file.resolve().is_relative_to(root):
        raise ToolError(f"{path} is no absolute path in {root}.")
    return file.resolve()


def read(path: str, encoding: str, expected: str | None = None) -> str:
    try:
        text = place(path).read_bytes().decode(encoding)
    except OSError as error:
        raise ToolError(f"{path} cannot be read: {error.strerror}. Look for the right path.") from None
    except (UnicodeError, LookupError):
        raise ToolError(f"{path} is not in {encoding}. Give its encoding.") from None
    if expected not in (None, hash_of(text)):
        raise ToolError(f"{path} has changed. Read it again with get_text_file_contents, and use the new hashes.")
    return text


def write(path: str, encoding: str, text: str) -> str:
    """Replace a file at once: a reader sees the old text or the new one. Returns its hash."""
    file = place(path)
    new = file.with_name(f".{file.name}.new")
    try:
        new.write_bytes(text.encode(encoding))
    except (OSError, UnicodeError) as error:
        raise ToolError(f"{path} cannot be written: {error}.") from None
    new.replace(file)
    return hash_of(text)


def lines_of(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def end_line(contents: str) -> str:
    return contents if contents.endswith("\n") or not contents else contents + "\n"


def replace_ranges(text: str, changes: list[tuple[HashedRange, str]]) -> str:
    """A text with ranges of its lines replaced, from the last to the first, so that the numbers stay true."""
    lines = lines_of(text)
    first_changed = len(lines) + 1
    for change, contents in sorted(changes, key=lambda one: -one[0].start):
        end = change.end or len(lines)
        if end >= first_changed or end < change.start:
            raise ToolError(f"The lines {change.start} to {end} overlap with others, or do not exist.")
        if hash_of("".join(lines[change.start - 1 : end])) != change.range_hash:
            raise ToolError(f"The range_hash of the lines {change.start} to {end} is another. Read them again.")
        lines[change.start - 1 : end] = [end_line(contents)]
        first_changed = change.start
    return "".join(lines)


@server.tool(effect="read")
def get_text_file_contents(
    files: Annotated[list[Wanted], "The files, with the lines of each"], encoding: Encoding = "utf-8"
) -> dict[str, Answer]:
    """Read ranges of lines of text files, with the hashes that a later change of these lines needs."""
    answer: dict[str, Answer] = {}
    for wanted in files:
        text = read(wanted.file_path, encoding)
        lines, ranges = lines_of(text), list[Answer]()
        for one in wanted.ranges:
            end = min(one.end or len(lines), len(lines))
            content = "".join(lines[one.start - 1 : end])
            ranges.append({"content": content, "start": one.start, "end": max(end, one.start)})
            ranges[-1] |= {"range_hash": hash_of(content), "total_lines": len(lines), "content_size": len(content)}
        answer[wanted.file_path] = {"ranges": ranges, "file_hash": hash_of(text)}
    return answer


@server.tool(effect="destructive")
def patch_text_file_contents(
    file_path: FilePath,
    file_hash: FileHash,
    patches: Annotated[list[Patch], "Ranges of lines that do not overlap"],
    encoding: Encoding = "utf-8",
) -> Answer:
    """Replace ranges of lines of one text file; all of them, or none. The user is asked first."""
    text = replace_ranges(read(file_path, encoding, file_hash), [(patch, patch.contents) for patch in patches])
    return {"result": "ok", "file_hash": write(file_path, encoding, text)}


@server.tool(effect="destructive")
def delete_text_file_contents(
    file_path: FilePath,
    file_hash: FileHash,
    ranges: Annotated[list[HashedRange], "Ranges of lines that do not overlap"],
    encoding: Encoding = "utf-8",
) -> dict[str, Answer]:
    """Delete ranges of lines of one text file; all of them, or none. The user is asked first."""
    text = replace_ranges(read(file_path, encoding, file_hash), [(one, "") for one in ranges])
    return {file_path: {"result": "ok", "hash": write(file_path, encoding, text)}}


@server.tool(effect="write")
def insert_text_file_contents(
    file_path: FilePath,
    file_hash: FileHash,
    contents: Annotated[str, "The new lines"],
    before: Line | None = None,
    after: Line | None = None,
    encoding: Encoding = "utf-8",
) -> dict[str, Answer]:
    """Insert lines before or after a line of a text file. No line is lost; to replace lines, patch them."""
    lines = lines_of(read(file_path, encoding, file_hash))
    if (before is None) == (after is None) or (at := (before - 1 if before else after or 0)) > len(lines):
        raise ToolError(f"Give 'before' or 'after', a line of the {len(lines)} that the file has, and not both.")
    lines.insert(at, end_line(contents))
    return {file_path: {"result": "ok", "hash": write(file_path, encoding, "".join(lines))}}


@server.tool(effect="write")
def append_text_file_contents(
    file_path: FilePath, contents: Annotated[str, "The text"], file_hash: FileHash, encoding: Encoding = "utf-8"
) -> Answer:
    """Append a text at the end of a text file, without a line break before it."""
    text = read(file_path, encoding, file_hash) + end_line(contents)
    return {"result": "ok", "file_hash": write(file_path, encoding, text)}


@server.tool(effect="write")
def create_text_file(file_path: FilePath, contents: Annotated[str, "The text"], encoding: Encoding = "utf-8") -> Answer:
    """Create a text file. A file that exists is not replaced."""
    if place(file_path).exists():
        raise ToolError(f"{file_path} exists. Change it with patch_text_file_contents, or take another name.")
    return {"result": "ok", "file_hash": write(file_path, encoding, contents)}


if __name__ == "__main__":
    server.run()
