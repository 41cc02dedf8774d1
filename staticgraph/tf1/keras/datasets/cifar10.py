"""Small photographs of 10 kinds: 50,000 of 32 by 32 pixels for training, 10,000 for testing.

The files in CIFAR's binary format are read; those for Python are pickles, which can run code, and are not.
"""

from __future__ import annotations

from pathlib import Path

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.datasets.arrays import Split, read_records
from staticgraph.tf1.keras.utils.download import get_file

_ORIGIN = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"


def load_data() -> Split:
    """(images, kinds) for training and for testing, as bytes; kinds have shape [n, 1]."""
    folder = Path(get_file("cifar-10-batches-bin", _ORIGIN, untar=True))
    trained = [folder / f"data_batch_{i}.bin" for i in range(1, 6)]
    return read_records(trained, 1), read_records([folder / "test_batch.bin"], 1)


show_public_names(__name__)
