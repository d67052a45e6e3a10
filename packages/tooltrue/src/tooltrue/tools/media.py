"""``Image``, ``Audio`` and ``File``: content that a tool returns from a path, from bytes, or from an object.

A path is the author's own: it is opened as it is. One that a model or a user has chosen needs ``root=``: then no part
of it leaves that folder, and no symbolic link is followed. Files are read when the result is sent, on a thread.
"""

from __future__ import annotations

import contextlib
import io
import mimetypes
import os
import stat
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import quote

from tooltrue._internal.platform.confined_open import open_beneath, parts_beneath
from tooltrue._internal.platform.nonblocking_open import open_without_waiting
from tooltrue.errors import InvalidResult
from tooltrue.protocol.media_types import OTHER_NAMES, type_of_bytes
from tooltrue.protocol.types import (
    Annotations,
    AudioContent,
    BlobResource,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextResource,
)
from tooltrue.tools.foreign_types import kind_of
from tooltrue.tools.wording import (
    CONTENT_FILE_TOO_LARGE,
    LABEL_MEDIA_NEITHER_FILE,
    LABEL_MEDIA_OUTSIDE_ROOT,
    MEDIA_FILE_UNREADABLE,
    MEDIA_NOT_SAVED,
    MEDIA_OF_ANOTHER_TYPE,
    MEDIA_SOURCE_INVALID,
    MEDIA_TYPE_UNKNOWN,
    PICTURE_TOO_LARGE,
)
from tooltrue.wording import Worded

if TYPE_CHECKING:
    from tooltrue.tools.vocabulary import RequestContext

__all__ = ["Audio", "File", "Image", "MediaContent", "block_of_object"]

MAX_FILE_BYTES: Final = 33_554_432
"""The most bytes of a file that are read, unless ``max_bytes`` says otherwise."""

MAX_PIXELS: Final = 89_478_485
"""The most pixels of a picture or figure that is saved: 256 MiB as RGB, from which on Pillow warns of a bomb."""

EMBEDDED_BYTES: Final = 131_072
"""A larger file is sent by reference, for the client to read in parts."""

_TYPES: Final[Mapping[str, str]] = {
    ".avif": "image/avif",
    ".csv": "text/csv",
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
    ".md": "text/markdown",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".parquet": "application/vnd.apache.parquet",
    ".plain": "text/plain",
    ".text": "text/plain",
    ".toml": "application/toml",
    ".wav": "audio/wav",
    ".webp": "image/webp",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
_TEXT: Final = (
    "application/json",
    "application/toml",
    "application/x-sh",
    "application/xml",
    "application/yaml",
    "image/svg+xml",
)


class MediaContent:
    """Content with one source: a path, bytes, or an object that can be drawn."""

    _KIND: ClassVar[str]

    def __init__(
        self,
        path: str | os.PathLike[str] | bytes | Any = None,
        data: bytes | str | None = None,
        format: str | None = None,
        annotations: Annotations | Mapping[str, Any] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        root: str | os.PathLike[str] | None = None,
        max_bytes: int = MAX_FILE_BYTES,
    ) -> None:
        if (path is None) == (data is None):
            raise InvalidResult.of(MEDIA_SOURCE_INVALID, kind=type(self).__name__)
        self._path: str | None = os.fspath(path) if isinstance(path, str | os.PathLike) else None  # pyright: ignore[reportUnknownArgumentType]
        self._data: Any = data if self._path is None and data is not None else path
        self._format = format
        self._annotations = annotations if isinstance(annotations, Annotations | None) else Annotations(**annotations)
        self._meta = dict(meta) if meta is not None else None
        self._root = root
        self._max_bytes = max_bytes
        self._check()

    def _check(self) -> None:
        if self._path is None and not isinstance(self._data, bytes | bytearray | memoryview):
            raise InvalidResult.of(MEDIA_SOURCE_INVALID, kind=type(self).__name__)
        if self._path is None and self._root is not None:
            raise InvalidResult.of(MEDIA_SOURCE_INVALID, kind=type(self).__name__)

    def block(self, context: RequestContext | None) -> ContentBlock:
        """Return the content block; a large file is stored by ``context``, if there is one, and linked."""
        raise NotImplementedError

    @property
    def _file_name(self) -> str:
        return "" if self._path is None else Path(self._path).name

    def _bytes(self) -> bytes:
        if self._path is None:
            return bytes(self._data)
        try:
            return self._read(self._path)
        except OSError as error:
            raise self._unreadable(error.strerror or type(error).__name__) from None
        except ValueError:  # a NUL in the path
            raise self._unreadable(Worded(LABEL_MEDIA_NEITHER_FILE, {})) from None

    def _read(self, path: str) -> bytes:
        with self._opened(path) as file:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise self._unreadable(Worded(LABEL_MEDIA_NEITHER_FILE, {}))
            with open(file, "rb", closefd=False) as reader:
                data = reader.read(self._max_bytes + 1)
        if len(data) > self._max_bytes:
            raise InvalidResult.of(
                CONTENT_FILE_TOO_LARGE,
                kind=type(self).__name__,
                name=self._file_name,
                size=max(status.st_size, len(data)),
                limit=self._max_bytes,
            )
        return data

    def _unreadable(self, problem: str | Worded) -> InvalidResult:
        return InvalidResult.of(MEDIA_FILE_UNREADABLE, kind=type(self).__name__, path=self._path, problem=problem)

    @contextlib.contextmanager
    def _opened(self, path: str) -> Generator[int]:
        file = open_without_waiting(path) if self._root is None else self._open_below(os.fspath(self._root), path)
        try:
            yield file
        finally:
            os.close(file)

    def _open_below(self, root: str, path: str) -> int:
        """Open a path of ``root`` part by part: no part is a symbolic link or leads upward."""
        parts = parts_beneath(path)
        if parts is None:
            raise self._unreadable(Worded(LABEL_MEDIA_OUTSIDE_ROOT, {}))
        return open_beneath(root, parts)

    def _declared_type(self) -> str | None:
        """Return the type that the format, or else the suffix of the path, stands for."""
        if self._format is not None:
            return _type_of_format(self._format)
        return _type_of_suffix(Path(self._path).suffix) if self._path is not None else None

    def _of_kind(self, data: bytes) -> str:
        """Return the type of a picture or a sound: by its beginning, which is certain, or else as declared."""
        declared, actual = self._declared_type(), type_of_bytes(data)
        declared = OTHER_NAMES.get(declared or "", declared)
        found = actual or declared
        name = type(self).__name__
        if found is None:
            raise InvalidResult.of(MEDIA_TYPE_UNKNOWN, kind=name)
        if not found.startswith(self._KIND) or declared == _SVG:
            raise InvalidResult.of(MEDIA_OF_ANOTHER_TYPE, kind=name, actual=_SVG if declared == _SVG else found)
        return found


_SVG = "image/svg+xml"


def _type_of_format(format: str) -> str:
    return format if "/" in format else _type_of_suffix("." + format) or f"application/{format.lower()}"


_KNOWN = mimetypes.MimeTypes()
"""Without the files of the machine: a type is the same everywhere."""


def _type_of_suffix(suffix: str) -> str | None:
    suffix = suffix.lower()
    return _TYPES.get(suffix) or _KNOWN.types_map[True].get(suffix) or _KNOWN.types_map[False].get(suffix)


class Image(MediaContent):
    """A picture: ``Image("chart.png")``, ``Image(data=png)``, or of an object of Pillow or matplotlib.

    The type is that of the bytes themselves; ``format`` or the suffix counts where these are not known. An object is
    saved as ``format``, PNG without one. A path is read when the result is sent; up to ``max_bytes`` of it. For a path
    that a model has chosen, name its folder: ``root``.
    """

    _KIND = "image/"

    def _check(self) -> None:
        if self._path is not None or kind_of(self._data) not in ("picture", "figure"):
            super()._check()

    def to_image_content(self) -> ImageContent:
        """Return the content block."""
        data = self._bytes()
        return ImageContent.of(data, self._of_kind(data), annotations=self._annotations, meta=self._meta)

    def block(self, context: RequestContext | None) -> ContentBlock:
        return self.to_image_content()

    def _bytes(self) -> bytes:
        kind = None if self._path is not None else kind_of(self._data)
        if kind not in ("picture", "figure"):
            return super()._bytes()
        format = (self._format or "png").rpartition("/")[2].lower()
        name = f"{type(self._data).__module__}.{type(self._data).__qualname__}"
        width, height = self._data.size if kind == "picture" else _size_of_figure(self._data)
        if width * height > MAX_PIXELS:
            raise InvalidResult.of(PICTURE_TOO_LARGE, type=name, width=width, height=height, limit=MAX_PIXELS)
        try:
            return _saved_picture(self._data, format) if kind == "picture" else _saved_figure(self._data, format)
        except Exception as error:  # noqa: BLE001 - the error is of another library, whose classes are not imported
            raise InvalidResult.of(MEDIA_NOT_SAVED, type=name, format=format, problem=error) from None


def _saved_picture(picture: Any, format: str) -> bytes:
    if format in ("jpg", "jpeg"):
        format, modes, other = "jpeg", ("L", "RGB", "CMYK"), "RGB"
    else:
        modes = ("1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA")
        other = "RGBA" if picture.mode in ("La", "RGBa", "PA") else "RGB"
    buffer = io.BytesIO()
    (picture if picture.mode in modes else picture.convert(other)).save(buffer, format=format.upper())
    return buffer.getvalue()


def _size_of_figure(figure: Any) -> tuple[int, int]:
    """The pixels that it will have; an image that is larger than the memory is not drawn first."""
    width, height = (figure.get_size_inches() * figure.dpi).tolist()
    return round(width), round(height)


def _saved_figure(figure: Any, format: str) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=format)
    return buffer.getvalue()


class Audio(MediaContent):
    """A sound: ``Audio("speech.wav")`` or ``Audio(data=wav, format="wav")``. See :class:`Image`."""

    _KIND = "audio/"

    def to_audio_content(self) -> AudioContent:
        """Return the content block."""
        data = self._bytes()
        return AudioContent.of(data, self._of_kind(data), annotations=self._annotations, meta=self._meta)

    def block(self, context: RequestContext | None) -> ContentBlock:
        return self.to_audio_content()


class File(MediaContent):
    """A file: ``File("report.pdf")``, ``File(data="a,b", name="table.csv")``.

    It is embedded: as text if its type is one of text and its bytes are UTF-8, otherwise as base64. A file above
    128 KiB is stored for the caller, who gets a link, and reads it in parts. ``format`` is a suffix or a MIME type.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | bytes | None = None,
        data: bytes | str | None = None,
        format: str | None = None,
        name: str | None = None,
        annotations: Annotations | Mapping[str, Any] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        root: str | os.PathLike[str] | None = None,
        max_bytes: int = MAX_FILE_BYTES,
    ) -> None:
        self._name = name
        super().__init__(path, data, format, annotations, meta=meta, root=root, max_bytes=max_bytes)

    def _check(self) -> None:
        if self._path is not None or self._root is not None or not isinstance(self._data, str):
            super()._check()

    def to_resource_content(self) -> EmbeddedResource:
        """Return the content block, whatever its size."""
        return self._embedded(self._content())

    def block(self, context: RequestContext | None) -> EmbeddedResource | ResourceLink:
        content = self._content()
        size = len(content.encode(errors="replace") if isinstance(content, str) else content)
        if context is None or size <= EMBEDDED_BYTES:
            return self._embedded(content)
        return context.keep(content, self._shown_name, mime_type=self._type)

    def _content(self) -> str | bytes:
        if self._path is None and isinstance(self._data, str):
            return self._data
        data = self._bytes()
        if self._type.startswith("text/") or self._type in _TEXT or self._type.endswith(("+json", "+xml")):
            with contextlib.suppress(UnicodeDecodeError):
                return data.decode()
        return data

    def _embedded(self, content: str | bytes) -> EmbeddedResource:
        uri = "attachment:" + quote(self._shown_name, safe="")
        if isinstance(content, str):
            resource = TextResource(uri=uri, text=content, mimeType=self._type)
        else:
            resource = BlobResource.of(uri, content, self._type)
        return EmbeddedResource(resource=resource, annotations=self._annotations, meta=self._meta)

    @property
    def _type(self) -> str:
        default = "text/plain" if isinstance(self._data, str) and self._path is None else "application/octet-stream"
        return self._declared_type() or _type_of_suffix(Path(self._name or "").suffix) or default

    @property
    def _shown_name(self) -> str:
        return self._name or self._file_name or "file"


def block_of_object(value: Any, context: RequestContext | None) -> ContentBlock:
    """Return the block of a helper, or of a picture or figure itself."""
    return (value if isinstance(value, MediaContent) else Image(value)).block(context)
