"""Confirmation by a person: the question, its display, and the approvals that the answers make."""
