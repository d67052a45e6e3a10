"""The words by which the rules read descriptions, as data, with their readers."""
