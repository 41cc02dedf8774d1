"""Runs programs on a GPU: memory, functions and captured graphs through a driver of a few calls."""
