"""Arrays on their way into a model: put in its order, checked, weighted, and divided into batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import FeedError, misuse, shown
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.tf1.keras.utils.sequence import Sequence as DataSequence


def arrays_for(given: Any, names: Sequence[str], tensors: Sequence[Tensor], what: str) -> list[Any]:
    """One array per tensor, from an array, a list, or a dict by names. FeedError if they do not fit."""
    if isinstance(given, dict):
        if missing := [name for name in names if name not in given]:
            raise misuse(FeedError, f"{what}: {missing[0]} is missing, there is {', '.join(given)}")
        listed = [given[name] for name in names]
    elif isinstance(given, list | tuple) and (len(tensors) > 1 or _is_list_of_one(given)):
        listed = list(given)
    else:
        listed = [given]
    if len(listed) != len(tensors):
        text = f"{what}: the model takes {len(tensors)} arrays ({', '.join(names)}), {len(listed)} were given"
        raise misuse(FeedError, text)
    return [_fitted(v, n, t, what) for v, n, t in zip(listed, names, tensors, strict=True)]


def _is_list_of_one(given: Any) -> bool:
    return len(given) == 1 and (hasattr(given[0], "shape") or isinstance(given[0], list | tuple))


def _fitted(value: Any, name: str, tensor: Tensor, what: str) -> np.ndarray:
    """A value as an array of the rank of its placeholder, in its dtype where that needs no more memory."""
    if isinstance(value, Tensor):
        hint = "fit, evaluate and predict compute tensors anew in each step: give steps_per_epoch or steps"
        raise misuse(FeedError, f"{what}: {name} is a tensor, {value.name}", hint)
    array = np.asarray(value)
    rank = tensor.shape.ndims
    if rank is not None and array.ndim == rank - 1 and (array.ndim == 1 or tensor.shape.as_list()[-1] == 1):
        array = array[..., None]
    if array.dtype == np.float64 and tensor.dtype.is_floating:
        array = array.astype(tensor.dtype.numpy, copy=False)
    if not tensor.shape.is_compatible_with(array.shape):
        text = f"{what}: {name} must have shape {tensor.shape}, the array has {list(array.shape)}"
        raise misuse(FeedError, text, _hint(array.shape, tensor), made=[(name, tensor.op.where)])
    return array


def _hint(shape: tuple[int, ...], tensor: Tensor) -> str | None:
    rank = tensor.shape.ndims or 0
    if len(shape) == rank - 1:
        return "one axis is missing: for a single sample, give value[None]"
    if len(shape) == rank and tensor.shape.as_list()[-1] == 1 and shape[-1] > 1:
        return (
            "targets in rows of classes go with categorical_crossentropy, numbers of classes with sparse_..."
        )
    return None


def count_samples(arrays: Sequence[Any], what: str) -> int:
    """The size of the batch axis, which must be the same in all arrays."""
    sizes = {len(a) for a in arrays}
    if len(sizes) > 1:
        shapes = ", ".join(str(list(a.shape)) for a in arrays)
        raise misuse(FeedError, f"{what}: all arrays must have as many samples, their shapes are {shapes}")
    return sizes.pop() if sizes else 0


def sample_weights(given: Any, class_weight: Any, names: Sequence[str], targets: Sequence[Any]) -> list[Any]:
    """The weights of samples for each output, or None for those without."""
    listed = _each(given, names)
    classes = [class_weight] * len(names) if len(names) == 1 else _each(class_weight, names)
    made = []
    for weight, by_class, target in zip(listed, classes, targets, strict=True):
        weight = None if weight is None else np.asarray(weight, np.float32)
        if by_class:
            of_class = _class_weights(by_class, np.asarray(target))
            weight = of_class if weight is None else weight * of_class
        made.append(weight)
    return made


def _each(given: Any, names: Sequence[str]) -> list[Any]:
    if isinstance(given, dict):
        return [given.get(name) for name in names]
    if len(names) == 1:
        only = isinstance(given, list | tuple) and len(given) == 1 and np.ndim(given[0]) > 0
        return [given[0] if only else given]
    return list(given) if isinstance(given, list | tuple) else [given] * len(names)


def _class_weights(by_class: dict[int, float], target: np.ndarray) -> np.ndarray:
    numbers = target.argmax(-1) if target.ndim > 1 and target.shape[-1] > 1 else target.reshape(-1)
    if missing := set(np.unique(numbers.astype(int)).tolist()) - {int(k) for k in by_class}:
        raise misuse(ValueError, f"class_weight has no weight for class {sorted(missing)[0]}")
    table = {int(k): v for k, v in by_class.items()}
    return np.array([table[int(n)] for n in numbers], np.float32)


def split(arrays: Sequence[Any], share: float) -> tuple[list[Any], list[Any]]:
    """The first and the last part of each array, the last with `share` of the samples."""
    if not 0 < share < 1:
        raise misuse(ValueError, f"validation_split={share} must be between 0 and 1")
    at = int(len(arrays[0]) * (1.0 - share))
    cut = [(None, None) if a is None else (a[:at], a[at:]) for a in arrays]
    return [first for first, _ in cut], [second for _, second in cut]


@dataclass(frozen=True, slots=True)
class Batch:
    """The arrays of one step, in the order of the placeholders, and how many samples they hold."""

    arrays: list[Any]
    size: int


class ArrayBatches:
    """Batches of arrays that are in memory. `shuffle`: True for samples, "batch" for whole batches."""

    def __init__(
        self, arrays: Sequence[Any], batch_size: int | None, shuffle: Any, steps: int | None
    ) -> None:
        self.arrays, self.shuffle = list(arrays), shuffle
        self.samples = count_samples(self.arrays, "fit")
        for name, count in (("batch_size", batch_size), ("steps", steps)):
            if count is not None and (not isinstance(count, int | np.integer) or count < 0):
                raise misuse(TypeError, f"{name} is {shown(count)}, and must be a whole number, 1 or more")
        self.batch_size = batch_size or (32 if steps is None else -(-self.samples // steps))
        if self.samples == 0:
            raise misuse(ValueError, "there are no samples: the arrays are empty")
        self.steps = steps or -(-self.samples // self.batch_size)
        self.by_steps = False

    def __iter__(self) -> Iterator[Batch]:
        """One epoch."""
        order = np.arange(self.samples)
        if self.shuffle == "batch":
            whole = self.samples // self.batch_size * self.batch_size
            rows = order[:whole].reshape(-1, self.batch_size)
            np.random.shuffle(rows)
            order = np.append(rows.reshape(-1), order[whole:])
        elif self.shuffle:
            np.random.shuffle(order)
        for start in range(0, min(self.samples, self.steps * self.batch_size), self.batch_size):
            rows = order[start : start + self.batch_size]
            chosen: Any = rows if self.shuffle else slice(start, start + len(rows))
            yield Batch([a[chosen] for a in self.arrays], len(rows))


class StreamBatches:
    """Batches from a generator or a `Sequence`. `convert` makes the arrays of a batch from an item."""

    def __init__(self, source: Any, steps: int | None, shuffle: bool, convert: Any) -> None:
        self.source, self.shuffle, self._convert = source, shuffle, convert
        if isinstance(source, DataSequence):
            steps = len(source) if steps is None else steps
        elif steps is None:
            raise misuse(ValueError, "a generator does not say how long it is: give the number of steps")
        self.steps = self.samples = steps
        self.by_steps, self.batch_size = True, None
        self._iterator = None if isinstance(source, DataSequence) else iter(source)

    def __iter__(self) -> Iterator[Batch]:
        items = iter(self._ordered()) if self._iterator is None else self._iterator
        for _ in range(self.steps):
            try:
                item = next(items)
            except StopIteration:
                raise misuse(ValueError, f"the generator ended before it gave {self.steps} batches") from None
            arrays = self._convert(item)
            yield Batch(arrays, len(arrays[0]))
        if self._iterator is None:
            self.source.on_epoch_end()

    def _ordered(self) -> Iterator[Any]:
        order = np.arange(len(self.source))
        if self.shuffle:
            np.random.shuffle(order)
        while True:
            for index in order:
                yield self.source[int(index)]


def is_stream(x: Any) -> bool:
    """Return True if `x` gives batches one after the other, instead of holding all samples."""
    return isinstance(x, DataSequence) or (hasattr(x, "__next__") and not isinstance(x, np.ndarray))
