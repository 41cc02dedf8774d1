"""Numbers, element by element."""
