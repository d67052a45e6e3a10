"""`python -m release.registry`: writes the entries."""

from release.registry import write

write()
