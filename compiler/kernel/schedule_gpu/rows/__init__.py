"""Rows: statements and sweeps over columns that a group of threads does row by row."""
