"""The kernel's locks on files and folders, which are released when the process is killed."""

from __future__ import annotations

from tooltrue._internal.platform.system import HAS_POSIX

if HAS_POSIX:
    from tooltrue._internal.platform.posix_file_locks import folder_lock, lock_within, try_lock
else:
    from tooltrue._internal.platform.windows_file_locks import folder_lock, lock_within, try_lock

__all__ = ["folder_lock", "lock_within", "try_lock"]
