"""How a client says who asks, to servers that want to know: OAuth 2.1 (2026-07-28, basic/authorization)."""
