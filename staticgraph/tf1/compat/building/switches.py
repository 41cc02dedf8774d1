"""`switch` and `merge` of `tensorflow.python.ops.control_flow_ops`, by which old scripts choose a branch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.tensor import Operation, Tensor

__all__ = ["merge", "switch"]


class _Gates:
    """The operations of `switch` in a graph: the condition of each, and the value at which it is taken."""

    def __init__(self) -> None:
        self.taken: dict[Operation, tuple[Tensor, bool]] = {}


class Merge(NamedTuple):
    """The result of `merge`."""

    output: Any
    value_index: Any


def switch(data: Any, pred: Any, dtype: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """Return `data` twice: for a `pred` that is False, and for one that is True.

    `merge` takes what was made of the one that is taken. In TensorFlow the operations behind the other one do
    not run. Here they do, so random numbers among them are drawn in every run.

    Args:
        data: A tensor.
        pred: A bool tensor, one truth value.
        dtype: The element type of `data` if it is no tensor.
        name: The name scope.

    Returns:
        A pair of tensors: the output for False, then the output for True.

    Raises:
        TypeError: If `pred` is not bool.

    >>> import staticgraph as sg
    >>> from staticgraph.tf1.compat.building.switches import merge, switch
    >>> x = sg.placeholder(sg.float32, [])
    >>> negative, positive = switch(x, x > 0)
    >>> y, _ = merge([-negative, positive])
    >>> with sg.Session() as sess:
    ...     float(sess.run(y, {x: -3.0}))
    3.0
    """
    with sg.name_scope(name, "Switch", [data, pred]):
        data = sg.convert_to_tensor(data, dtype=dtype, name="data")
        pred = sg.convert_to_tensor(pred, dtype=sg.bool, name="pred")
        with counted_as(data.graph, 1):
            outputs = sg.identity(data), sg.identity(data)
    gates = data.graph.attached.setdefault(_Gates, _Gates()).taken
    gates.update({output.op: (pred, bool(taken)) for taken, output in enumerate(outputs)})
    return outputs


def merge(inputs: Sequence[Any], name: str | None = None) -> Merge:
    """Return the one of some tensors that comes from the output of `switch` that is taken.

    Args:
        inputs: Tensors of one element type, each made of outputs of `switch`. If several of them are taken,
            the first counts.
        name: The name scope.

    Returns:
        A named tuple of `output`, the tensor, and `value_index`, its position as an int32 tensor.

    Raises:
        ValueError: If there is no input, or one is None.
    """
    if not inputs or any(each is None for each in inputs):
        raise misuse(ValueError, "merge(inputs): at least one tensor is needed, and none of them may be None")
    with sg.name_scope(name, "Merge", list(inputs)):
        tensors = [sg.convert_to_tensor(each, name="data") for each in inputs]
        graph = tensors[0].graph
        with counted_as(graph, 1):
            made, index = tensors[-1], sg.constant(len(tensors) - 1)
            for at in reversed(range(len(tensors) - 1)):
                this, other = _returning((tensors[at], sg.constant(at))), _returning((made, index))
                made, index = sg.cond(_taken(tensors[at]), this, other)
    return Merge(made, index)


def _returning(side: tuple[Tensor, Tensor]) -> Callable[[], tuple[Tensor, Tensor]]:
    return lambda: side


def _taken(tensor: Tensor) -> Tensor:
    """The condition under which a tensor has a value: that of each `switch` that it comes from."""
    gates: dict[Operation, tuple[Tensor, bool]] = tensor.graph.attached.setdefault(_Gates, _Gates()).taken
    taken, seen, stack = sg.constant(True), set[Operation](), [tensor.op]
    while stack:
        op = stack.pop()
        if op in seen:
            continue
        seen.add(op)
        if op in gates:
            pred, value = gates[op]
            taken = sg.logical_and(taken, pred if value else sg.logical_not(pred))
        stack += [each.op for each in op.all_inputs]
    return taken
