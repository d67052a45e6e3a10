"""Bytes ↔ messages: memory, stdio, Streamable HTTP. A transport knows nothing of servers: it is handed what to run."""
