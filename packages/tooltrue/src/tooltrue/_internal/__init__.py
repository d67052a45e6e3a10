"""Helpers that are not part of the public interface: deadlines, locks, deferred imports and processes."""
