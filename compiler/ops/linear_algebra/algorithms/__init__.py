"""Algorithms of linear algebra, as statements of the kernel IR."""
