"""Checks that sizes are equal: while the graph is built if they are known, and otherwise in a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.building.framework import control_dependencies
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.sizes import is_known, size_of
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import InvalidArgumentError, ShapeError, misuse
from staticgraph.compiler.graph.recording.op_count import uncounted
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor


def same_sizes(text: str, x: Tensor, others: Sequence[Tensor]) -> Tensor:
    """The sizes `x`, if the others are equal; InvalidArgumentError with `text` if they are not.

    The error comes while the graph is built if all sizes are known, and otherwise in a run.
    """
    known = [static_value(sizes) for sizes in (x, *others)]
    if None not in known:
        if any(list(each) != list(known[0]) for each in known[1:]):
            raise misuse(InvalidArgumentError, f"{text}: {' and '.join(str(list(each)) for each in known)}")
        return x
    with uncounted(x.graph):
        equal = [ops.reduce_all(ops.equal(x, each), axis=None) for each in others]
        checks = [holds(same, f"{text}:", [x, each]) for same, each in zip(equal, others, strict=True)]
        with control_dependencies(checks):
            return ops.identity(x)


def holds(condition: Tensor, text: str, data: Sequence[Tensor]) -> Any:
    """An operation that fails in a run where `condition` is False, and shows the data."""
    shown = (text, *(None for _ in data))
    return ops.assert_true(condition, data, shown=shown, summarize=-1, name="Assert")


def where_true(condition: Tensor, x: Tensor, text: str, data: Sequence[Tensor]) -> Tensor:
    """`x`, in runs in which `condition` is True; the others fail with the text and the data."""
    with control_dependencies([holds(condition, text, data)]):
        return ops.identity(x)


def beginning_alike(x: Tensor, y: Tensor, names: tuple[str, str]) -> Tensor:
    """Return `x`, whose shape must begin with that of `y`, of known rank.

    Args:
        x: A tensor of the rank of `y` or more.
        y: A tensor of known rank.
        names: The two in words, for messages.

    Raises:
        ShapeError: The sizes that are known contradict. Sizes known in a run alone are an
            InvalidArgumentError there.
    """
    rank = y.type.rank
    assert rank is not None
    first = x.shape[:rank] if x.shape.ndims is not None else x.shape
    if (x.shape.ndims is not None and x.shape.ndims < rank) or not first.is_compatible_with(y.shape):
        text = f"{names[0]} of shape {x.shape} must start with the shape of {names[1]}, {y.shape}"
        raise misuse(ShapeError, text)
    if first.is_fully_defined() and y.shape.is_fully_defined():
        return x
    with uncounted(x.graph):
        text = f"the shape of {names[0]} must start with that of {names[1]}"
        same = same_sizes(text, ops.shape_of(x)[:rank], [ops.shape_of(y)])
        with control_dependencies([same]):
            return ops.identity(x)


def as_long(what: str, tensor: Tensor, axis: int, other: Tensor, of: int) -> Tensor:
    """`tensor`, which must be as long along an axis as another one is along an axis of its own.

    Args:
        what: Both together, in the error's words.
        tensor: A tensor that has the axis, or is of unknown rank.
        axis: The axis.
        other: The other tensor.
        of: Its axis.

    Raises:
        ShapeError: If it is not. If a length is not known yet, an InvalidArgumentError comes when it is run.
    """
    if other is tensor and axis == of:
        return tensor
    with uncounted(tensor.graph):
        sizes = size_of(tensor, axis), size_of(other, of)
        text = f"{what}: {tensor.name} must be as long along axis {axis} as {other.name} along axis {of}:"
        if not is_known(*sizes):
            return where_true(ops.equal(*sizes), tensor, text, [convert_to_tensor(size) for size in sizes])
    if sizes[0] == sizes[1]:
        return tensor
    made = [(each.name, each.op.where) for each in (tensor, other)]
    raise misuse(ShapeError, f"{text} {sizes[0]} and {sizes[1]}", made=made)
