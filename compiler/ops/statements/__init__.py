"""Help for ops whose kernels are written as statements."""
