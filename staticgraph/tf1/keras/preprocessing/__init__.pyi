"""Data before it goes into a model (TF1's `tf.keras.preprocessing`). Made by tools/type_stubs.py."""

from staticgraph.tf1.keras.preprocessing import (
    image as image,
    sequence as sequence,
    text as text,
)
