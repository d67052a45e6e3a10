"""The command tools: programs that the operator has allowed, run without a shell and held by what the machine has.

``allowed`` is the list and what may stand behind a name, ``tools`` what models call. Programs are held and ended by
:mod:`toolwright.toolbox.sandbox`.
"""

from __future__ import annotations

from toolwright.toolbox.command.allowed import AllowList, Command, confined, read, read_text, simple
from toolwright.toolbox.command.tools import TOOLS, Commands, toolset

__all__ = ["TOOLS", "AllowList", "Command", "Commands", "confined", "read", "read_text", "simple", "toolset"]
