"""Attention: products of matrices and what is done to the rows between them, without the scores in memory."""
