"""Evaluation of tool selection: questions are put to a model, its calls are stored, graded and compared."""
