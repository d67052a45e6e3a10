"""JSON-RPC 2.0, independent of MCP: messages, and the peer that correlates them."""
