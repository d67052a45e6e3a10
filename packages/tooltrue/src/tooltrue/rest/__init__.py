"""Calls by programs that speak no MCP: ``POST /tools/NAME``, and the OpenAPI description of these operations."""
