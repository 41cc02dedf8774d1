"""Pages of the manual: what is made of the registry and of docstrings, and tools that write pages of docs."""
