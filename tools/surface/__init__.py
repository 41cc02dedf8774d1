"""Coverage of TensorFlow 1.15's public surface, and agreement of signatures."""
