"""The folder that is served, and the files tools over it."""

from support.toolbox.folders import files, root, way

__all__ = ["files", "root", "way"]
