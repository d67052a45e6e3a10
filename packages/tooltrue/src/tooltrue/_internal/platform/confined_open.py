"""Opens a file beneath a folder for reading: no part of the path leads upward, and no link is followed.

The folder itself is the caller's own: links on the way to it are followed.
"""

from __future__ import annotations

from tooltrue._internal.platform.system import HAS_POSIX

if HAS_POSIX:
    from tooltrue._internal.platform.posix_confined_open import open_beneath, parts_beneath
else:
    from tooltrue._internal.platform.windows_confined_open import open_beneath, parts_beneath

__all__ = ["open_beneath", "parts_beneath"]
