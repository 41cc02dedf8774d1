"""Data before it goes into a model (TF1's `tf.keras.preprocessing`)."""

from staticgraph.tf1.keras.preprocessing import image, sequence, text

__all__ = ["image", "sequence", "text"]
