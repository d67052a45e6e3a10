"""The mechanism that keeps the processes of a program together where none confines them, so that they end at once."""

from __future__ import annotations

from tooltrue._internal.platform.system import HAS_POSIX

if HAS_POSIX:
    from tooltrue_toolbox.platform.sandbox.posix_enclosure import (
        ENDED_BY,
        entrance,
        environment_of_program,
        environment_of_supervisor,
        start_options,
    )
    from tooltrue_toolbox.platform.sandbox.posix_enclosure import GroupEnclosure as Enclosure
else:
    from tooltrue_toolbox.platform.sandbox.windows_enclosure import (
        ENDED_BY,
        entrance,
        environment_of_program,
        environment_of_supervisor,
        start_options,
    )
    from tooltrue_toolbox.platform.sandbox.windows_enclosure import JobEnclosure as Enclosure

__all__ = [
    "ENDED_BY",
    "Enclosure",
    "entrance",
    "environment_of_program",
    "environment_of_supervisor",
    "start_options",
]
