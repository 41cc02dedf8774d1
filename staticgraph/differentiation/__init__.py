"""Differentiation: `gradients`, and gradient functions that scripts give."""
