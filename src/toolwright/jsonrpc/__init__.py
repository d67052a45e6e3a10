"""JSON-RPC 2.0, not one MCP word: messages and the peer that correlates them."""
