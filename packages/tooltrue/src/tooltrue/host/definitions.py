"""The admitted definitions of one server, as it publishes them to one reader of its lists."""

from __future__ import annotations

from collections.abc import Mapping
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

    def inspected(self, inspection: Inspection) -> Definitions:
        """The definitions after another inspection. Lists that have not changed are the same objects, and so is the
        whole if nothing has."""
        listed = _sorted(inspection.tools)
        has_tools = list(map(id, listed)) != list(map(id, self.tool_list))
        has_library = (inspection.resources, inspection.templates) != (self.resources, self.templates)
        after = Definitions(
            inspection.tools if has_tools else self.tools,
            inspection.resources if has_library else self.resources,
            inspection.templates if has_library else self.templates,
            self.prompts if inspection.prompts == self.prompts else inspection.prompts,
            listed if has_tools else self.tool_list,
            _sorted(inspection.resources) if has_library else self.resource_list,
            _templates(inspection.templates) if has_library else self.template_list,
            self.prompt_list if inspection.prompts == self.prompts else _sorted(inspection.prompts),
            inspection.instructions,
            inspection.quarantined,
            inspection.suspicions,
        )
        return self if self.is_equal(after) else after

    def is_equal(self, other: Definitions) -> bool:
        """Whether the same tools, and equal other definitions, are in both, with the same verdicts."""
        return (
            list(map(id, self.tool_list)) == list(map(id, other.tool_list))
            and (self.resources, self.templates) == (other.resources, other.templates)
            and (self.prompts, self.instructions) == (other.prompts, other.instructions)
            and self.verdicts == other.verdicts
        )

    def changes_since(self, before: Definitions) -> list[Kind]:
        """The kinds of lists that are other objects than ``before``; tools too if other definitions are left out."""
        has_changed: dict[Kind, bool] = {
            "tools": self.tool_list is not before.tool_list,
            "resources": self.resources is not before.resources,
            "prompts": self.prompts is not before.prompts,
        }
        changed: list[Kind] = [kind for kind, is_new in has_changed.items() if is_new]
        return changed or (["tools"] if self.verdicts != before.verdicts else [])

    @property
    def verdicts(self) -> list[tuple[str, str, str]]:
        """The verdicts on definitions in words."""
        quarantined = [(one.kind, one.name, str(one.problem)) for one in self.quarantined]
        return quarantined + [(one.kind, one.name, repr(one.findings)) for one in self.suspicions]

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
    return tuple(entries[name] for name in sorted(entries))


def _templates(
    templates: Mapping[str, tuple[wire.ResourceTemplate, Template]],
) -> tuple[wire.ResourceTemplate, ...]:
    return tuple(templates[uri][0] for uri in sorted(templates))


NO_DEFINITIONS: Final = Definitions()
