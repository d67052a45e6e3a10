"""Files below an open folder: each call opens one name relative to the open folder of it, and follows no link.

The interface has two implementations with the same names, for POSIX and for Windows. A directory is a number that only
these functions understand: a descriptor, or a handle of Windows. A file is a descriptor of Python on every system. An
entry is described by :class:`os.stat_result`; the device and the number of its file identify it.

Errors are ``OSError`` with an ``errno`` as on POSIX.
"""

from __future__ import annotations

from tooltrue._internal.platform.system import HAS_POSIX

if HAS_POSIX:
    from tooltrue_toolbox.platform.posix_handles import (
        beneath,
        close,
        create_file,
        duplicate,
        entries,
        file_status,
        keep_attributes,
        link_target,
        lock_file,
        look,
        make_directory,
        open_directory,
        open_file,
        open_root,
        path_status,
        peek,
        read_at,
        remove_directory,
        remove_file,
        rename_new,
        rename_over,
        status,
        stored_name,
        sync,
    )
else:
    from tooltrue_toolbox.platform.windows_handles import (
        beneath,
        close,
        create_file,
        duplicate,
        entries,
        file_status,
        keep_attributes,
        link_target,
        lock_file,
        look,
        make_directory,
        open_directory,
        open_file,
        open_root,
        path_status,
        peek,
        read_at,
        remove_directory,
        remove_file,
        rename_new,
        rename_over,
        status,
        stored_name,
        sync,
    )

__all__ = [
    "beneath",
    "close",
    "create_file",
    "duplicate",
    "entries",
    "file_status",
    "keep_attributes",
    "link_target",
    "lock_file",
    "look",
    "make_directory",
    "open_directory",
    "open_file",
    "open_root",
    "path_status",
    "peek",
    "read_at",
    "remove_directory",
    "remove_file",
    "rename_new",
    "rename_over",
    "status",
    "stored_name",
    "sync",
]
