"""Files in requests, by reference: a stored result of the caller, or a path under a folder that the operator named.

No argument holds the content of a file, and no reference is a URL: any other text is refused.
"""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tooltrue.errors import ToolError
from tooltrue.policy.sanitize.outgoing_secrets import kinds_sent
from tooltrue.policy.sanitize.secrets import mask_in
from tooltrue.tools.stored_results import SCHEME
from tooltrue.tools.vocabulary import RequestContext
from tooltrue_toolbox.files.file_reader import read_at
from tooltrue_toolbox.openapi.wording import (
    FILE_HOLDS_SECRET,
    FILE_REFERENCE_REFUSED,
    FILE_STORED_UNKNOWN,
    FILES_TOO_LARGE,
)
from tooltrue_toolbox.platform import handles
from tooltrue_toolbox.rooted_paths import Folders, PathRules, is_directory, path_errors

__all__ = ["BYTES", "FileReferences", "SentFile"]

BYTES: Final = "application/octet-stream"
_MAX_BYTES: Final = 32 << 20


@dataclass(frozen=True, slots=True)
class SentFile:
    """The content of a file, with the last part of its path or the name of the stored result."""

    name: str
    media_type: str
    data: bytes


class FileReferences:
    """Reads the files that arguments refer to. ``roots`` are the folders of the operator; without one, no path is
    opened. ``max_bytes`` is the limit of all files of one call."""

    def __init__(
        self, roots: Iterable[Path] = (), rules: PathRules | None = None, *, max_bytes: int = _MAX_BYTES
    ) -> None:
        paths = [*roots]
        self._folders = Folders(paths, rules) if paths else None
        self._max_bytes = max_bytes

    async def files(self, references: Iterable[str], context: RequestContext) -> Mapping[str, SentFile]:
        """The files by their references. ``ToolError`` for a reference that leads to none, for files that are too large
        together, and for a text that holds a secret."""
        files, room = dict[str, SentFile](), self._max_bytes
        for reference in dict.fromkeys(references):
            file = await self._file(reference, room, context)
            if len(file.data) > room:
                raise ToolError.of(FILES_TOO_LARGE, limit=self._max_bytes)
            room -= len(file.data)
            await asyncio.to_thread(_check_secrets, reference, file.data)
            files[reference] = file
        return files

    async def _file(self, reference: str, room: int, context: RequestContext) -> SentFile:
        if reference.startswith(SCHEME):
            stored = await context.read_stored(reference)
            if stored is None:
                raise ToolError.of(FILE_STORED_UNKNOWN, reference=reference[:100])
            return SentFile(stored.name, stored.mime_type, stored.data)
        if self._folders is None or reference.partition("/")[0].endswith(":"):
            raise ToolError.of(FILE_REFERENCE_REFUSED, reference=reference[:100])
        return await asyncio.to_thread(self._opened, self._folders, reference, room)

    def _opened(self, folders: Folders, path: str, room: int) -> SentFile:
        target = folders.target(path)
        if target is None:
            raise is_directory(target, folders.labels)
        with (
            path_errors(target.display_path, target),
            target.folder.find(target.names, target.display_path, "read") as spot,
            spot.file() as fd,
        ):
            size = handles.file_status(fd).st_size
            if size > room:
                raise ToolError.of(FILES_TOO_LARGE, limit=self._max_bytes)
            data = read_at(fd, size, 0)
        return SentFile(target.names[-1], mimetypes.guess_type(target.names[-1])[0] or BYTES, data)


def _check_secrets(reference: str, data: bytes) -> None:
    """Hold the text of a file to the same as the arguments of a tool that sends them."""
    if b"\0" in data[:10_000]:
        return
    text = data.decode("utf-8", "replace")
    if kinds := kinds_sent({"file": text}):
        raise ToolError.of(FILE_HOLDS_SECRET, reference=reference[:100], kinds=", ".join(kinds))
    if (mask := mask_in(text)) is not None:
        raise ToolError.of(FILE_HOLDS_SECRET, reference=reference[:100], kinds=mask)
