"""Functions, sections and specs of tensors, which graphs are built of, under TensorFlow 1's names."""
