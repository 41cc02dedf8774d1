"""How much of TensorFlow 1.15's public surface there is, and how signatures agree."""
