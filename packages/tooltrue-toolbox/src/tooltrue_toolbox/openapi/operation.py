"""The operations of an API as this family uses them: values without references, except in schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from tooltrue_toolbox.openapi.document import Node

__all__ = [
    "EFFECT_LEVELS",
    "RESPONSES",
    "ApiEffect",
    "ApiOperation",
    "Body",
    "BodyKind",
    "BodyPart",
    "Location",
    "Parameter",
    "Response",
    "Responses",
    "Scheme",
    "Style",
    "Writing",
]

Location: TypeAlias = Literal["path", "query", "header", "cookie"]
Style: TypeAlias = Literal["simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "deepObject"]
BodyKind: TypeAlias = Literal["json", "form", "multipart", "text", "bytes"]
ApiEffect: TypeAlias = Literal["read", "write", "destructive"]
Responses: TypeAlias = Literal["strict", "log", "off"]
RESPONSES: Final[Sequence[Responses]] = ("strict", "log", "off")
EFFECT_LEVELS: Final[Sequence[ApiEffect]] = ("read", "write", "destructive")


@dataclass(frozen=True, slots=True)
class Writing:
    """How a value is written as text: the style, whether each item has a part of its own, and whether reserved
    characters of URLs stay as they are."""

    style: Style
    explode: bool
    allow_reserved: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter. ``writing`` is ``None`` if its text is JSON. ``empty``: its text may be empty, in a query."""

    name: str
    location: Location
    required: bool
    schema: Node
    writing: Writing | None
    description: str = ""
    deprecated: bool = False
    empty: bool = False


@dataclass(frozen=True, slots=True)
class BodyPart:
    """A part of a multipart body. ``content_type``: the media types that the description names for it."""

    content_type: str
    is_file: bool


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request. ``encodings``: how properties of a form are written, where the description says it.
    ``parts``: those of a multipart body that are files, or have a media type. ``is_base64``: a body of bytes is sent as
    their base64."""

    media_type: str
    kind: BodyKind
    schema: Node
    required: bool
    description: str = ""
    encodings: Mapping[str, Writing] = field(default_factory=dict[str, Writing])
    parts: Mapping[str, BodyPart] = field(default_factory=dict[str, BodyPart])
    is_base64: bool = False


@dataclass(frozen=True, slots=True)
class Response:
    """A response. ``schemas``: that of each media type, which may be empty."""

    status: str
    description: str
    schemas: Mapping[str, Node]


@dataclass(frozen=True, slots=True)
class Scheme:
    """A security scheme that a secret can fill. ``name`` is that of the header, the cookie or the query parameter. The
    secret of ``mutualTLS`` is a certificate, which is part of no request."""

    kind: Literal["apiKey", "basic", "bearer", "mutualTLS"]
    location: Literal["header", "query", "cookie"] = "header"
    name: str = "authorization"


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """An operation. ``security``: alternatives, each the names of schemes that go together; no alternative means that
    no scheme is needed. ``effect``: what the description declares beyond the method."""

    method: str
    path: str
    id: str
    summary: str
    description: str
    tags: tuple[str, ...]
    deprecated: bool
    parameters: tuple[Parameter, ...]
    body: Body | None
    responses: tuple[Response, ...]
    security: tuple[tuple[str, ...], ...]
    effect: ApiEffect = "read"

    @property
    def key(self) -> str:
        """The name of the operation in a plan and in messages, such as ``GET /pets/{id}``."""
        return f"{self.method} {self.path}"
