"""Assertions about ranks and sizes. What is known of shapes already is decided at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from staticgraph.arrays.array_ops import concat, rank, shape
from staticgraph.arrays.creation import ones
from staticgraph.building.framework import control_dependencies, graph_of, name_scope
from staticgraph.building.inputs import convert_to_tensor, group, no_op
from staticgraph.building.sizes import get_static_value
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.errors import ShapeError, misuse
from staticgraph.compiler.graph.recording.calls import snapshot
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.control_flow.assertions import Assert
from staticgraph.debugging.types import assert_type
from staticgraph.mathematics.reductions import reduce_any

Data = Sequence[Any] | None


def assert_rank(
    x: Any,
    rank: Any,
    data: Data = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless `x` has `rank` axes. ValueError at once where its rank is known.

    >>> sg.assert_rank(sg.zeros([2, 3]), 2).type
    'NoOp'
    """
    return _check_rank("assert_rank", "rank", ops.equal, x, [rank], data, summarize, message, name)


def assert_rank_at_least(
    x: Any,
    rank: Any,
    data: Data = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless `x` has `rank` axes or more. ValueError at once where that is known."""
    least = "rank at least"
    return _check_rank(
        "assert_rank_at_least", least, ops.greater_equal, x, [rank], data, summarize, message, name
    )


def assert_rank_in(
    x: Any,
    ranks: Iterable[Any],
    data: Data = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless the number of axes of `x` is one of `ranks`. ValueError at once where
    its rank is known.
    """
    return _check_rank("assert_rank_in", "rank in", ops.equal, x, list(ranks), data, summarize, message, name)


def _check_rank(
    what: str,
    relation: str,
    holds: Any,
    x: Any,
    ranks: list[Any],
    data: Data,
    summarize: int | None,
    message: str | None,
    name: str | None,
) -> Operation:
    """The assertion that the rank of `x` stands in a relation to one of `ranks`."""
    with graph_of([x]).as_default(), name_scope(name, what, [x]):
        x = convert_to_tensor(x, name="x")
        wanted = [convert_to_tensor(r, name="rank") for r in ranks]
        for each in wanted:
            assert_type(each, int32)
            if each.shape.ndims not in (None, 0):
                raise misuse(ShapeError, f"{what}: a rank is one number, not {each.type}")
        known = [get_static_value(r) for r in wanted]
        found = x.shape.ndims
        if found is not None and all(k is not None for k in known):
            assert holds.reference is not None
            if not any(holds.reference(found, k) for k in known):
                numbers = ", ".join(map(str, known))
                text = f"{x.name} must have {relation} {numbers}, and has shape {x.shape}"
                raise _violation(text, x, message)
            count_more(x.graph, len(ranks) == 1)  # TensorFlow also notes the rank that was found
            return no_op(name="static_checks_determined_all_ok")
        if data is None:
            data = [f"Tensor {x.name} must have {relation}", *wanted, "Received shape: ", shape(x)]
        condition = reduce_any(ops.stack([holds(rank(x), r) for r in wanted]))
        return Assert(condition, [message, *data] if message else data, summarize=summarize)


def _violation(text: str, tensor: Tensor, message: str | None) -> ShapeError:
    headline = f"{message}: {text}" if message else text
    hint = "expand_dims, squeeze and reshape change the number of axes"
    return misuse(ShapeError, headline, hint, made=[(tensor.name, tensor.op.where)])


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """`tensor`; ValueError unless it is known to have no axes."""
    with name_scope(name, "assert_scalar", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name=scope)
        if tensor.shape.ndims != 0:
            raise _violation(
                f"{tensor.name} must be one number, and has shape {tensor.shape}", tensor, message
            )
        return snapshot(tensor)


# Sizes with names


@dataclass(frozen=True, slots=True)
class _Sized:
    """A tensor and what is demanded of the sizes of its axes: of the last ones only, if it is `open`."""

    tensor: Tensor
    demanded: tuple[Any, ...]
    open: bool

    def named_axes(self) -> Iterator[tuple[int, Any]]:
        """The axes that something is demanded of, with what."""
        first = -len(self.demanded) if self.open else 0
        return ((axis, each) for axis, each in enumerate(self.demanded, first) if each not in (None, "."))

    def size(self, axis: int) -> int | Tensor:
        """The size of an axis, a number where it is known. A scalar counts as one axis of size 1."""
        static = self.tensor.type.shape
        if static is None:
            sizes = shape(self.tensor)
            return concat([sizes, ones([ops.maximum(1 - rank(self.tensor), 0)], int32)], 0)[axis]
        known = (static or (1,))[axis]
        return shape(self.tensor)[axis] if known is None else known


def assert_shapes(
    shapes: Any,
    data: Data = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless tensors have shapes of a common pattern. ValueError if it is known.

    `shapes` has pairs of a tensor and its shape, or is a dict of these. In a shape, a number is a size; None
    and `"."` are any size; anything else is the name of a size, the same wherever it stands. One that begins
    with `...` or `"*"` speaks of the last axes only. A scalar counts as a vector with one element.

    >>> x, y = sg.zeros([2, 3]), sg.zeros([2, 5])
    >>> sg.debugging.assert_shapes([(x, ("n", "d")), (y, ("n", 5))]).type
    'NoOp'
    """
    pairs = shapes.items() if isinstance(shapes, Mapping) else shapes
    with name_scope(name, "assert_shapes", [shapes, data]):
        sized = [_sized(convert_to_tensor(x), s, message) for x, s in pairs if s is not None]
        ranks = [_demand_rank(each, data, summarize, message) for each in sized]
        sizes = []
        named: dict[Any, tuple[int | Tensor, str]] = {}
        for each in sized:
            for axis, symbol in each.named_axes():
                number = _number(symbol)
                if number is not None:
                    wanted: tuple[int | Tensor, str] = number, "specified explicitly"
                elif symbol in named:
                    wanted = named[symbol]
                else:
                    named[symbol] = each.size(axis), f"specified by {each.tensor.name} dimension {axis}"
                    continue
                sizes.append(_demand_size(each, axis, wanted, data, summarize, message))
        with control_dependencies([check for check in ranks if check is not None]):
            return group(*(check for check in sizes if check is not None))


def _sized(tensor: Tensor, wanted: Any, message: str | None) -> _Sized:
    if not isinstance(wanted, Iterable):
        raise _violation(
            f"the shape of {tensor.name} must be a list of sizes, not {wanted!r}", tensor, message
        )
    symbols = tuple(wanted)
    if any(s in (Ellipsis, "*") for s in symbols[1:]):
        text = f"the shape of {tensor.name} is {symbols}, ... and * may only stand in front"
        raise _violation(text, tensor, message)
    is_open = bool(symbols) and symbols[0] in (Ellipsis, "*")
    return _Sized(tensor, symbols[is_open:] or (1,), is_open)


def _demand_rank(each: _Sized, data: Data, summarize: int | None, message: str | None) -> Operation | None:
    count = len(each.demanded)
    if each.open:
        return None if count == 1 else assert_rank_at_least(each.tensor, count, data, summarize, message)
    return assert_rank_in(each.tensor, [0, 1] if count == 1 else [count], data, summarize, message)


def _demand_size(
    each: _Sized,
    axis: int,
    wanted: tuple[int | Tensor, str],
    data: Data,
    summarize: int | None,
    message: str | None,
) -> Operation | None:
    """The assertion about one size. None if it is known to hold."""
    tensor, size, (number, source) = each.tensor, each.size(axis), wanted
    if isinstance(size, int) and isinstance(number, int):
        if size != number:
            text = f"{tensor.name} must have size {number} in dimension {axis}, {source}; it has {size}"
            raise _violation(text, tensor, message)
        return None
    if data is None:
        what = f"Tensor {tensor.name} dimension {axis} must have size"
        data = [source, what, number, "Received shape: ", shape(tensor)]
    return Assert(ops.equal(size, number), [message, *data] if message else data, summarize=summarize)


def _number(symbol: Any) -> int | None:
    """A size that is written as a number, also in a text."""
    try:
        return int(symbol)
    except (TypeError, ValueError):
        return None
