"""Counters, traces and metrics of a server."""
