"""Helpers without a meaning of their own: quick dataclasses, cached properties, garbage collection, forks.

Everything may import them; they import nothing of the project.
"""
