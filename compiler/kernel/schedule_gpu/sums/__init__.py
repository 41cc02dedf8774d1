"""Sums over what rows do not take: of columns, and of all there is."""
