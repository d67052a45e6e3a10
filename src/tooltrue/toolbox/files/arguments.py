"""The registration of each files tool, and the arguments that several of them share."""

from __future__ import annotations

from typing import Annotated

from tooltrue.tools.local import ToolSettings

__all__ = ["TOOLS", "WRITING", "Cursor", "PathArgument", "Version"]

TOOLS: tuple[tuple[str, ToolSettings], ...] = (
    (
        "create_directory",
        {
            "effect": "write",
            "idempotent": True,
            "title": "Make a directory",
            "examples": ({"path": "reports/2026"},),
        },
    ),
    (
        "delete_file",
        {
            "effect": "destructive",
            "idempotent": True,
            "title": "Delete a file or directory",
            "examples": ({"path": "build", "recursive": True},),
        },
    ),
    (
        "edit_file",
        {
            # The old text is in the call and in the diff, so it can be restored.
            "effect": "write",
            "idempotent": False,
            "title": "Edit a file",
            "read_when": {"dry_run": True},
            "examples": ({"path": "a.py", "edits": [{"old_text": "a = 3", "new_text": "a = 5"}]},),
        },
    ),
    (
        "file_info",
        {
            "effect": "read",
            "idempotent": True,
            "title": "Look at a file's properties",
            "excused": {"TT9700": "Models know it by this name from other servers of files."},
            "examples": ({"path": "data/orders.csv"},),
        },
    ),
    (
        "list_directory",
        {
            "effect": "read",
            "idempotent": True,
            "title": "List a directory",
            "examples": ({"path": "src", "depth": 3},),
        },
    ),
    (
        "list_roots",
        {
            "effect": "read",
            "idempotent": True,
            "title": "List the served folders",
            "examples": ({},),
        },
    ),
    (
        "move_file",
        {
            # It never replaces an entry, and the same call the other way round undoes it.
            "effect": "write",
            "idempotent": False,
            "title": "Move or rename",
            "examples": ({"source": "draft.md", "destination": "notes/final.md"},),
        },
    ),
    (
        "read_file",
        {
            "effect": "read",
            "idempotent": True,
            "title": "Read a file",
            "examples": ({"path": "src/main.py", "start_line": 100, "end_line": 180},),
        },
    ),
    (
        "read_media",
        {
            "effect": "read",
            "idempotent": True,
            "title": "Show a picture or play a sound",
            "examples": ({"path": "docs/logo.png"},),
            "max_bytes": 4 << 20,
        },
    ),
    (
        "search_files",
        {
            "effect": "read",
            "idempotent": True,
            "title": "Search files",
            "examples": ({"content": r"TODO\(\w+\)", "regex": True, "name": "*.{py,pyi}"},),
            "seconds": 60.0,
        },
    ),
    (
        "write_file",
        {
            # It may replace existing content, and a second "append" appends again.
            "effect": "destructive",
            "idempotent": False,
            "title": "Write a file",
            "examples": ({"path": "notes/today.md", "content": "# Today\n"},),
        },
    ),
)

WRITING = frozenset(name for name, settings in TOOLS if settings.get("effect") != "read")
"""Names of the tools that do not exist in read-only mode."""

PathArgument = Annotated[str, "Below the served folder"]
Version = Annotated[str, "Version it must still have"]
Cursor = Annotated[str, "next_cursor of a result"]
