"""Batches out of queues that threads fill: `batch`, `shuffle_batch`, and their kin."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from staticgraph.arrays.array_ops import broadcast_to, expand_dims, shape
from staticgraph.arrays.casts import cast
from staticgraph.arrays.indexing import boolean_mask
from staticgraph.building.framework import get_default_graph, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.signatures import arguments
from staticgraph.compiler.graph.dtypes import DType, bool_, float32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.shapes import Shape, as_shape
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.mathematics.math_ops import maximum
from staticgraph.sparse.tensor import SparseTensor, SparseTensorValue, as_sparse
from staticgraph.tf1 import summary
from staticgraph.tf1.io.sparse_tensors import deserialize_many_sparse, serialize_many_sparse, serialize_sparse
from staticgraph.tf1.queue import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from staticgraph.tf1.training.queue_runner import QueueRunner, add_queue_runner

Shuffle = tuple[int, int | None]  # how many elements are kept for a random choice, and a seed


class BatchInputs:
    """Inputs of a queue: tensors of one or several threads, and a condition for elements to be added."""

    def __init__(self, given: Sequence[Any], keep_input: Any, enqueue_many: bool) -> None:
        self.original = given[0] if given else None
        keys = [sorted(each) for each in given if isinstance(each, Mapping)]
        if any(each != keys[0] for each in keys):
            raise misuse(ValueError, f"the dicts of tensors_list must have the same keys: {keys}")
        listed = [self._listed(each) for each in given]
        self.many = enqueue_many
        self._sparse = [_sparse_type(column, enqueue_many) for column in zip(*listed, strict=False)]
        self.lists = [[_stored(item, enqueue_many) for item in each] for each in listed]
        if not self.lists or not self.lists[0]:
            raise misuse(ValueError, "Expected at least one tensor in batch().")
        self.dtypes = [t.dtype for t in self.lists[0]]
        if any([t.dtype for t in each] != self.dtypes for each in self.lists):
            text = "all entries of tensors_list must have as many tensors, of the same types"
            raise misuse(TypeError, text)
        self._keep = None if keep_input is True else convert_to_tensor(keep_input, dtype=bool_)
        rank = None if self._keep is None else self._keep.type.rank
        if self._keep is not None and (rank is None or rank > int(enqueue_many)):
            kind = "must be 0 or 1 dimensions" if enqueue_many else "cannot be a vector"
            raise misuse(ValueError, f"`keep_input` {kind}: its shape is {self._keep.shape}")

    @staticmethod
    def _listed(given: Any) -> list[Any]:
        if isinstance(given, Mapping):
            return [given[key] for key in sorted(given)]
        return list(given) if isinstance(given, list | tuple) else [given]

    def shapes(self, given: Any) -> list[Shape | None]:
        """The shapes of one element's components."""
        if given is not None:
            return [as_shape(each) for each in given]
        columns = zip(*self.lists, strict=True)
        return [_common([self._element(t) for t in column]) for column in columns]

    def _element(self, tensor: Tensor) -> Shape | None:
        known = tensor.type.shape
        return known if known is None or not self.many else known[1:]

    def enqueue(self, queue: QueueBase, tensors: list[Tensor]) -> Operation:
        """The operation that adds some tensors to a queue."""
        if self._keep is None:
            return queue.enqueue_many(tensors) if self.many else queue.enqueue(tensors)
        rows = tensors if self.many else [expand_dims(t, 0) for t in tensors]
        mask = broadcast_to(self._keep, shape(rows[0])[:1])
        return queue.enqueue_many([boolean_mask(t, mask) for t in rows])

    def restored(self, dequeued: Any) -> Any:
        """Batches nested as the tensors were given."""
        listed = list(dequeued) if isinstance(dequeued, list | tuple) else [dequeued]
        for at, sparse in enumerate(self._sparse):
            if sparse is not None:
                listed[at] = deserialize_many_sparse(listed[at], *sparse)
        if isinstance(self.original, Mapping):
            return dict(zip(sorted(self.original), listed, strict=True))
        return listed if len(listed) > 1 else listed[0]


def _stored(item: Any, many: bool) -> Tensor:
    """The tensor that stands for a component in the queue: strings for a SparseTensor."""
    if not isinstance(item, SparseTensor | SparseTensorValue):
        return convert_to_tensor(item)
    return serialize_many_sparse(item) if many else serialize_sparse(item)


def _sparse_type(column: Sequence[Any], many: bool) -> tuple[DType, int | None] | None:
    """The dtype and, if it is known, the rank of batches of a sparse component; None for a dense one."""
    sparse = [as_sparse(x) for x in column if isinstance(x, SparseTensor | SparseTensorValue)]
    if not sparse:
        return None
    if len(sparse) < len(column):
        raise misuse(TypeError, "a component is a SparseTensor in all of tensors_list, or in none")
    ranks = {x.rank for x in sparse}
    rank = ranks.pop() if len(ranks) == 1 else None
    return sparse[0].dtype, None if rank is None else rank + 1 - int(many)


def _common(shapes: list[Shape | None]) -> Shape | None:
    first = shapes[0]
    if first is None or any(s is None or len(s) != len(first) for s in shapes):
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes, strict=True))


def _batches(label: str, given: dict[str, Any]) -> Any:
    """Batches of what threads put into a queue: `num_threads`, or one for each of `tensors_list`.

    Args:
        label: The default of the name.
        given: The arguments of one of the functions below.
    """
    lists = list(given["tensors_list"]) if "tensors_list" in given else [given["tensors"]]
    shuffle = (given["min_after_dequeue"], given["seed"]) if "seed" in given else None
    with name_scope(given["name"], label) as scope:
        inputs = BatchInputs(lists, given.get("keep_input", True), given["enqueue_many"])
        count_more(get_default_graph(), 1)  # `keep_input`
        pad, capacity = given.get("dynamic_pad", False), given["capacity"]
        shapes = inputs.shapes(given["shapes"])
        queue = _queue(capacity, inputs.dtypes, shapes, given["shared_name"], pad, shuffle)
        enqueues = [inputs.enqueue(queue, tensors) for tensors in inputs.lists]
        add_queue_runner(QueueRunner(queue, enqueues * given.get("num_threads", 1)))
        _summary(queue, capacity, shuffle)
        take = queue.dequeue_up_to if given["allow_smaller_final_batch"] else queue.dequeue_many
        return inputs.restored(take(given["batch_size"], name=scope))


def _queue(
    capacity: int,
    types: list[DType],
    shapes: Any,
    shared_name: Any,
    dynamic_pad: bool,
    shuffle: Shuffle | None,
) -> QueueBase:
    if not dynamic_pad and any(each is None or None in each for each in shapes):
        text = "All shapes must be fully defined: " + ", ".join(map(str, shapes))
        text = f"Cannot infer Tensor's rank: {shapes}" if None in shapes else text
        hint = "use set_shape on the tensors, or dynamic_pad=True, or shapes="
        raise misuse(ValueError, text, hint)
    if shuffle is not None:
        least, seed = shuffle
        return RandomShuffleQueue(capacity, least, types, shapes, seed=seed, shared_name=shared_name)
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    return kind(capacity, types, shapes, shared_name=shared_name)


def _summary(queue: QueueBase, capacity: int, shuffle: Shuffle | None) -> None:
    """Add a summary to the graph: the fraction of the queue that is full.

    With `shuffle`, only the part beyond the least number of elements counts.
    """
    if shuffle is None:
        summary.scalar(f"fraction_of_{capacity}_full", cast(queue.size(), float32) * (1.0 / capacity))
        return
    least = shuffle[0]
    room = max(1, capacity - least)
    full = cast(maximum(0, queue.size() - least), float32) * (1.0 / room)
    summary.scalar(f"fraction_over_{least}_of_{room}_full", full)


def _kin(
    model: Callable[..., Any], keep_after: str = "", join: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function of a name and a docstring, with the parameters of `batch` or `shuffle_batch`.

    Args:
        model: One of the two.
        keep_after: The parameter that `keep_input` stands behind; the function has none without it.
        join: If it takes a list of lists of tensors, with a thread for each.
    """
    placed = list(inspect.signature(model).parameters.values())
    if join:
        placed = [placed[0].replace(name="tensors_list"), *(p for p in placed[1:] if p.name != "num_threads")]
    if keep_after:
        at = [parameter.name for parameter in placed].index(keep_after) + 1
        placed.insert(at, placed[0].replace(name="keep_input"))
    signature = inspect.Signature(placed, return_annotation="Any")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def made(*args: Any, **kwargs: Any) -> Any:
            return _batches(function.__name__, arguments(function.__name__, signature, args, kwargs))

        made.__signature__ = signature  # type: ignore[attr-defined]
        return made

    return decorate


def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of `tensors`, a list or dict: each run takes `batch_size` values of them out of a queue.

    `num_threads` threads compute the tensors and fill the queue, when `start_queue_runners` has started them.
    `enqueue_many`: the rows of the tensors are elements. `dynamic_pad` pads elements of different sizes. When
    the input ends, `allow_smaller_final_batch` gives the rest; OutOfRangeError follows.

    ValueError if shapes are not known and `dynamic_pad` is False.

    >>> import staticgraph as sg
    >>> number = sg.train.range_input_producer(4, shuffle=False).dequeue()
    >>> numbers = sg.train.batch([number], batch_size=3)
    >>> with sg.Session() as sess:
    ...     coord = sg.train.Coordinator()
    ...     threads = sg.train.start_queue_runners(sess, coord)
    ...     value = sess.run(numbers)
    ...     coord.request_stop()
    ...     coord.join(threads)
    >>> value.tolist()
    [0, 1, 2]
    """
    return _batches("batch", locals())


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`batch` in random order: each value is drawn from more than `min_after_dequeue` in the queue."""
    return _batches("shuffle_batch", locals())


@_kin(batch, join=True)
def batch_join(*args: Any, **kwargs: Any) -> Any:
    """`batch` of several lists of tensors, with a thread for each."""


@_kin(batch, keep_after="tensors")
def maybe_batch(*args: Any, **kwargs: Any) -> Any:
    """`batch` of those values for which `keep_input` is true."""


@_kin(batch, keep_after="tensors_list", join=True)
def maybe_batch_join(*args: Any, **kwargs: Any) -> Any:
    """`batch_join` of those values for which `keep_input` is true."""


@_kin(shuffle_batch, join=True)
def shuffle_batch_join(*args: Any, **kwargs: Any) -> Any:
    """`shuffle_batch` of several lists of tensors, with a thread for each."""


@_kin(shuffle_batch, keep_after="min_after_dequeue")
def maybe_shuffle_batch(*args: Any, **kwargs: Any) -> Any:
    """`shuffle_batch` of those values for which `keep_input` is true."""


@_kin(shuffle_batch, keep_after="min_after_dequeue", join=True)
def maybe_shuffle_batch_join(*args: Any, **kwargs: Any) -> Any:
    """`shuffle_batch_join` of those values for which `keep_input` is true."""
