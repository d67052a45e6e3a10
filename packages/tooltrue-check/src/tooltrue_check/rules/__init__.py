"""The rules: ``NAME.py`` checks a tool (``problems``), ``NAME.toml`` is the card of the rule."""
