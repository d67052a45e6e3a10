"""Toolsets for the agent loops of other frameworks. Each adapter needs the package of its framework; no other module
does."""
