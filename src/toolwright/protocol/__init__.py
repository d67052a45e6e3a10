"""What MCP says, pure: values in, values out. No sockets, clocks, logging or globals."""
