"""What the manual is made of: pages written by hand, and pages made of the registry and of docstrings."""
