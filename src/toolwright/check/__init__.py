"""What is wrong with the definition of a tool, before a model meets it: offline, in English and in Chinese."""
