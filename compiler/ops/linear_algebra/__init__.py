"""Matrices: their products, factors and spectra, and solutions of systems."""
