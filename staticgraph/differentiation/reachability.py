"""Gradient flow in a user's graph: walks over operations, in time linear in the operations they visit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from staticgraph.compiler.capture.prune import gradient_places
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.differentiation.gradient_functions import overridden_inputs


def source(tensor: Tensor, through_writes: bool = True) -> Tensor:
    """Return what `tensor` is for differentiation: the variable's own tensor if it is a variable's operand.

    The same holds for the result of an assignment, if `through_writes`: it passes no derivative on to what is
    assigned. Any other tensor is its own source.
    """
    owner = variable_of(tensor, through_writes)
    return tensor if owner is None else owner.outputs[0]


def differentiable_inputs(op: Operation) -> Iterator[int]:
    """Yield the positions of the inputs that gradients flow to, as far as op and dtypes say."""
    given = overridden_inputs(op)
    positions = gradient_places(op) if given is None else given
    for position in positions:
        if op.tensors[position].dtype.is_differentiable:
            yield position


def flat_inputs(op: Operation) -> Iterator[int]:
    """Yield the positions of the inputs by which the derivative is zero between kinks."""
    if overridden_inputs(op) is None:
        for position in op.definition.flat:
            if op.tensors[position].dtype.is_differentiable:
                yield position


def lacking_inputs(op: Operation) -> Iterator[int]:
    """Yield the positions of the inputs that gradients would flow to if a formula were known."""
    if overridden_inputs(op) is None:
        for position in op.definition.lacking_inputs(len(op.tensors)):
            if op.tensors[position].dtype.is_differentiable:
                yield position


class Uses:
    """The paths along which a derivative of `ys` flows: the
    uses of each tensor on them, by `source` tensor.
    """

    def __init__(self, ys: Iterable[Tensor], stop: Iterable[Tensor] = ()) -> None:
        stopped = {source(t) for t in stop}
        roots = [source(y) for y in ys if y.dtype.is_differentiable]
        self._roots = set(roots)
        self._uses: dict[Tensor, list[tuple[Operation, int]]] = {}
        self._lacking: dict[Tensor, Operation] = {}  # operations without gradient, by input
        self._flat: set[Tensor] = set()  # inputs by which the derivative is zero
        seen: set[Tensor] = set()
        done: set[Operation] = set()
        stack = list(roots)
        while stack:
            tensor = stack.pop()
            if tensor in seen:
                continue
            seen.add(tensor)
            if tensor in stopped or tensor.op in done:
                continue
            done.add(tensor.op)
            for position in differentiable_inputs(tensor.op):
                used = source(tensor.op.tensors[position])
                self._uses.setdefault(used, []).append((tensor.op, position))
                stack.append(used)
            self._flat.update(source(tensor.op.tensors[n]) for n in flat_inputs(tensor.op))
            for position in lacking_inputs(tensor.op):
                self._lacking.setdefault(source(tensor.op.tensors[position]), tensor.op)
        self._reached = seen
        self._stopped = stopped

    def reaches(self, x: Tensor) -> bool:
        """Return if a derivative by `x` can be other than nothing."""
        return source(x) in self._reached

    def is_zero(self, x: Tensor) -> bool:
        """Return True if the derivative by `x` is zero since all paths lead through an op that is flat there.

        Example: the second derivative of `relu`. Such a derivative exists, other than that of `floor`.
        """
        if self.reaches(x) or not self._flat:
            return False
        return self._above.reaches(x) or self._above.is_zero(x)

    @cached_property
    def _above(self) -> Uses:
        """The paths to the inputs of flat operations."""
        return Uses(self._flat, self._stopped)

    def of(self, x: Tensor) -> list[tuple[Operation, int]] | None:
        """Return the operations that use `x` on those paths, each with the position of the input.

        Uses of the tensors that `read_value` gives are uses of the variable. None if `x`, or one of these
        tensors, is itself among the `ys`.
        """
        found = []
        stack = [source(x)]
        for tensor in stack:  # grows while it is walked
            if tensor in self._roots:
                return None
            for op, position in self._uses.get(tensor, ()):
                if op.definition.name == "read_value":
                    stack.append(op.outputs[0])
                else:
                    found.append((op, position))
        return found

    def between(self, xs: Iterable[Tensor]) -> set[Operation]:
        """Return the operations on paths from one of `xs` to one of the ys."""
        found: set[Operation] = set()
        stack = [source(x) for x in xs]
        while stack:
            for op, _ in self._uses.get(stack.pop(), ()):
                if op not in found:
                    found.add(op)
                    stack += map(source, op.outputs)
        return found

    def lacking(self, xs: Iterable[Tensor]) -> tuple[Operation, Tensor] | None:
        """Return an operation without gradient through which a path leads from one of `xs` to one of the ys,
        and that x.
        """
        if not self._lacking:
            return None
        above = Uses(self._lacking, self._stopped)
        x = next((x for x in xs if above.reaches(x)), None)
        if x is None:
            return above.lacking(xs)
        return next(op for t, op in self._lacking.items() if Uses([t], self._stopped).reaches(x)), x


def path(x: Tensor, ys: Iterable[Tensor]) -> list[tuple[Tensor, Operation]]:
    """A shortest way from `x` to one of `ys`, differentiable
    or not: each tensor with the operation that takes it.
    """
    start = source(x)
    taken_by: dict[Tensor, tuple[Operation, Tensor] | None] = {source(y, False): None for y in ys}
    queue = list(taken_by)
    for tensor in queue:  # grows while it is walked
        if tensor is start:
            break
        for used in (source(t, through_writes=False) for t in tensor.op.all_inputs):
            if used not in taken_by:
                taken_by[used] = (tensor.op, tensor)
                queue.append(used)
    steps = []
    step = taken_by.get(start)
    at = start
    while step is not None:
        op, made = step
        steps.append((at, op))
        at, step = made, taken_by[made]
    return steps
