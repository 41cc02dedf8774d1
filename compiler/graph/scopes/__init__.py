"""Scopes of the user's graph: the names of new operations, and the properties that scopes around them decide.

`Graph` enters them; nothing else needs to.
"""
