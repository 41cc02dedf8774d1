"""The passes, each from Function to Function. `pipeline.py` orders them, and is where to begin."""
