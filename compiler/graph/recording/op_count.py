"""The number of operations that TensorFlow 1.15 would have made for a graph so far.

Default seeds are made of it, so initial weights are TensorFlow's only if it is the same at each random op.
Most functions make as many here as there; one that does not says so by `counted_as`, `count_more` or
`set_op_count`. For each tensor that a loop or a branch uses from outside TensorFlow makes an `Enter` or a
`Switch`: these are counted by what the operations of a region use.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor


class BackwardCount(NamedTuple):
    """Operations of TensorFlow's gradient functions, for an operation that is several in TensorFlow.

    Attributes:
        operations: The number of operations.
        by_input: The number of operations more for each input that a derivative is asked by.
        gates: Operations that let cotangents wait for each other.
        added: If they come to those of the operation itself.
    """

    operations: int
    by_input: int = 0
    gates: int = 0
    added: bool = False


class _Count:
    """Corrections of the number of operations of a graph, each from one of its operations on."""

    def __init__(self) -> None:
        self.corrections: list[tuple[int, Operation | None, int]] = []
        self.captured: set[tuple[Hashable, Hashable]] = set()
        self.loops: dict[Region, Region] = {}  # the body of a loop -> its condition
        self.totals: dict[Region | None, int] = {}  # captures of each region so far, and reads of variables
        self.resources: set[Operation] = set()  # variables that are read anew by each operation
        self.backward: dict[Operation, BackwardCount] = {}  # of operations that are others in TensorFlow
        self.steps: dict[Operation, Callable[[], Tensor]] = {}  # several operations in TensorFlow
        self.loops_here: dict[Operation, Callable[[], Operation]] = {}  # loops that are others in TensorFlow
        self.later: list[tuple[int, Operation | None, Callable[[], int]]] = []  # counted when a seed asks
        self.settled = 0  # what was counted of that
        self.drawn: list[int] | None = None  # default seeds of the loop that is being built, if they are kept
        self.again: deque[int] = deque()  # default seeds of that loop, for its second building
        self.seen = 0  # operations whose captures are counted
        self.last: Operation | None = None  # the last of them

    def correction(self, graph: Any) -> int:
        """Return the difference to the number of operations in the graph. Corrections that were made after an
        operation that was taken back are taken back as well.
        """
        while self.corrections and not _is_there(graph, *self.corrections[-1][:2]):
            self.corrections.pop()
        return self.corrections[-1][2] if self.corrections else 0

    def correct(self, graph: Any, by: int) -> None:
        """Count `by` operations more from here on."""
        if by:
            last = graph.recorded[-1] if graph.recorded else None
            self.corrections.append((graph.version, last, self.correction(graph) + by))

    def scan(self, graph: Any) -> dict[Region | None, int]:
        """Return the number of captures of each region that are new since the last call; for None that of
        operations that read a variable.
        """
        if not _is_there(graph, self.seen, self.last):  # operations were taken back
            self.seen, self.last = 0, None
        new: dict[Region | None, int] = {}
        for op in graph.recorded[self.seen :]:
            # A lookup reads rows of the resource itself.
            if self.resources and op.type != "GatherV2":
                read = op.tensors if op.definition.effect is Effect.PURE else op.tensors[1:]
                new[None] = new.get(None, 0) + sum(tensor.op in self.resources for tensor in read)
            if op.region is not None:
                for tensor in op.tensors:
                    self.capture(tensor, tensor.op.region, op.region, new)
        self.seen, self.last = graph.version, graph.recorded[-1] if graph.recorded else None
        for region, number in new.items():
            self.totals[region] = self.totals.get(region, 0) + number
        return new

    def capture(
        self, key: Hashable, origin: Region | None, region: Region | None, new: dict[Region | None, int]
    ) -> None:
        """Note in `new` for which regions between `origin` and `region` the value `key` is a new capture."""
        while region is not None and region is not origin:
            there = self.loops.get(region, region)
            if (there, key) not in self.captured:
                self.captured.add((there, key))
                new[region] = new.get(region, 0) + 1
            region = region.parent


def _is_there(graph: Any, version: int, op: Operation | None) -> bool:
    return version == 0 or (version <= graph.version and graph.recorded[version - 1] is op)


def _of(graph: Any) -> _Count:
    found: _Count = graph.attached.setdefault(_Count, _Count())
    return found


def op_count(graph: Any) -> int:
    """Return the number of operations that TensorFlow would have made.

    Args:
        graph: A `Graph`.

    Returns:
        The number, which is `graph.version` unless something was corrected.
    """
    count = _of(graph)
    later, count.later = count.later, []
    count.settled += sum(number() for version, last, number in later if _is_there(graph, version, last))
    return _without_later(graph) + count.settled


def _without_later(graph: Any) -> int:
    count = _of(graph)
    count.correct(graph, sum(count.scan(graph).values()))
    version: int = graph.version
    return version + count.correction(graph)


def default_seed(graph: Any) -> int:
    """Return the second seed of a random operation that is made now, which has none of its own."""
    count = _of(graph)
    if graph.region is None:  # the initial value of a variable, which lies outside of all loops
        return op_count(graph)
    if count.again:
        return count.again.popleft()
    number = op_count(graph)
    if count.drawn is not None:
        count.drawn.append(number)
    return number


@contextmanager
def seeds_kept(graph: Any) -> Iterator[list[int]]:
    """Context in which a loop is built. Yields the list that gets the default seeds of its operations."""
    count = _of(graph)
    before, count.drawn = count.drawn, []
    try:
        yield count.drawn
    finally:
        count.drawn = before


@contextmanager
def built_again(graph: Any, seeds: Sequence[int]) -> Iterator[None]:
    """Context in which a loop is built once more: it does not count, and has the default seeds given."""
    count = _of(graph)
    before, count.again = count.again, deque(seeds)
    try:
        with counted_as(graph, 0):
            yield
    finally:
        count.again = before


def set_op_count(graph: Any, number: int) -> None:
    """Let the number of operations be `number` at this place of the graph."""
    _of(graph).correct(graph, number - op_count(graph))


def count_more(graph: Any, number: int) -> None:
    """Count `number` operations that TensorFlow makes at this place of the graph in addition."""
    _of(graph).correct(graph, number)


def count_later(graph: Any, number: Callable[[], int]) -> None:
    """Count what `number` returns, which is called if a seed is made of the number of operations."""
    last = graph.recorded[-1] if graph.recorded else None
    _of(graph).later.append((graph.version, last, number))


@contextmanager
def counted_as(graph: Any, number: int) -> Iterator[None]:
    """Context whose operations count as `number`, whatever they are.

    What they capture from outside of the regions that are open counts in addition, and so do resources that
    they read, unless nothing is counted.
    """
    start, around = _without_later(graph), graph.region.around if graph.region is not None else []
    count = _of(graph)
    regions = [None, *around] if number else around
    before = [count.totals.get(region, 0) for region in regions]
    yield
    count.scan(graph)  # or one of the contexts inside has scanned it
    more = sum(count.totals.get(region, 0) for region in regions) - sum(before)
    count.correct(graph, start + number + more - graph.version - count.correction(graph))


def count_backward(made: Tensor, count: BackwardCount) -> None:
    """Let the derivative of the operation that made a tensor count as `count`."""
    _of(made.graph).backward[made.op] = count


def backward_count(op: Operation) -> BackwardCount | None:
    """Return what the derivative of `op` counts as, if that was told."""
    return _of(op.graph).backward.get(op)


def count_steps(made: Tensor, steps: Callable[[], Tensor]) -> None:
    """Let the derivative of the operation that made a tensor count as that of the tensor of `steps`.

    The steps take the inputs of the operation. They are built if a seed asks, and taken back.
    """
    _of(made.graph).steps[made.op] = steps


def steps_of(op: Operation) -> Callable[[], Tensor] | None:
    """Return the function that builds TensorFlow's operations in place of `op`, if that was told."""
    return _of(op.graph).steps.get(op)


def count_loop_as(loop: Operation, build: Callable[[], Operation]) -> None:
    """Let the derivative of a loop count as that of the loop that `build` makes, with the same variables.

    It is built if a seed asks, and taken back.
    """
    _of(loop.graph).loops_here[loop] = build


def loop_as_tensorflow(loop: Operation) -> Callable[[], Operation] | None:
    """Return the function that builds TensorFlow's loop in place of `loop`, if that was told."""
    return _of(loop.graph).loops_here.get(loop)


def uncounted(graph: Any) -> Any:
    """Context whose operations do not count in default seeds."""
    return counted_as(graph, 0)


def count_captures(graph: Any, tensors: Sequence[Tensor], region: Region | None = None) -> None:
    """Count what `tensors` capture if `region`, or else the open region, uses them at this place."""
    count, new = _of(graph), dict[Region | None, int]()
    count.correct(graph, sum(count.scan(graph).values()))
    for tensor in tensors:
        count.capture(tensor, tensor.op.region, graph.region if region is None else region, new)
    count.correct(graph, sum(new.values()))


def count_handle(graph: Any, handle: Hashable, origin: Region | None) -> None:
    """Count what the use of a resource captures, which was made in the region `origin`."""
    count, new = _of(graph), dict[Region | None, int]()
    count.capture(handle, origin, graph.region, new)
    count.correct(graph, sum(new.values()))


def count_as_resource(variable: Operation, read: Operation) -> None:
    """Count for a new variable, and for each operation that reads it, what TensorFlow makes for resources."""
    graph = variable.graph
    _of(graph).resources |= {variable, read}
    count_more(graph, 1)


def is_resource(variable: Operation) -> bool:
    """Tell if a variable counts as a resource."""
    return variable in _of(variable.graph).resources


def share_captures(graph: Any, body: Region, condition: Region) -> None:
    """Let the body of a loop capture together with its condition."""
    _of(graph).loops[body] = condition
