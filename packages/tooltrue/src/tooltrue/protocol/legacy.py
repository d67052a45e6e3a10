"""The session-based wire formats (2024-11-05 … 2025-11-25): the method table, and the translation into each revision.

A :class:`Projection` converts the newest shape to one revision. Members that the revision lacks are left out or
rendered as text (legacy digest, "Down-conversion table").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from tooltrue.jsonrpc.messages import EncodedJson, Json, decode, encode, is_object
from tooltrue.protocol.content_encoding import content_pieces
from tooltrue.protocol.input_requests import InputRequest, sayable
from tooltrue.protocol.modern import (
    SERVER_INFO,
    CallParams,
    CompleteParams,
    GetPromptParams,
    ListParams,
    ReadParams,
    TaskParams,
)
from tooltrue.protocol.result_wrapping import wrapped, wraps
from tooltrue.protocol.types import (
    UNSET,
    Annotations,
    AudioContent,
    BlobResource,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    Implementation,
    Prompt,
    PromptArgument,
    PromptMessage,
    PromptResult,
    ReadResourceResult,
    ResourceDefinition,
    ResourceLink,
    ResourceTemplate,
    TaskCreated,
    TextContent,
    TextResource,
    ToolDefinition,
)
from tooltrue.protocol.versions import Revision

__all__ = [
    "METHODS",
    "AugmentedParams",
    "InitializeParams",
    "LevelParams",
    "Projection",
    "TaskMetadata",
    "TaskTool",
    "created",
    "related",
    "task",
    "task_result",
]


class InitializeParams(msgspec.Struct, frozen=True):
    protocolVersion: str
    capabilities: dict[str, Any]
    clientInfo: dict[str, Any]


class LevelParams(msgspec.Struct, frozen=True):
    level: str


class TaskMetadata(msgspec.Struct, frozen=True):
    """``ttl`` is in milliseconds."""

    ttl: Annotated[float, msgspec.Meta(gt=0)] | None = None


class AugmentedParams(msgspec.Struct, frozen=True):
    """What 2025-11-25 adds to the parameters of ``tools/call``."""

    task: TaskMetadata | None = None


class _NoParams(msgspec.Struct, frozen=True):
    pass


# method → (parameters, the server capability that must be advertised, or None: tools are always available)
METHODS: Mapping[str, tuple[type[msgspec.Struct], str | None]] = {
    "initialize": (InitializeParams, None),
    "ping": (_NoParams, None),
    "logging/setLevel": (LevelParams, None),
    "tools/list": (ListParams, None),
    "tools/call": (CallParams, None),
    "resources/list": (ListParams, "resources"),
    "resources/templates/list": (ListParams, "resources"),
    "resources/read": (ReadParams, "resources"),
    "resources/subscribe": (ReadParams, "resources"),
    "resources/unsubscribe": (ReadParams, "resources"),
    "prompts/list": (ListParams, "prompts"),
    "prompts/get": (GetPromptParams, "prompts"),
    "completion/complete": (CompleteParams, "completions"),
    "tasks/get": (TaskParams, "tasks"),
    "tasks/result": (TaskParams, "tasks"),
    "tasks/cancel": (TaskParams, "tasks"),
    "tasks/list": (ListParams, "tasks.list"),
}


class TaskTool(msgspec.Struct, frozen=True):
    """A tool whose calls may become tasks, as it is listed."""

    definition: ToolDefinition
    support: Literal["optional", "required"]


class Projection:
    """Conversion of the newest shape to one session-based revision."""

    def __init__(self, revision: Revision) -> None:
        self.revision = revision
        self._listed: Mapping[type, Callable[[Any], object]] = {
            ToolDefinition: self._tool,
            TaskTool: self._task_tool,
            ResourceDefinition: self._resource,
            ResourceTemplate: self._template,
            Prompt: self._prompt,
        }

    def initialized(self, info: Implementation, capabilities: Mapping[str, Json], instructions: str | None) -> bytes:
        """The result of ``initialize``."""
        body: dict[str, Json] = {
            "protocolVersion": self.revision.name,
            "capabilities": self._capabilities(capabilities),
            "serverInfo": self._implementation(info),
        }
        if instructions:
            body["instructions"] = instructions
        return encode(body)

    def _capabilities(self, capabilities: Mapping[str, Json]) -> dict[str, Json]:
        # 2024-11-05 has the completion method, but no capability for it.
        return {
            name: value for name, value in capabilities.items() if name != "completions" or self.revision.completions
        }

    def _implementation(self, info: Implementation) -> dict[str, Json]:
        members: dict[str, Json] = {"name": info.name, "version": info.version}
        if self.revision.title and info.title:
            members["title"] = info.title
        if self.revision.icons:
            extra = {"description": info.description, "websiteUrl": info.websiteUrl, "icons": info.icons}
            members |= {key: value for key, value in extra.items() if value is not None}
        return members

    def understood(self, capabilities: Mapping[str, Json]) -> dict[str, Json]:
        """The subset of a client's capabilities that this revision defines and that we use."""
        revision = self.revision
        modes = {
            "elicitation": ["form"] * revision.elicitation + ["url"] * revision.elicitation_url,
            "sampling": ["context", "tools"] if revision.sampling_tools else [],
            "roots": [],
        }
        supported: dict[str, Json] = {}
        for name, possible in modes.items():
            declared = capabilities.get(name)
            if is_object(declared) and (name != "elicitation" or revision.elicitation):
                supported[name] = {mode: {} for mode in possible if mode in declared}
        return supported

    def question(self, request: InputRequest, id: str) -> InputRequest | None:
        """The question in this revision's form, or ``None`` if it has none. ``id`` is used where one is needed."""
        revision = self.revision
        return sayable(request, choices=revision.choices, blocks=revision.sampling_tools, identified=id)

    def has_words(self, request: InputRequest) -> bool:
        return self.question(request, "") is not None

    def page(self, member: str, items: Sequence[object], next_cursor: str | None) -> bytes:
        """One page of a list of tools, resources, templates or prompts."""
        body: dict[str, Json] = {member: [self._listed[type(item)](item) for item in items]}
        if next_cursor is not None:
            body["nextCursor"] = next_cursor
        return encode(body)

    def _tool(self, tool: ToolDefinition) -> dict[str, Json]:
        revision = self.revision
        members: dict[str, Json] = {"name": tool.name, "inputSchema": tool.inputSchema}
        if tool.description is not None:
            members["description"] = tool.description
        if revision.title and tool.title is not None:
            members["title"] = tool.title
        if revision.structured and tool.outputSchema is not None:
            members["outputSchema"] = wrapped(tool.outputSchema) if wraps(tool.outputSchema) else tool.outputSchema
        if revision.annotations and (annotations := self._annotations(tool)):
            members["annotations"] = annotations
        if revision.icons and tool.icons is not None:
            members["icons"] = tool.icons
        if revision.meta and tool.meta is not None:
            members["_meta"] = tool.meta
        return members

    def _task_tool(self, tool: TaskTool) -> dict[str, Json]:
        return {**self._tool(tool.definition), "execution": {"taskSupport": tool.support}}

    def _annotations(self, tool: ToolDefinition) -> Json:
        # 2025-03-26 has a title in the annotations only.
        if tool.title is None or self.revision.title:
            return tool.annotations
        hints: dict[str, Json] = msgspec.to_builtins(tool.annotations) if tool.annotations is not None else {}
        return {"title": tool.title, **hints}

    def call(self, result: CallToolResult, output_schema: Mapping[str, Json] | None = None) -> bytes:
        """The result of a call to a tool that has this output schema."""
        content = [self._block(block) for block in result.content]
        parts = [b'{"content":', *content_pieces(content)]
        value = result.undecoded
        if self.revision.structured and value is not UNSET:
            structured = result.encoded or encode(value)
            if wraps(output_schema):
                parts += (b',"structuredContent":{"result":', structured, b"}")
            elif structured.startswith(b"{") if type(value) is EncodedJson else is_object(value):
                parts += (b',"structuredContent":', structured)
        parts.append(b',"isError":true' if result.isError else b',"isError":false')
        parts.append(b',"_meta":%b}' % encode(result.meta) if result.meta else b"}")
        return b"".join(parts)

    def _block(self, block: ContentBlock) -> ContentBlock:
        revision = self.revision
        if isinstance(block, ResourceLink) and not revision.resource_link:
            return TextContent(text=f"{block.title or block.name}: {block.uri}")
        if isinstance(block, AudioContent) and not revision.audio:
            return TextContent(text=f"[audio, {block.mimeType}: not part of protocol revision {revision.name}]")
        return self._plainer(block)

    def _plainer(self, block: ContentBlock) -> ContentBlock:
        """The block without the members that the revision does not define."""
        revision = self.revision
        drop: dict[str, Any] = {}
        if not revision.meta:
            drop["meta"] = None
        if not revision.last_modified and block.annotations is not None:
            drop["annotations"] = self._annotated(block.annotations)
        if isinstance(block, ResourceLink) and not revision.icons:
            drop["icons"] = None
        if isinstance(block, EmbeddedResource) and not revision.meta:
            drop["resource"] = self._part(block.resource)
        return msgspec.structs.replace(block, **drop) if drop else block

    def _annotated(self, annotations: Annotations | None) -> Annotations | None:
        if annotations is None or self.revision.last_modified:
            return annotations
        return msgspec.structs.replace(annotations, lastModified=None)

    def _part(self, part: TextResource | BlobResource) -> TextResource | BlobResource:
        return part if self.revision.meta else msgspec.structs.replace(part, meta=None)

    # --- resources and prompts ---------------------------------------------------------------------------------------

    def _entry(self, entry: ResourceDefinition | ResourceTemplate | Prompt) -> dict[str, Any]:
        """The replacements that drop the members which the revision does not define."""
        revision = self.revision
        drop: dict[str, Any] = {}
        for member, is_defined in (("title", revision.title), ("icons", revision.icons), ("meta", revision.meta)):
            if not is_defined and getattr(entry, member) is not None:
                drop[member] = None
        return drop

    def _resource(self, resource: ResourceDefinition) -> ResourceDefinition:
        drop = self._entry(resource)
        return msgspec.structs.replace(resource, annotations=self._annotated(resource.annotations), **drop)

    def _template(self, template: ResourceTemplate) -> ResourceTemplate:
        drop = self._entry(template)
        return msgspec.structs.replace(template, annotations=self._annotated(template.annotations), **drop)

    def _prompt(self, prompt: Prompt) -> Prompt:
        drop = self._entry(prompt)
        if prompt.arguments is not None:
            drop["arguments"] = list(map(self._argument, prompt.arguments))
        return msgspec.structs.replace(prompt, **drop)

    def _argument(self, argument: PromptArgument) -> PromptArgument:
        return argument if self.revision.title else msgspec.structs.replace(argument, title=None)

    def contents(self, result: ReadResourceResult) -> bytes:
        return _closed({"contents": list(map(self._part, result.contents))}, result.meta)

    def prompt(self, result: PromptResult) -> bytes:
        messages = [PromptMessage(message.role, self._block(message.content)) for message in result.messages]
        described = {} if result.description is None else {"description": result.description}
        return _closed({"messages": messages, **described}, result.meta)


# --- tasks (2025-11-25, basic/utilities/tasks) -----------------------------------------------------------------------


def related(id: str) -> dict[str, Json]:
    """The ``_meta`` that relates a message to a task."""
    return {"io.modelcontextprotocol/related-task": {"taskId": id}}


def task(members: Mapping[str, Any]) -> dict[str, Json]:
    """A task of the extension in the form of this revision, which has its questions and its outcome elsewhere. The task
    of a call that has failed is ``failed``, with the text for the model."""
    task = {name: members[name] for name in ("taskId", "status", "createdAt", "lastUpdatedAt")}
    task |= {"ttl": members["ttlMs"], "pollInterval": members["pollIntervalMs"]}
    if members.get("statusMessage") is not None:
        task["statusMessage"] = members["statusMessage"]
    if "result" in members and (result := task_result(members)).isError:
        task["status"] = "failed"
        if texts := [block["text"] for block in result.content if block.get("type") == "text"]:
            task["statusMessage"] = texts[0]
    return task


def created(created: TaskCreated) -> bytes:
    """The answer to a call that has become a task."""
    return encode({"task": task(msgspec.structs.asdict(created))})


def task_result(members: Mapping[str, Any]) -> CallToolResult:
    """The result of the call that became a task, marked as related to it."""
    result = decode(bytes(members["result"]))
    meta = {key: value for key, value in result.get("_meta", {}).items() if key != SERVER_INFO}
    meta |= related(members["taskId"])
    return CallToolResult(result["content"], result.get("structuredContent", UNSET), result["isError"], meta)


def _closed(members: Mapping[str, Json], meta: Mapping[str, Json] | None) -> bytes:
    return encode({**members, "_meta": meta} if meta else members)
