"""The environment of a program: the variables that it needs to run at all. Secrets may be in others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["PASSED_ON", "merged"]

_EVERYWHERE = (
    *("LANG", "LC_ALL", "PATH", "TERM", "TZ", "VIRTUAL_ENV"),
    "XDG_STATE_HOME",  # so that a server of ours and `tooltrue approvals` use the same folder
)

if HAS_POSIX:
    PASSED_ON: Final = (*_EVERYWHERE, "HOME", "LOGNAME", "SHELL", "TMPDIR", "USER")
else:
    # Those that the SDKs of the protocol pass on, and those by which programs of Node and of Python find cmd.exe,
    # programs, and folders.
    PASSED_ON: Final = (
        *_EVERYWHERE,
        *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE"),
        *("PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP"),
        *("TMP", "USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR"),
    )


def merged(passed_on: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Both environments, ``more`` first. On Windows ``Path`` and ``PATH`` are one variable."""
    if HAS_POSIX:
        return {**passed_on, **more}
    names = {name.upper() for name in more}
    return {name: value for name, value in passed_on.items() if name.upper() not in names} | dict(more)
