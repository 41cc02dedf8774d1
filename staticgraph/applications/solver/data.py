"""Training and validation data: their division, the order of each epoch, and the normalisation.

The order is a function of the seed and the number of the epoch alone. So a training that resumes from a
snapshot sees the same examples as without a stop.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from staticgraph.applications.solver.description import DataTable, Description
from staticgraph.applications.solver.objective import Answer
from staticgraph.applications.solver.sources import Classes, Examples, load
from staticgraph.compiler.support.dataclass import dataclass

_SHARE = 0.2  # of the examples, kept to validate where the description does not say
_ENOUGH = 1 << 16  # examples that tell the statistics of all


@dataclass(frozen=True, slots=True)
class Normalization:
    """Inputs become `(inputs - offset) * scale`."""

    offset: np.ndarray
    scale: np.ndarray


@dataclass(frozen=True, slots=True)
class Data:
    """The examples in two parts, and how they are normalised."""

    training: Examples
    validation: Examples
    normalization: Normalization | None
    table: DataTable

    @property
    def classes(self) -> Classes:
        """The names of the classes in the order of their numbers, where they have names."""
        return self.training.classes

    @property
    def steps(self) -> int:
        """Steps in an epoch. A batch that would not be full is left out: each epoch leaves out others."""
        return len(self.training) // self.table.batch_size

    def batches(self, step: int) -> Iterator[Examples]:
        """Yield the examples of the training's steps, from `step` on, without end."""
        size = self.table.batch_size
        epoch, within = divmod(step, self.steps)
        while True:
            order = self.order(epoch)
            for n in range(within, self.steps):
                yield self.training[order[n * size : (n + 1) * size]]
            epoch, within = epoch + 1, 0

    def order(self, epoch: int) -> np.ndarray:
        """The examples of an epoch by number."""
        count = len(self.training)
        if not self.table.shuffle:
            return np.arange(count)
        return np.random.default_rng([self.table.seed, epoch]).permutation(count)


def full_batches(examples: Examples, size: int) -> Iterator[tuple[Examples, int]]:
    """All examples in batches of one size, each with the number of examples in it that count.

    The last one is filled up with its last example, so that one compiled step serves them all.
    """
    for first in range(0, len(examples), size):
        rows = np.minimum(np.arange(first, first + size), len(examples) - 1)
        yield examples[rows], min(size, len(examples) - first)


def prepare(described: Description, answer: Answer) -> Data:
    """Read the data of a description and divide them."""
    table = described.data
    examples, kept = load(described, answer)
    if kept is None:
        share = _SHARE if table.validation is None else float(table.validation)
        order = np.random.default_rng(table.seed).permutation(len(examples))
        count = max(round(share * len(examples)), 1)
        examples, kept = examples[np.sort(order[count:])], examples[np.sort(order[:count])]
    if len(examples) < table.batch_size:
        text = f"there are {len(examples)} examples to train on, fewer than a batch of {table.batch_size}"
        raise described.error(text, "data", "batch_size")
    return Data(examples, kept, _normalization(examples.inputs, table.normalize), table)


def _normalization(inputs: np.ndarray, how: str) -> Normalization | None:
    """Choose a normalization for each column of a table, or each channel of what has more axes."""
    if how == "none":
        return None
    some = inputs[:: max(len(inputs) // _ENOUGH, 1)].astype(np.float64)
    axes = tuple(range(max(some.ndim - 1, 1)))
    low, spread = some.mean(axes), some.std(axes)
    if how == "range":
        low = some.min(axes)
        spread = some.max(axes) - low
    scale = np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 1.0)  # what never changes stays
    return Normalization(low.astype(np.float32), scale.astype(np.float32))
