"""Middleware layers around every tool; ``pipeline.standard`` composes them in order."""
