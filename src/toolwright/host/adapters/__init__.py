"""Toolsets for other people's loops. Each adapter needs the package that it is for, and nothing else does."""
