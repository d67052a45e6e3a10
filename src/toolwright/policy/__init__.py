"""Layers: what stands around every tool, in the order that ``pipeline.standard`` shows."""
