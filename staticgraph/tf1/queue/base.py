"""`QueueBase`: the operations of all queues."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.checks.arguments import whole_of
from staticgraph.compiler.graph.dtypes import DType, as_dtype, bool_, int32, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, RuleError, ShapeError, misuse
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.shapes import (
    Shape,
    TensorShape,
    TensorType,
    as_shape,
    compatible,
    merge,
    shape_text,
)
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.kinds import host
from staticgraph.runtime.state.resources import resources
from staticgraph.tf1.queue.contents import Contents
from staticgraph.tf1.queue.elements import Element, Elements, InOrder, stacked


class Shared:
    """Owner of the contents of queues: a single queue, or all queues of a graph that share a name.

    Args:
        properties: Properties that queues of one name have in common, such as the capacity, by name.
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self.properties = properties

    @classmethod
    def of(cls, shared_name: str | None, kind: str, **properties: Any) -> Shared:
        """Return the owner for a queue, or for an accumulator.

        Raises:
            InvalidArgumentError: The graph has one of this kind and name with other properties.
        """
        if not shared_name:
            return cls(properties)
        named: dict[tuple[str, str], Shared] = get_default_graph().attached.setdefault(cls, {})
        owner = named.setdefault((kind, shared_name), cls(properties))
        for name, value in properties.items():
            if owner.properties[name] != value:
                text = f"the shared {kind} {shared_name!r} has {name} {owner.properties[name]}, not {value}"
                raise misuse(InvalidArgumentError, text, "give it the same arguments, or another shared_name")
        return owner


class QueueBase:
    """A queue of elements: tuples of arrays, or dicts of them where `names` are given.

    Each session has contents of its own. Threads that run the same session wait for each other: for elements
    where there are too few, for room where `capacity` elements are there. A run that waits gives up after
    `RunOptions(timeout_in_ms)`, with DeadlineExceededError; closing the session ends it with CancelledError.
    """

    TYPE = "FIFOQueue"
    join: Callable[..., np.ndarray] = staticmethod(stacked)

    def __init__(
        self, dtypes: Any, shapes: Any, names: Any, shared_name: str | None, name: str, capacity: Any
    ) -> None:
        listed = list(dtypes) if isinstance(dtypes, list | tuple) else [dtypes]
        self._dtypes = [as_dtype(dtype) for dtype in listed]
        self._shapes = self._declared(shapes)
        self._names = self._checked_names(names)
        most = whole_of(capacity, "capacity")
        self._capacity = most if most >= 0 else sys.maxsize
        self._contents = Shared.of(
            shared_name,
            "queue",
            type=self.TYPE,
            capacity=most,
            dtypes=[dtype.name for dtype in self._dtypes],
            shapes=None if shapes is None else self._shapes,
            **self._properties(),
        )
        self._ref: Tensor = queue_handle(queue=self, name=name)
        self._name = self._ref.op.name.rpartition("/")[2]

    def _properties(self) -> dict[str, Any]:
        """Further properties that queues of one shared name have in common."""
        return {}

    def _declared(self, shapes: Any) -> list[Shape | None]:
        if shapes is None:
            return [None] * len(self._dtypes)
        shapes = listed_shapes(shapes)
        if len(shapes) != len(self._dtypes):
            text = f"Queue shapes must have the same length as dtypes: {len(shapes)} and {len(self._dtypes)}"
            raise misuse(ValueError, text)
        return [as_shape(shape) for shape in shapes]

    def _checked_names(self, names: Any) -> list[str] | None:
        if not names:
            return None
        listed = list(names) if isinstance(names, list | tuple) else [names]
        if len(listed) != len(self._dtypes):
            text = f"Queue names must have the same length as dtypes: {len(listed)} and {len(self._dtypes)}"
            raise misuse(ValueError, text)
        return listed

    queue_ref: Tensor = read_only("ref", "A string tensor that stands for the queue in the graph.")

    @property
    def name(self) -> str:
        return self._ref.op.name

    dtypes: list[DType] = read_only("dtypes")

    @property
    def shapes(self) -> list[TensorShape]:
        return [TensorShape(shape) for shape in self._shapes]

    @property
    def names(self) -> list[str] | None:
        """The names of the components; None if elements are tuples."""
        return self._names

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """The operation that adds an element, when there is room: CancelledError in a closed queue."""
        with name_scope(name, f"{self._name}_enqueue", self._values(vals)) as scope:
            made: Operation = queue_enqueue(self._components(vals, False), queue=self, name=scope)
        return made

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """The operation that adds the slices of `vals` along their first axis as elements."""
        with name_scope(name, f"{self._name}_EnqueueMany", self._values(vals)) as scope:
            made: Operation = queue_enqueue_many(self._components(vals, True), queue=self, name=scope)
        return made

    def dequeue(self, name: str | None = None) -> Any:
        """An element, when there is one: OutOfRangeError when there is none in a closed queue."""
        return self._returned(queue_dequeue(queue=self, name=name or f"{self._name}_Dequeue"))

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """`n` elements stacked, when they are there: OutOfRangeError when fewer are in a closed queue."""
        return self._returned(queue_dequeue_many(n=n, queue=self, name=name or f"{self._name}_DequeueMany"))

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """As `dequeue_many`, but for a closed queue: as many elements as there are, if there are any."""
        return self._returned(queue_dequeue_up_to(n=n, queue=self, name=name or f"{self._name}_DequeueUpTo"))

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """The operation that closes the queue: nothing can be added any more. What waits for room already
        is still added, unless `cancel_pending_enqueues`.
        """
        made: Operation = queue_close(
            queue=self, cancel_pending_enqueues=cancel_pending_enqueues, name=name or f"{self._name}_Close"
        )
        return made

    def is_closed(self, name: str | None = None) -> Tensor:
        """Return a bool tensor that is true if the queue is closed."""
        made: Tensor = queue_is_closed(queue=self, name=name or f"{self._name}_Is_Closed")
        return made

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements in the queue, as int32."""
        made: Tensor = queue_size(queue=self, name=name or f"{self._name}_Size")
        return made

    # What the operations need

    def contents(self) -> Contents:
        """Return the contents of the queue in the current session."""
        label = f"{self.TYPE} '{self.name}'"
        return resources().of(self._contents, lambda: Contents(label, self._capacity, self._elements()))

    def types(self, batch: Any = ()) -> tuple[TensorType, ...]:
        """The types of what is taken out; `batch`: the sizes in front of those of a component."""
        shapes = [None if shape is None else (*batch, *shape) for shape in self._shapes]
        return tuple(TensorType(d, s) for d, s in zip(self._dtypes, shapes, strict=True))

    def check(self, components: Sequence[np.ndarray], axes: int) -> None:
        """InvalidArgumentError if components have not the shapes of the queue, after the first `axes`."""
        for i, (array, shape) in enumerate(zip(components, self._shapes, strict=True)):
            if not compatible(shape, array.shape[axes:]):
                expected, got = shape_text(shape), shape_text(array.shape[axes:])
                text = f"Shape mismatch in tuple component {i}. Expected {expected}, got {got}"
                raise InvalidArgumentError(text)

    def batch(self, elements: Sequence[Element]) -> tuple[np.ndarray, ...]:
        """Several elements as one."""
        if elements:
            return tuple(self.join(column) for column in zip(*elements, strict=True))
        known = [tuple(n or 0 for n in shape or ()) for shape in self._shapes]
        return tuple(np.empty((0, *s), d.numpy) for s, d in zip(known, self._dtypes, strict=True))

    def require_shapes(self) -> None:
        if None in self._shapes:
            text = f"{self.TYPE}'s dequeue_many and dequeue_up_to need the shapes of the components"
            raise InvalidArgumentError(f"{text}: {self.TYPE}(..., shapes=[...])")

    def _elements(self) -> Elements:
        return InOrder()

    def _values(self, vals: Any) -> list[Any]:
        if isinstance(vals, Mapping):
            return list(vals.values())
        return list(vals) if isinstance(vals, list | tuple) else [vals]

    def _components(self, vals: Any, many: bool) -> list[Tensor]:
        """The components as tensors of the queue's types. ValueError if they do not fit its shapes."""
        if isinstance(vals, Mapping):
            if not self._names:
                raise misuse(ValueError, "Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(vals):
                text = (
                    f"the dictionary has the keys {sorted(vals)}, the queue the names {sorted(self._names)}"
                )
                raise misuse(ValueError, text)
            listed = [vals[name] for name in self._names]
        elif self._names:
            text = "You must enqueue a dictionary in a Queue with names"
            raise misuse(ValueError, text, f"its names are {self._names}")
        else:
            listed = list(vals) if isinstance(vals, list | tuple) else [vals]
        if len(listed) != len(self._dtypes):
            text = f"an element of the queue has {len(self._dtypes)} components, {len(listed)} were given"
            raise misuse(ValueError, text)
        made = [
            convert_to_tensor(value, dtype=dtype, name=f"component_{i}")
            for i, (value, dtype) in enumerate(zip(listed, self._dtypes, strict=True))
        ]
        for i, (tensor, shape) in enumerate(zip(made, self._shapes, strict=True)):
            wanted = shape if shape is None or not many else (None, *shape)
            try:
                merge(tensor.type.shape, wanted, f"component {i} has")
            except RuleError:
                text = f"component {i} has shape {tensor.shape}, the queue takes {shape_text(wanted)}"
                raise misuse(ShapeError, text, made=[(tensor.name, tensor.op.where)]) from None
        sizes = [tensor.type.shape[0] for tensor in made if many and tensor.type.shape]
        if len({size for size in sizes if size is not None}) > 1:
            text = f"the components have {', '.join(map(str, sizes))} slices: all must have as many"
            raise misuse(ShapeError, text, made=[(tensor.name, tensor.op.where) for tensor in made])
        return made

    def _returned(self, made: Any) -> Any:
        listed = list(made) if isinstance(made, tuple) else [made]
        if self._names:
            return dict(zip(self._names, listed, strict=True))
        return listed if len(listed) > 1 else listed[0]


def listed_shapes(shapes: Any) -> list[Any]:
    """Return a list of shapes; a shape by itself, such as (), is the only one."""
    is_one = isinstance(shapes, TensorShape) or all(isinstance(size, int) for size in shapes)
    return [shapes] if is_one else list(shapes)


@host(tf="FIFOQueueV2", type=lambda queue: TensorType(string, ()), stateful=True)
def queue_handle(*, queue: QueueBase) -> Any:
    """The name of a queue; stands for it in the graph."""
    return queue.name


@host(tf="QueueEnqueueV2", type=lambda *c, queue: (), stateful=True, vars={"component": "*"})
def queue_enqueue(*component: Any, queue: QueueBase) -> Any:
    """Adds an element to a queue."""
    queue.check(component, 0)
    queue.contents().add([tuple(array.copy() for array in component)])
    return ()


@host(tf="QueueEnqueueManyV2", type=lambda *c, queue: (), stateful=True, vars={"component": "*"})
def queue_enqueue_many(*component: Any, queue: QueueBase) -> Any:
    """Adds the slices of arrays to a queue."""
    if any(array.ndim == 0 for array in component):
        raise InvalidArgumentError("enqueue_many takes slices, a component has no axis")
    sizes = {len(array) for array in component}
    if len(sizes) > 1:
        raise InvalidArgumentError(f"All components must have the same size in the first axis, not {sizes}")
    queue.check(component, 1)
    rows = zip(*(array.copy() for array in component), strict=True)
    dtypes = [array.dtype for array in component]
    queue.contents().add([tuple(map(np.asarray, row, dtypes)) for row in rows])
    return ()


@host(tf="QueueDequeueV2", type=lambda queue: queue.types(), stateful=True)
def queue_dequeue(*, queue: QueueBase) -> Any:
    """The next element of a queue."""
    return queue.contents().take(1)[0]


def _several(n: Any, queue: QueueBase) -> tuple[TensorType, ...]:
    return queue.types((n,))


@host(tf="QueueDequeueManyV2", type=_several, stateful=True, operands={"n": "n"}, partial=("n",))
def queue_dequeue_many(*, n: Any, queue: QueueBase) -> Any:
    """The next `n` elements of a queue, stacked."""
    queue.require_shapes()
    return queue.batch(queue.contents().take(_checked(n)))


@host(
    tf="QueueDequeueUpToV2",
    type=lambda n, queue: queue.types((None,)),
    stateful=True,
    operands={"n": "n"},
    partial=("n",),
)
def queue_dequeue_up_to(*, n: Any, queue: QueueBase) -> Any:
    """The next `n` elements of a queue, stacked; when it is closed, perhaps fewer."""
    queue.require_shapes()
    return queue.batch(queue.contents().take(_checked(n), fewer=True))


def _checked(n: int) -> int:
    if n < 0:
        raise InvalidArgumentError(f"{n} elements were asked for, the number must not be negative")
    return n


@host(tf="QueueCloseV2", type=lambda queue, cancel_pending_enqueues: (), stateful=True)
def queue_close(*, queue: QueueBase, cancel_pending_enqueues: bool) -> Any:
    """Closes a queue; with `cancel_pending_enqueues`, also for those who wait for room in it already."""
    queue.contents().close(cancel_pending_enqueues)
    return ()


@host(tf="QueueIsClosedV2", type=lambda queue: TensorType(bool_, ()), stateful=True)
def queue_is_closed(*, queue: QueueBase) -> Any:
    """Return True if a queue is closed."""
    return np.asarray(queue.contents().closed)


@host(tf="QueueSizeV2", type=lambda queue: TensorType(int32, ()), stateful=True)
def queue_size(*, queue: QueueBase) -> Any:
    """Return the number of elements in a queue."""
    return np.asarray(len(queue.contents()), np.int32)
