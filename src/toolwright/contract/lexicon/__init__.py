"""The words in which definitions give orders to a model, by language: data that a reader of the language can review."""
