"""Sources of the manual: pages written by hand, and pages made of the registry and of docstrings."""
