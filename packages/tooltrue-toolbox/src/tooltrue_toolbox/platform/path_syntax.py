"""How the system of this process reads a path: its separators, its absolute forms, and the names that it changes."""

from __future__ import annotations

from tooltrue._internal.platform.system import HAS_POSIX

if HAS_POSIX:
    from tooltrue_toolbox.platform.posix_names import (
        TAKES_ANY_NAME,
        anchored,
        comparable,
        is_absolute,
        is_refused,
        split,
    )
else:
    from tooltrue_toolbox.platform.windows_names import (
        TAKES_ANY_NAME,
        anchored,
        comparable,
        is_absolute,
        is_refused,
        split,
    )

__all__ = ["TAKES_ANY_NAME", "anchored", "comparable", "is_absolute", "is_refused", "split"]
