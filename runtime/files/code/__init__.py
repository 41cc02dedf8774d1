"""Machine code in a saved graph: of a processor or of a GPU. It is used only if the file is trusted."""

GPU_TARGETS = "cuda-"  # how the names of targets begin that are architectures of GPUs
