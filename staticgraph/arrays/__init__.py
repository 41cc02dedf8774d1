"""Arrays: tensors made, joined, sliced, sorted and reduced over segments, by TensorFlow 1's names."""
