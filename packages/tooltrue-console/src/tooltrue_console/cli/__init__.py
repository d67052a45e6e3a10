"""The verb of the command that this distribution adds: console."""
