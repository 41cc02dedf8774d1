"""Scans, and rows brought in order."""
