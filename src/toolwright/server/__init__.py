"""Serves a provider to MCP clients of both eras. Knows no policy: the provider it is given is guarded already."""
