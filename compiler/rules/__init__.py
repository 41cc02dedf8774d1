"""The rewrite rules, as tables by subject: each row has two sides, an op at the root of the left one.

`passes/simplify.py` says for which ops a table is imported; `rewrite/` applies it.
"""
