"""Strings: taken apart, put together, hashed, matched and decoded."""
