"""Which tool a model chooses for a question, and with what arguments: asked, kept, graded, compared."""
