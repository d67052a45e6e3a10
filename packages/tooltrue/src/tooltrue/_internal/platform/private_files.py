"""Files and folders that only this user can read, from the moment at which they are created."""

from __future__ import annotations

from tooltrue._internal.platform.system import HAS_POSIX

if HAS_POSIX:
    from tooltrue._internal.platform.posix_private_files import (
        create_beside,
        create_private_file,
        ensure_private_file,
        is_private,
        make_private_folder,
        move_new,
        open_private_file,
        open_private_log,
        read_private_file,
        restrict_folder,
    )
else:
    from tooltrue._internal.platform.windows_private_files import (
        create_beside,
        create_private_file,
        ensure_private_file,
        is_private,
        make_private_folder,
        move_new,
        open_private_file,
        open_private_log,
        read_private_file,
        restrict_folder,
    )

__all__ = [
    "create_beside",
    "create_private_file",
    "ensure_private_file",
    "is_private",
    "make_private_folder",
    "move_new",
    "open_private_file",
    "open_private_log",
    "read_private_file",
    "restrict_folder",
]
