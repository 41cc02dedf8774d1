"""The state of a capture, as far as the operations need it that are captured in files of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from staticgraph.compiler.capture.calls import Calls
from staticgraph.compiler.capture.reads import Reads
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.tensor import Operation, Tensor


class CaptureState(Protocol):
    """A graph on its way into a Function. See `Capture`, which has all of this and more.

    Attributes:
        build: The builder of the Function.
        calls: The host operations around the segment.
        checks: True if the step checks what operations require of their numbers.
        values: The value of each tensor that is captured so far.
        state: The present value of each variable.
        counts: The present states of random operations in loops.
        order: The number that the next effect takes.
        sound: True in a run if all that operations required so far has held.
        inner: The fetched tensors inside of loops and branches, by the loop or branch.
        entered: The branches of which only tensors inside are wanted.
        counted: The loops whose trip count is fetched.
        loops: The loop of each family.
        reads: The reads of variables that derivatives are taken by.
        fed: The parameter of each fed tensor.
        fed_variables: The parameter of each variable that is fed.
        overridden: The fed tensors that are computed too, since derivatives flow through them.
        known: Constants that stand for parameters, where a segment is compiled for their value.
    """

    build: Builder
    calls: Calls
    checks: bool
    values: dict[Tensor, Value]
    state: dict[Operation, Value]
    counts: dict[Operation, Value]
    order: Value
    sound: Value
    inner: dict[Operation, list[Tensor]]
    entered: set[Operation]
    counted: set[Operation]
    loops: dict[int, Operation]
    reads: Reads
    fed: dict[Tensor, Value]
    fed_variables: dict[Operation, Value]
    overridden: set[Tensor]
    known: dict[Value, Value]

    def value(self, tensor: Tensor) -> Value:
        """Return the value of a tensor for an operation that is captured now."""

    def variable(self, owner: Operation) -> Value:
        """Return the present value of a variable."""

    def counter(self, op: Operation) -> Value:
        """Return the present state of a random operation."""

    def operand(self, op: Operation, name: str, tensor: Tensor) -> Any:
        """Return the value of a shape, an axis and the like as a Python value."""

    def flag(self, value: Value) -> Value:
        """Return a truth value, as a constant if fed truth values decide it."""

    def rounds_known(self, op: Operation) -> int | None:
        """Return a bound of the trip count of a loop, if an earlier segment has found it out."""

    def perform_all(self, operations: Iterable[Operation]) -> None:
        """Capture operations in this order."""
