"""Text of the kernels of whole programs, as NVIDIA's compiler sees it, without a GPU."""
