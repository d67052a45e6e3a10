"""Diagnosis of tools in use from an audit log: symptoms, with names and numbers, and their places in the definition."""
