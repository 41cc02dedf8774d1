"""Helpers without a meaning of their own: quick dataclasses, cached properties, garbage collection, forks and
signals.

Everything may import them; they import nothing of the project.
"""
