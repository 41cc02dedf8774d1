"""Stores of which each element is computed by itself, and loops that are spread over threads."""
