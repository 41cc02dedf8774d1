"""The stages of `tools/gpu_check.py`: what is tried and measured on a card, each in a process of its own."""
