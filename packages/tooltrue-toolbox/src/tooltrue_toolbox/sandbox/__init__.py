"""The sandbox of an external program: its access, its limits, and the end of all processes that it has started.

In reading order: ``machine`` wraps the kernel's mechanisms, ``supervisor`` is the process between us and the program,
and ``process`` starts it, reads its output and ends it. ``supervisor`` is a new process for each program, so it and
``machine`` import no module that is slow to load.
"""
