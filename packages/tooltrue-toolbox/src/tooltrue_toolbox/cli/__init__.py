"""The verbs of this distribution, which entry points announce."""
