"""Loops and branches in a graph."""
