"""Data before it goes into a model (TF1's `tf.keras.preprocessing`)."""

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.preprocessing import image, sequence, text

__all__ = ["image", "sequence", "text"]

show_public_names(__name__)
