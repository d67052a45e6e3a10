"""Search among tools: words and terms, the index, and the view of a caller whose tools are too many to list."""
