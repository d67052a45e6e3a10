"""The command tools: programs that the operator has allowed, run without a shell, in the sandbox of the machine.

``allowlist`` has the allowlist and the rules for arguments, ``command_tools`` has the tools that models call.
:mod:`tooltrue_toolbox.sandbox` confines and ends the programs.
"""

from __future__ import annotations

from tooltrue_toolbox.command.allowlist import AllowList, Command, confined, read, read_text, simple
from tooltrue_toolbox.command.command_tools import Commands, toolset

__all__ = ["AllowList", "Command", "Commands", "confined", "read", "read_text", "simple", "toolset"]
