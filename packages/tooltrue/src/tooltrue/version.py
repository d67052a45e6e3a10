"""The version of this package, in one place, and whether an index offers it."""

__all__ = ["PUBLISHED", "__version__"]

__version__ = "0.1.0"

PUBLISHED: bool = False
"""Whether the distributions can be installed by name from the index. Until then a command or a page that names them
leads to a folder of wheels or to the repository: an index may hold another project of the same name."""
