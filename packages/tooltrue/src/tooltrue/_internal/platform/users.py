"""The user of the operating system that runs this process."""

from __future__ import annotations

import os

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["operating_system_user"]


def operating_system_user() -> str:
    """Return the name of the user, as the system has it: a program can set that in the environment."""
    if not HAS_POSIX:
        return os.getlogin()
    import pwd  # noqa: PLC0415 - Windows has none

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may have no entry for it
        return f"uid {os.getuid()}"
