"""The rewrite rules, as tables."""
