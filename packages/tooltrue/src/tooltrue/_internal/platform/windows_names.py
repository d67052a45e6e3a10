"""The names of files on Windows that mean something else than they say. Pure: for every system."""

from __future__ import annotations

import re

__all__ = ["is_device_name", "is_plain_name"]

# With any extension, too: until Windows 11, NUL.txt is the device.
_DEVICE = re.compile(
    r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³]) *(?:[.:].*)?", re.IGNORECASE | re.DOTALL
)
_REFUSED = re.compile(r'[\x00-\x1f<>:"/\\|?*]')


def is_device_name(name: str) -> bool:
    """Whether the system reads this name as a device, in any folder."""
    return _DEVICE.fullmatch(name) is not None


def is_plain_name(name: str) -> bool:
    """Whether this is the name of one entry of a folder, and of no other."""
    is_whole = name != "" and not name.endswith((".", " ")) and _REFUSED.search(name) is None
    return is_whole and not is_device_name(name)
