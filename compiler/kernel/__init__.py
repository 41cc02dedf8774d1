"""Kernels: loops over scalar expressions, all that a code generator sees."""
