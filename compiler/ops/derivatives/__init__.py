"""Derivatives that are operations."""
