"""Handwritten digits: 60,000 images of 28 by 28 pixels for training, 10,000 for testing."""

from __future__ import annotations

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.datasets.arrays import Split, read_npz
from staticgraph.tf1.keras.utils.download import get_file

_ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz"
_HASH = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"


def load_data(path: str = "mnist.npz") -> Split:
    """(images, digits) for training and for testing, as bytes; downloaded to ~/.keras/datasets once."""
    found = get_file(path, _ORIGIN, file_hash=_HASH)
    x, y, x_test, y_test = read_npz(found, ("x_train", "y_train", "x_test", "y_test"))
    return (x, y), (x_test, y_test)


show_public_names(__name__)
