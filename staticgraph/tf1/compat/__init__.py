"""Other libraries' names for what this one does: `staticgraph.compat.tf1` is TensorFlow 1.15 by its names."""
