"""Long calls on a durable engine: the tasks extension (io.modelcontextprotocol/tasks)."""
