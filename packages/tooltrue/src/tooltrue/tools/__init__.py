"""The toolset algebra: toolsets, their sources, and wrappers around them."""
