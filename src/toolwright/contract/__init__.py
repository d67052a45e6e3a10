"""What a tool promises, as something that can be compared: one form for the same thing, and a digest of it."""
