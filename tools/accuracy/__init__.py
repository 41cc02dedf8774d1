"""Errors of functions, linear algebra and derivatives, beside more precision, LAPACK and differences."""
