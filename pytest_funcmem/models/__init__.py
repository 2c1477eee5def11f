"""Prompts and completions: transformers checkpoints, OpenAI-compatible servers, replay files.

This room knows nothing of sandboxes, harnesses, verdicts or pytest. Importing it loads neither torch nor
transformers; ``models.open_model`` opens a model by its SPEC.
"""
