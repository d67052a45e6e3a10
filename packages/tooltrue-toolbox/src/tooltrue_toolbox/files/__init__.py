"""The files tools: read, find, write, edit, move and delete files within folders that the operator named.

A file is written beside its name and then moved there, so that a reader, a crash or a full disk sees the old file or
the new one and never half of it. Bytes are kept as they are: no line ending, byte order mark or final newline is added,
removed or changed.
"""

from tooltrue_toolbox.files.file_tools import Files, toolset
from tooltrue_toolbox.files.values import DirectoryListing, Edit, FileContent, FileLimits, SearchResult, WrittenFile

__all__ = [
    "DirectoryListing",
    "Edit",
    "FileContent",
    "FileLimits",
    "Files",
    "SearchResult",
    "WrittenFile",
    "toolset",
]
