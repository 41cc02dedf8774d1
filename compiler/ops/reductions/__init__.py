"""Sums: elements combined along axes, in groups of rows, and from the first to each."""
