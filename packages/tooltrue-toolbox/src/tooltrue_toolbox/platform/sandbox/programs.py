"""Runs external programs, confined where this system can confine them."""

from __future__ import annotations

import os
import sys

from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue_toolbox.platform.sandbox.jobs import ProcessOutcome, SandboxBounds, SandboxJob
from tooltrue_toolbox.platform.sandbox.mechanisms import HOLDS

# The calls that are there decide, not the name of the system alone: the supervisor waits for processes by descriptor.
if sys.platform == "linux" and HAS_POSIX and hasattr(os, "pidfd_open"):
    from tooltrue_toolbox.platform.sandbox.linux_programs import LIMITED_BY, part_of, run, what_holds
else:
    from tooltrue_toolbox.platform.sandbox.unconfined_programs import LIMITED_BY, part_of, run, what_holds

__all__ = [
    "HOLDS",
    "LIMITED_BY",
    "ProcessOutcome",
    "SandboxBounds",
    "SandboxJob",
    "part_of",
    "run",
    "what_holds",
]
