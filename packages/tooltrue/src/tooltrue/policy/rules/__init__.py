"""The rules of an operator and an author: their verdicts, their lint, and their replay against the audit log."""
