"""The console: what tools do, the calls that wait for a person, and the logs, as pages in a browser."""
