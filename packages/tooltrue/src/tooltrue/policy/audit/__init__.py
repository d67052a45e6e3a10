"""The audit log of a server: its records, its settings, and how it is read."""
