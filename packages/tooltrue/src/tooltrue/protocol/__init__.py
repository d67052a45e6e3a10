"""The MCP protocol as pure functions: values in, values out. No sockets, clocks, logging or globals."""
