"""The parts of `bench/run.py`: MCP messages, servers and measurements; imports neither tooltrue nor its peer."""
