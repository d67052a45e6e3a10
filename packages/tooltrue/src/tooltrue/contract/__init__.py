"""The contract of a tool in a comparable form: one canonical form per value, and a digest of it."""
