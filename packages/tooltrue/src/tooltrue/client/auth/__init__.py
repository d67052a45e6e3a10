"""Authorization of a client to servers that require it: OAuth 2.1 (2026-07-28, basic/authorization)."""
