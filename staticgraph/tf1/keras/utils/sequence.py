"""`Sequence`: data that is read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from staticgraph.compiler.graph.errors import misuse


class Sequence:
    """Batches by number. A subclass defines `__getitem__(index)`, which gives (x, y) or (x, y, weights), and
    `__len__`, the number of batches.

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> class Squares(sg.keras.utils.Sequence):
    ...     def __len__(self):
    ...         return 2
    ...
    ...     def __getitem__(self, index):
    ...         x = np.arange(3.0) + index
    ...         return x, x**2
    >>> [y.tolist() for _, y in Squares()]
    [[0.0, 1.0, 4.0], [1.0, 4.0, 9.0]]
    """

    def __getitem__(self, index: int) -> Any:
        raise misuse(NotImplementedError, f"{type(self).__name__} defines no __getitem__(index)")

    def __len__(self) -> int:
        raise misuse(NotImplementedError, f"{type(self).__name__} defines no __len__()")

    def on_epoch_end(self) -> None:
        """Called after each epoch, for example to put the samples in another order."""

    def __iter__(self) -> Iterator[Any]:
        for index in range(len(self)):
            yield self[index]
