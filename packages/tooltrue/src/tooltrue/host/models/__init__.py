"""Models of several providers, behind one protocol. A provider is a small file, and its SDK an extra."""
