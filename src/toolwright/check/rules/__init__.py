"""The rules, a file each: ``NAME.py`` looks (``problems``), ``NAME.toml`` is its card."""
