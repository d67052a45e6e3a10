"""The limit of open files of this process."""

from __future__ import annotations

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["descriptor_limit"]

if HAS_POSIX:
    import resource

    def descriptor_limit() -> int | None:
        """The number of descriptors that this process may have open; ``None`` if there is no limit."""
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return None if limit == resource.RLIM_INFINITY else limit

else:

    def descriptor_limit() -> int | None:
        """``None``: Windows counts the handles of a process, sockets among them, and limits them by memory alone."""
        return None
