"""External programs: their access, their limits, and the end of all processes that they have started.

In reading order: ``jobs`` has a program and its outcome as values, and ``programs`` chooses how this system runs one.
On Linux, ``linux_machine`` wraps the kernel's mechanisms, ``linux_supervisor`` is the process between us and the
program, and ``linux_programs`` starts it. Elsewhere ``unconfined_programs`` starts ``unconfined_supervisor``, which
keeps the processes of a program together by ``enclosure`` and confines nothing. ``supervisor_link`` is our end of
either. A supervisor is a new process for each program, so its modules import none that is slow to load.
"""
