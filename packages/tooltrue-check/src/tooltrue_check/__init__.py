"""A linter for tool definitions, which runs before a model sees them: offline, in English and in Chinese."""
