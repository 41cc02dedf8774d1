"""Checkpoints of variables as TensorFlow writes them: `Saver`, and readers of what is in their files."""
