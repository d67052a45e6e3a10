"""The command line: one file a verb, each a few lines over the library."""
