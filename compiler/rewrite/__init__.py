"""Rewriting: patterns, rules, and the engine that applies them to a fixed point."""
