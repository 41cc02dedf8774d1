"""Building graphs: the graph in use, where values enter it, structures, and functions of Python in it."""
