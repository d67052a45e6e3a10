"""Limits that a process sets itself before it reads what a stranger has written. They hold until its end.

Where the memory cannot be limited by the system, the process looks at its own use and ends itself.
"""

from __future__ import annotations

from tooltrue._internal.platform.system import HAS_POSIX

if HAS_POSIX:
    from tooltrue._internal.platform.posix_child_limits import limit_cpu, limit_memory
else:
    from tooltrue._internal.platform.windows_child_limits import limit_cpu, limit_memory

__all__ = ["limit_cpu", "limit_memory"]
