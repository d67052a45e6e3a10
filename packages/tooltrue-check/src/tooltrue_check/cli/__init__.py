"""The verbs of the command that this distribution adds: check, diff, doctor, eval, find and lock."""
