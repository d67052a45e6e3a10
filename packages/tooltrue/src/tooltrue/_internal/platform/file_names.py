"""Which names of files the system takes as they are."""

from __future__ import annotations

from typing import Final

from tooltrue._internal.platform.system import HAS_POSIX

if HAS_POSIX:

    def stays_itself(name: str) -> bool:
        """Whether a file of this name, with any ending, is a file of this name."""
        return True

else:
    from tooltrue._internal.platform.windows_names import is_device_name

    def stays_itself(name: str) -> bool:
        """Whether a file of this name, with any ending, is a file of this name."""
        return not is_device_name(name)


__all__ = ["NO_FILE", "stays_itself"]

NO_FILE: Final = "/dev/null"
"""The name in a diff, on every system, of a file that is not there."""
