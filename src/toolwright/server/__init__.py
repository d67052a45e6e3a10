"""Serves a provider to MCP clients of both eras. Knows nothing of policy: what it is given is guarded already."""
