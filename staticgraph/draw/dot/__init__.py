"""Graphviz: a drawing as text in its language, and pictures that it lays out.

Only `engine="dot"` and PDF need the `dot` program or the pygraphviz package; the text needs neither.
"""
