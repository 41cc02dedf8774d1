"""From a Function of fused groups to a Program: kernels, their order, and their memory."""
