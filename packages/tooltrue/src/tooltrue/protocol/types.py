"""Wire types in their newest shape (schema 2026-07-28).

The rest of the package knows only this shape; ``protocol/modern.py`` and ``protocol/legacy.py`` translate it for the
revisions. Names are the schema's own, camelCase included.
"""

from __future__ import annotations

import base64
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeGuard, final

import msgspec
from msgspec import UNSET, UnsetType, field

from tooltrue.jsonrpc.messages import EncodedJson

__all__ = [
    "UNSET",
    "Annotations",
    "AudioContent",
    "BlobResource",
    "CallToolResult",
    "Completion",
    "ContentBlock",
    "EmbeddedResource",
    "Icon",
    "ImageContent",
    "Implementation",
    "InputRequiredResult",
    "Mutable",
    "Part",
    "Prompt",
    "PromptArgument",
    "PromptMessage",
    "PromptOutcome",
    "PromptResult",
    "ReadOutcome",
    "ReadResourceResult",
    "ResourceDefinition",
    "ResourceLink",
    "ResourceTemplate",
    "TextContent",
    "TextResource",
    "ToolAnnotations",
    "ToolDefinition",
    "ToolOutcome",
    "UnsetType",
    "Value",
    "field",
    "is_part",
    "members_of",
    "replaced",
    "set_member",
]


class Value(msgspec.Struct, frozen=True):
    """An immutable value. Defining the class and creating instances are several times faster than with a frozen
    dataclass; every process pays for the first at start, every call for the second."""


class Mutable(msgspec.Struct, gc=False):
    """A mutable value, excluded from garbage collection. It must not refer to itself, directly or through others."""


replaced = msgspec.structs.replace
"""``replaced(value, field=…)``: a copy of the value with these fields replaced."""

set_member = msgspec.structs.force_setattr
"""``set_member(value, name, member)``: change a field of an immutable value in place, for one that has an identity."""

members_of = msgspec.structs.astuple
"""``members_of(value)``: the values of its fields, in their order."""

Part: TypeAlias = msgspec.Struct
"""Any struct of this module; ``__struct_fields__`` names its fields."""


def is_part(value: object) -> TypeGuard[Part]:
    return isinstance(value, msgspec.Struct)


class Icon(msgspec.Struct, frozen=True, omit_defaults=True):
    src: str
    mimeType: str | None = None
    sizes: list[str] | None = None
    theme: Literal["light", "dark"] | None = None


class Implementation(msgspec.Struct, frozen=True, omit_defaults=True):
    """The self-declared identity of a client or server; for display and logs only."""

    name: str
    version: str
    title: str | None = None
    description: str | None = None
    websiteUrl: str | None = None
    icons: list[Icon] | None = None


class ToolAnnotations(msgspec.Struct, frozen=True, omit_defaults=True):
    """Hints. Absent ones default to the worst case: mutating, destructive, not idempotent, open world."""

    title: str | None = None
    readOnlyHint: bool | None = None
    destructiveHint: bool | None = None
    idempotentHint: bool | None = None
    openWorldHint: bool | None = None


class ToolDefinition(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool's definition as clients see it."""

    name: str
    inputSchema: dict[str, Any]
    title: str | None = None
    description: str | None = None
    outputSchema: dict[str, Any] | None = None
    annotations: ToolAnnotations | None = None
    icons: list[Icon] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


class Annotations(msgspec.Struct, frozen=True, omit_defaults=True):
    """Hints of a content block or resource for clients: for whom it is, its ``priority`` from 0 to 1, and when it was
    last modified (ISO 8601)."""

    audience: list[Literal["user", "assistant"]] | None = None
    priority: float | None = None
    lastModified: str | None = None


class _ContentBlock(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag_field="type"):
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")

    @property
    def type(self) -> str:
        """The type tag of the block on the wire: ``text``, ``image``, …"""
        return str(self.__struct_config__.tag)


class TextContent(_ContentBlock, frozen=True, omit_defaults=True, tag="text"):
    """A block of text."""

    text: str


class _Binary(_ContentBlock, frozen=True, omit_defaults=True):
    data: str
    mimeType: str

    @classmethod
    def of(
        cls, data: bytes, mime_type: str, *, annotations: Annotations | None = None, meta: dict[str, Any] | None = None
    ) -> Self:
        """Create the block from raw bytes, which are not encoded yet."""
        return cls(data=_base64(data), mimeType=mime_type, annotations=annotations, meta=meta)


class ImageContent(_Binary, frozen=True, omit_defaults=True, tag="image"):
    """A picture. ``data`` is base64; :meth:`of` makes it from bytes."""


class AudioContent(_Binary, frozen=True, omit_defaults=True, tag="audio"):
    """A sound. ``data`` is base64; :meth:`of` makes it from bytes."""


class ResourceLink(_ContentBlock, frozen=True, omit_defaults=True, tag="resource_link"):
    """A link to a resource, which the client may read. ``size`` is in bytes."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mimeType: str | None = None
    size: int | None = None
    icons: list[Icon] | None = None


class TextResource(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The contents of a resource, as text."""

    uri: str
    text: str
    mimeType: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class BlobResource(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The contents of a resource, as bytes. ``blob`` is base64; :meth:`of` makes it from bytes."""

    uri: str
    blob: str
    mimeType: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")

    @classmethod
    def of(cls, uri: str, data: bytes, mime_type: str | None = None, *, meta: dict[str, Any] | None = None) -> Self:
        """Create the resource from raw bytes, which are not encoded yet."""
        return cls(uri, _base64(data), mime_type, meta)


class EmbeddedResource(_ContentBlock, frozen=True, omit_defaults=True, tag="resource"):
    """The contents of a resource within a result: a :class:`TextResource` or a :class:`BlobResource`."""

    resource: Any  # TextResource | BlobResource: msgspec cannot tell two untagged structs apart


ContentBlock: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


@final
class CallToolResult(msgspec.Struct, frozen=True):
    """A finished call. ``structuredContent`` may be any JSON value; ``UNSET`` is absent, ``None`` is null. It may be
    given as ``EncodedJson``, which is decoded when the member is first read.

    ``encoded`` is not sent: it caches the encoding of ``structuredContent``, where that is known already.
    """

    content: list[Any]
    structuredContent: Any = UNSET
    isError: bool = False
    meta: dict[str, Any] | None = None
    encoded: bytes | None = None

    undecoded: ClassVar[Any]
    """``structuredContent`` as it was given, for those that need no Python value of it."""


def _decoded(result: CallToolResult) -> Any:
    value = result.undecoded
    if type(value) is EncodedJson:
        value = msgspec.json.decode(value)
        CallToolResult.undecoded.__set__(result, value)
    return value


# msgspec reads and writes the member itself, and knows nothing of the property.
CallToolResult.undecoded = CallToolResult.structuredContent
CallToolResult.structuredContent = property(_decoded)


@final
class InputRequiredResult(msgspec.Struct, frozen=True):
    """A call that first needs input from the client; at least one of the first two members is set.

    ``memory`` is not sent: it is the state for the next round, which the handler seals into ``requestState``.
    """

    inputRequests: dict[str, Any] | None = None
    requestState: str | None = None
    meta: dict[str, Any] | None = None
    memory: object = None


@final
class TaskCreated(msgspec.Struct, frozen=True):
    """A call that goes on as a task (io.modelcontextprotocol/tasks): its client asks for the result later.

    The times are ISO 8601. ``ttlMs`` counts from the creation; ``None``: without end.
    """

    taskId: str
    status: str
    createdAt: str
    lastUpdatedAt: str
    ttlMs: int | None
    pollIntervalMs: int
    statusMessage: str | None = None
    meta: dict[str, Any] | None = None


ToolOutcome: TypeAlias = CallToolResult | InputRequiredResult | TaskCreated
"""The outcome of a call: its result, questions that have to be answered first, or a task that it has become."""


class ResourceDefinition(msgspec.Struct, frozen=True, omit_defaults=True):
    """A readable resource. ``size`` is in bytes, before any encoding."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mimeType: str | None = None
    size: int | None = None
    annotations: Annotations | None = None
    icons: list[Icon] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ResourceTemplate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A family of resources whose URIs follow one template (RFC 6570)."""

    uriTemplate: str
    name: str
    title: str | None = None
    description: str | None = None
    mimeType: str | None = None
    annotations: Annotations | None = None
    icons: list[Icon] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ReadResourceResult(msgspec.Struct, frozen=True):
    """The contents of a resource: at least one :class:`TextResource` or :class:`BlobResource`."""

    contents: list[Any]  # TextResource | BlobResource
    meta: dict[str, Any] | None = None


ReadOutcome: TypeAlias = ReadResourceResult | InputRequiredResult


class PromptArgument(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    title: str | None = None
    description: str | None = None
    required: bool | None = None


class Prompt(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    title: str | None = None
    description: str | None = None
    arguments: list[PromptArgument] | None = None
    icons: list[Icon] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class PromptMessage(msgspec.Struct, frozen=True):
    """One message of a prompt. ``content`` is one content block."""

    role: Literal["user", "assistant"]
    content: Any


class PromptResult(msgspec.Struct, frozen=True):
    """The messages of a prompt, filled in."""

    messages: list[PromptMessage]
    description: str | None = None
    meta: dict[str, Any] | None = None


PromptOutcome: TypeAlias = PromptResult | InputRequiredResult


class Completion(msgspec.Struct, frozen=True, omit_defaults=True):
    """Suggested values of an argument: at most 100, out of ``total``."""

    values: list[str]
    total: int | None = None
    hasMore: bool | None = None
