"""Stands in for a GPU: CUDA's functions compiled for the processor, and a driver with the rules of a GPU."""
