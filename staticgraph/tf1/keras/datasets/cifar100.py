"""Small photographs of 100 kinds: 50,000 of 32 by 32 pixels for training, 10,000 for testing.

As with `cifar10`, the files in CIFAR's binary format are read.
"""

from __future__ import annotations

from pathlib import Path

from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.datasets.arrays import Split, read_records
from staticgraph.tf1.keras.utils.download import get_file

_ORIGIN = "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"


def load_data(label_mode: str = "fine") -> Split:
    """(images, kinds) for training and for testing. `label_mode`: "fine", 100 kinds; "coarse", 20 groups."""
    if label_mode not in ("fine", "coarse"):
        raise misuse(ValueError, f"label_mode={label_mode!r} is not fine or coarse")
    folder = Path(get_file("cifar-100-binary", _ORIGIN, untar=True))
    place = 1 if label_mode == "fine" else 0
    return read_records([folder / "train.bin"], 2, place), read_records([folder / "test.bin"], 2, place)


show_public_names(__name__)
