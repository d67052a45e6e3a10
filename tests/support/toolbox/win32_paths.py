"""What Windows opens for a path: the reference for the rules of the toolbox.

It follows "File path formats on Windows systems" (normalization: separators, relative segments, trimmed characters) and
"Naming Files, Paths, and Namespaces" (devices, streams, namespaces) of Microsoft's documentation. The file system comes
afterwards: case and short names are not its subject.
"""

from __future__ import annotations

import re

DEVICES = frozenset(
    (
        *("CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"),
        *(f"{port}{digit}" for port in ("COM", "LPT") for digit in "123456789\u00b9\u00b2\u00b3"),
    )
)


def opened_by_windows(path: str, current: str) -> str:
    """The full path, ``PATH STREAM name`` for a stream, ``\\\\.\\NAME`` for a device, or ``invalid``.

    ``current`` is the current folder, such as ``C:\\served``.
    """
    if not path or "\0" in path:
        return "invalid"
    if path.startswith("\\??\\"):
        return opened_by_windows("\\\\?\\" + path[4:], current)
    if path.startswith("\\\\?\\"):
        return _in_file_system(path)  # to the file system as it is
    text = path.replace("/", "\\")
    if text.startswith(("\\\\.\\", "\\\\?\\")):
        return _in_file_system(text[:4] + _normal(text[4:]))
    if not text.startswith("\\\\") and (device := _device(text)):
        return f"\\\\.\\{device}"
    return _in_file_system(_full(text, current))


def _device(text: str) -> str:
    last = text.rpartition("\\")[2]
    last = last[2:] if re.match(r"[A-Za-z]:", last) else last
    base = re.split(r"[.:]", last, maxsplit=1)[0].rstrip(" ").upper()
    return base if base in DEVICES else ""


def _full(text: str, current: str) -> str:
    drive = current[:2]
    if text.startswith("\\\\"):
        server, _, rest = text[2:].partition("\\")
        share, _, rest = rest.partition("\\")
        return f"\\\\{server}\\{share}\\{_normal(rest)}"
    if text.startswith("\\"):
        return f"{drive}\\{_normal(text)}"
    if re.match(r"[A-Za-z]:", text):
        if text[2:3] == "\\":
            return f"{text[0].upper()}:\\{_normal(text[2:])}"
        # Relative to the current folder of that drive, which is its root unless it was set.
        base = current[2:] if text[0].upper() == drive[0] else ""
        return text[0].upper() + ":\\" + _normal(base + "\\" + text[2:])
    return drive + "\\" + _normal(current[2:] + "\\" + text)


def _normal(text: str) -> str:
    """The segments without empty, single and double periods, and without the characters that are trimmed."""
    kept: list[str] = []
    segments = text.split("\\")
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(re.sub(r"(?<!\.)\.$", "", segment))
    if kept and segments[-1] not in ("", ".", ".."):
        kept[-1] = kept[-1].rstrip(". ")
        if not kept[-1]:
            kept.pop()
    return "\\".join(kept)


def _in_file_system(full: str) -> str:
    """The same after the file system has split off a stream, and refused the characters that no name can have."""
    begin = 4 if full[:4] in ("\\\\?\\", "\\\\.\\") else 0
    rest = full[begin:]
    drive = re.match(r"[A-Za-z]:", rest)
    begin += drive.end() if drive else 0
    head, name = full[:begin], full[begin:]
    *above, last = name.split("\\")
    if any(set(part) & set('<>"|?*:/') for part in above) or any(ord(char) < 32 for char in name):
        return "invalid"
    last, *stream = last.split(":")
    if set("".join((last, *stream))) & set('<>"|?*/') or len(stream) > 2:
        return "invalid"
    if any(len(part.encode("utf-16-le", "surrogatepass")) > 510 for part in (*above, last)):
        return "invalid"
    place = head + "\\".join((*above, last))
    if not stream or [each.upper() for each in stream] == ["", "$DATA"]:
        return place
    kind = stream[1].upper() if len(stream) > 1 else "$DATA"
    if kind == "$INDEX_ALLOCATION" and stream[0].upper() in ("", "$I30"):
        return place
    return f"{place} STREAM {stream[0]}"
