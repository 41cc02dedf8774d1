"""Rewriting: `pattern.py` has what a side of a rule may be, `rule.py` the engine that applies rules.

It goes on until no rule fits. The rules themselves are in `rules/`.
"""
