"""Reference tools, one module a family. Each offers ``toolset(…)``, to be served or combined."""
