"""The start of a program with pipes, whose family ends with it."""

from __future__ import annotations

from tooltrue._internal.platform.child_events import ChildEvents
from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue._internal.platform.windows_commands import UnsafeArgument

if HAS_POSIX:
    from tooltrue._internal.platform.posix_child import Child, start_child
else:
    from tooltrue._internal.platform.windows_child import Child, start_child

__all__ = ["Child", "ChildEvents", "UnsafeArgument", "start_child"]
