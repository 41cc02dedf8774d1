"""How layers become models, and models learn."""
