"""Symbolic differentiation of graphs and Functions."""
