"""Bytes ↔ messages: memory, stdio, Streamable HTTP. Independent of servers: a transport is handed the code to run."""
