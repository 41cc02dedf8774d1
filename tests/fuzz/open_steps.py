"""Random steps over axes of open size, with the names of TensorFlow 1, so that it can build them, too.

A value has a label for each axis: a number if the size is known, otherwise text. Axes of the same label have
the same size. Labels are all that a step knows of sizes, which are 0, 1, odd or large when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 33, 64, 100)
MOST = 3000  # elements of a value, about
FEEDS = (("n",), ("m",), ("n", "m"), ("n", "m"), ("m", "n"), ("n", 3), (2, "m"), ("n", 3, "m"), ("n", "m", 2))
Label = int | str
TEMPLATES: list[Callable[[Steps], None]] = []


@dataclass
class Value:
    """A tensor and the labels of its axes."""

    tensor: Any
    labels: tuple[Label, ...]

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.labels)


def template(weight: int = 1) -> Callable[[Callable[[Steps], None]], Callable[[Steps], None]]:
    """Decorator: a kind of step, as often as `weight` says."""

    def declare(function: Callable[[Steps], None]) -> Callable[[Steps], None]:
        TEMPLATES.extend([function] * weight)
        return function

    return declare


class Steps:
    """A graph of random steps.

    Attributes:
        feeds: The labels of each placeholder by its name.
        fetches: What a run asks for, by name.
    """

    def __init__(self, tf: Any, seed: int, length: int = 6) -> None:
        self.tf, self.random = tf, Random(seed)
        self.dtype = tf.float32 if self.random.randrange(3) == 0 else tf.float64
        self.values: list[Value] = []
        self.whole: dict[str, Any] = {}
        self.feeds: dict[str, tuple[Label, ...]] = {}
        self.places: dict[str, Any] = {}
        self.names: list[str] = []
        for number in range(1 + self.random.randrange(2)):
            labels = self.random.choice(FEEDS)
            name = f"x{number}"
            shape = [n if isinstance(n, int) else None for n in labels]
            self.places[name] = tf.placeholder(self.dtype, shape, name=name)
            self.feeds[name] = labels
            self.values.append(Value(self.places[name], labels))
        for _ in range(1 + self.random.randrange(length)):
            made = self.random.choice(TEMPLATES)
            self.names.append(made.__name__)
            made(self)
        self.fetches = self._fetched()

    def _fetched(self) -> dict[str, Any]:
        last = self.values[len(self.feeds) :][-4:] or self.values
        found = {f"y{n}": v.tensor for n, v in enumerate(last)} | self.whole
        if self.random.randrange(3):
            y = last[-1].tensor
            places = self.tf.cast(self.tf.range(self.tf.size(y)), self.dtype)
            weights = self.tf.cos(self.tf.reshape(places, self.tf.shape(y)))
            slopes = self.tf.gradients(self.tf.reduce_sum(y * weights), [*self.places.values()])
            found |= {
                f"by_{x}": self.tf.convert_to_tensor(g)
                for x, g in zip(self.places, slopes, strict=True)
                if g is not None
            }
        return found

    def fed(self, sizes: tuple[int, int], seed: int) -> dict[str, np.ndarray]:
        """Return arrays for all placeholders, given the sizes of `n` and `m`."""
        by, rng = dict(zip("nm", sizes, strict=True)), np.random.default_rng(seed)
        shapes = {x: [by.get(n, n) for n in labels] for x, labels in self.feeds.items()}
        dtype = self.dtype.as_numpy_dtype
        return {x: rng.uniform(-1.5, 1.5, shape).astype(dtype) for x, shape in shapes.items()}

    def add(self, tensor: Any, labels: Sequence[Label]) -> None:
        """Add a value, of moderate numbers."""
        self.values.append(Value(tensor, tuple(labels)))

    def some(self, *ranks: int) -> Value | None:
        """A value of one of some ranks, more often a recent one."""
        fitting = [v for v in self.values if not ranks or v.rank in ranks]
        return self.random.choice(fitting[-3:] if self.random.randrange(3) else fitting) if fitting else None

    def calm(self, x: Any) -> Any:
        """Numbers between -1.5 and 1.5."""
        return self.tf.sin(x) * 1.5

    def size(self, x: Value, axis: int) -> Any:
        """The size of an axis, as a tensor or the number that is known."""
        label = x.labels[axis]
        return label if isinstance(label, int) else self.tf.shape(x.tensor)[axis]

    def axis(self, x: Value) -> int:
        """An axis."""
        return self.random.randrange(x.rank)

    def matrix(self, x: Value) -> Any:
        """All axes but the first as one."""
        return self.tf.reshape(x.tensor, [self.size(x, 0), -1 if x.rank != 2 else self.size(x, 1)])


def replaced(labels: Sequence[Label], axis: int, label: Label) -> tuple[Label, ...]:
    """The labels with that of one axis replaced."""
    return *labels[:axis], label, *labels[axis + 1 :]


def called(text: str, label: Label, known: Callable[[int], int]) -> Label:
    """The label of a size that is computed of another."""
    return known(label) if isinstance(label, int) else f"{text}({label})"


def order_of(x: Value) -> range:
    """All axes."""
    return range(x.rank)
