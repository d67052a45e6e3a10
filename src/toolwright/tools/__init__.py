"""The algebra: toolsets, what they are made from, and what is put around them."""
