"""Loops, branches and assertions in a graph."""
