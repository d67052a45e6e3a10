"""Notes for an author at a terminal: the tools of a server that lack a description, or a declared effect."""

from __future__ import annotations

import asyncio

from tooltrue.app import Server
from tooltrue.cli.language import current_language
from tooltrue.cli.printing import is_somebody_here, one_line, tell
from tooltrue.cli.wording import HINT_CHECK_EXPLAINS, NOTE_TOOLS_WITHOUT_DESCRIPTION, NOTE_TOOLS_WITHOUT_EFFECT
from tooltrue.protocol.types import ToolDefinition
from tooltrue.server.service import SILENT
from tooltrue.tools.vocabulary import EVERYONE, RequestContext
from tooltrue.wording import sentence

__all__ = ["note_gaps"]


def note_gaps(server: Server, target: str) -> None:
    """Print one line on standard error for the server's own tools with such gaps; nothing unless a person reads it."""
    if not is_somebody_here():
        return
    tools = [tool.definition for tool in asyncio.run(server.tools.list_tools(RequestContext(EVERYONE, SILENT)))]
    gaps = {
        NOTE_TOOLS_WITHOUT_DESCRIPTION: [tool.name for tool in tools if not tool.description],
        NOTE_TOOLS_WITHOUT_EFFECT: [tool.name for tool in tools if not _has_effect(tool)],
    }
    language = current_language()
    notes = [sentence(code, language, {"names": ", ".join(names)}) for code, names in gaps.items() if names]
    if notes:
        notes.append(sentence(HINT_CHECK_EXPLAINS, language, {"target": target}))
        tell(one_line(("" if language == "zh" else " ").join(notes)), fg="yellow", err=True)


def _has_effect(tool: ToolDefinition) -> bool:
    """Whether the definition says if the tool reads, or destroys."""
    hints = tool.annotations
    return hints is not None and not (hints.readOnlyHint is None and hints.destructiveHint is None)
