"""Maps a computation over the rows of tensors by a loop: what all rows need stays in the cache."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import bool_, int32
from staticgraph.compiler.graph.function import Function, Value
from staticgraph.compiler.graph.opdef import OPS, ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, Size

Compute = Callable[..., Value]
# What a round makes of its number, the count of rounds, and its value: what is carried before and after it.
_Carry = Callable[[Value, AnySize, Value], tuple[Value, Value]]


class RowLoops:
    """Makes loops over the rows of tensors. Equal ones have one body, which is made and compiled once.

    `compute` is called for the first of them, as `compute(what, *rows, *whole)` with values that stand for
    the rows of `tensors` at any position, and for what is the same for all.
    """

    def __init__(self) -> None:
        self._bodies: dict[Hashable, Function] = {}

    def map(
        self, compute: Compute, what: Hashable, tensors: Sequence[Value], whole: Sequence[Value] = ()
    ) -> Value:
        """Return the results of `compute` at all positions, stacked along a new first axis."""
        body = self._body(_put, compute, what, tensors, whole)
        rows = body.params[1]
        return _loop(body, ops.unset(dtype=rows.dtype, shape=rows.shape), tensors, whole)

    def sum(
        self, compute: Compute, what: Hashable, tensors: Sequence[Value], whole: Sequence[Value] = ()
    ) -> Value:
        """The sum of what is computed at each position."""
        body = self._body(_add, compute, what, tensors, whole)
        total = body.params[1]
        zero = total.recorder.constant(0, total.dtype)
        return _loop(body, ops.fill(zero, dims=total.shape), tensors, whole)

    def _body(
        self,
        carry: _Carry,
        compute: Compute,
        what: Hashable,
        tensors: Sequence[Value],
        whole: Sequence[Value],
    ) -> Function:
        types = tuple(v.type for v in (*tensors, *whole))
        key = carry, compute, what, types
        if key not in self._bodies:
            build: Builder = tensors[0].recorder
            with build.at(None):  # the loops are from lines of the user's
                i = build.fresh_parameter("number", TensorType(int32, ()))
                taken = [build.fresh_parameter("captured", type) for type in types]
                rows = [ops.gather(tensor, i) for tensor in taken[: len(tensors)]]
                count = tensors[0].shape[0]
                before, after = carry(i, count, compute(what, *rows, *taken[len(tensors) :]))
                again = i + 1 < build.constant(count, int32)
                self._bodies[key] = Function((i, before, *taken), (again, i + 1, after))
        return self._bodies[key]


def _put(i: Value, count: AnySize, row: Value) -> tuple[Value, Value]:
    rows = row.recorder.fresh_parameter("rows", TensorType(row.dtype, (count, *row.shape)))
    return rows, ops.row_update(rows, i, row)


def _add(i: Value, count: AnySize, row: Value) -> tuple[Value, Value]:
    total = row.recorder.fresh_parameter("total", row.type)
    return total, total + row


def _loop(body: Function, first: Value, tensors: Sequence[Value], whole: Sequence[Value]) -> Value:
    """Return the final value that a loop carries, if it begins as `first`."""
    build: Builder = first.recorder
    attrs = {
        "body": body,
        "carried": 2,
        "family": build.serial,
        "bound": tensors[0].shape[0],
        "exact": True,
        "brief": True,
    }  # fmt: skip
    count = tensors[0].shape[0]
    some = build.constant(count, int32) > 0 if isinstance(count, Size) else build.constant(True, bool_)
    inputs = some, build.constant(0, int32), first, *tensors, *whole
    return build.node(OPS["loop"], inputs, attrs).outputs[1]
