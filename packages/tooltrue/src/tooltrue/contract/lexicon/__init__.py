"""Words that prompt injections use, by language: data that a reader of the language can review."""
