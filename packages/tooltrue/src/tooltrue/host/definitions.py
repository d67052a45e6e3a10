"""The admitted definitions of one server, as it publishes them to one reader of its lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from tooltrue.host.inspection import Inspection, QuarantinedDefinition, SuspiciousDefinition
from tooltrue.protocol import types as wire
from tooltrue.protocol.uris import Template
from tooltrue.tools.toolset import unknown
from tooltrue.tools.vocabulary import (
    CompletionGet,
    Entry,
    Kind,
    LibraryOperation,
    PromptGet,
    ResourceRead,
    Tool,
    resource_of,
)

__all__ = ["NO_DEFINITIONS", "Definitions"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Definitions:
    """The definitions of one server, by its own names and URIs, and each list of them sorted. Compared by identity:
    what has not changed is the same object."""

    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    resources: Mapping[str, wire.ResourceDefinition] = field(default_factory=dict[str, wire.ResourceDefinition])
    templates: Mapping[str, tuple[wire.ResourceTemplate, Template]] = field(
        default_factory=dict[str, tuple[wire.ResourceTemplate, Template]]
    )
    prompts: Mapping[str, wire.Prompt] = field(default_factory=dict[str, wire.Prompt])
    tool_list: tuple[Tool, ...] = ()
    resource_list: tuple[wire.ResourceDefinition, ...] = ()
    template_list: tuple[wire.ResourceTemplate, ...] = ()
    prompt_list: tuple[wire.Prompt, ...] = ()
    instructions: str | None = None
    quarantined: tuple[QuarantinedDefinition, ...] = ()
    suspicions: tuple[SuspiciousDefinition, ...] = ()

    def inspected(self, inspection: Inspection) -> tuple[Definitions, list[Kind]]:
        """Return the definitions after another inspection, and the kinds of lists that have changed. Lists that have
        not are the same objects."""
        tools, tool_list = inspection.tools, _sorted(inspection.tools)
        has_tools = list(map(id, tool_list)) != list(map(id, self.tool_list))
        has_library = (inspection.resources, inspection.templates) != (self.resources, self.templates)
        has_prompts = inspection.prompts != self.prompts
        kinds: dict[Kind, bool] = {"tools": has_tools, "resources": has_library, "prompts": has_prompts}
        changed: list[Kind] = [kind for kind, has_changed in kinds.items() if has_changed]
        notes = inspection.quarantined, inspection.suspicions
        if (self.quarantined, self.suspicions) != notes:
            changed = changed or ["tools"]
        if not changed and inspection.instructions == self.instructions:
            return self, []
        by_kind = inspection if has_library else self
        prompts = inspection.prompts if has_prompts else self.prompts
        after = Definitions(
            tools if has_tools else self.tools,
            by_kind.resources,
            by_kind.templates,
            prompts,
            tool_list if has_tools else self.tool_list,
            _sorted(inspection.resources) if has_library else self.resource_list,
            _sorted({key: one for key, (one, _) in inspection.templates.items()})
            if has_library
            else self.template_list,
            _sorted(inspection.prompts) if has_prompts else self.prompt_list,
            inspection.instructions,
            *notes,
        )
        return after, changed

    def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]:
        """The subject of an operation, as in :class:`tooltrue.tools.toolset.Library`. Raises ``UnknownEntry``."""
        match operation:
            case ResourceRead(uri=uri):
                if uri in self.resources:
                    return (self.resources[uri],)
                for definition, template in self.templates.values():
                    if template.match(uri) is not None:
                        return (definition, resource_of(definition, uri))
            case PromptGet(name=name) | CompletionGet(of="prompt", name=name):
                if name in self.prompts:
                    return (self.prompts[name],)
            case CompletionGet(name=name):
                if name in self.templates:
                    return (self.templates[name][0],)
        raise unknown(operation)


def _sorted(entries: Mapping[str, T]) -> tuple[T, ...]:
    ordered: Iterable[tuple[str, T]] = sorted(entries.items(), key=lambda entry: entry[0])
    return tuple(entry for _, entry in ordered)


NO_DEFINITIONS: Final = Definitions()
