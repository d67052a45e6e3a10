"""Limits of a task, which is all that a host does for one request: budgets, loops, data flow and retries."""
