"""Values of tensors, as far as they are known while the graph is built.

Shapes are often computed in the graph: `reshape(x, [shape(x)[0], 100])`. Such computations consist of a few
ops, which are computed here. They work on arrays if all is known, and on tuples with None for entries that
depend on feeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.builder import may_fold, plain
from staticgraph.compiler.graph.errors import OpError
from staticgraph.compiler.graph.opdef import Effect, Kind, OpDef
from staticgraph.compiler.graph.tensor import Operation, Tensor

LARGEST = 1024  # elements: shapes are short, and nothing large is computed while the graph is built
_MOST = 1 << 20  # elements that are put together from known ones: a few nodes can double them again and again
DEEPEST = 200  # ops between a shape and the constants that it is made of


def static_value(tensor: Tensor, partial: bool = False) -> Any:
    """Return what is known of a tensor's value while the graph is built: plain numbers and tuples, or None.

    With `partial`, a vector may come back as a tuple in which None stands for entries that depend on feeds.
    """
    value = _value(tensor, {}, DEEPEST)
    if value is None:
        shape = tensor.type.shape
        length = shape[0] if partial and shape is not None and len(shape) == 1 else None
        return (None,) * length if length and length <= _MOST else None
    if isinstance(value, tuple) and None in value and not partial:
        return None
    return plain(value)


# Operations whose values TensorFlow, too, knows while it builds a graph.
_SHAPES = {"rank", "shape", "size"}
_TOLD = {"cast", "concat", "constant", "equal", "fill", "not_equal", "range", "stack"}


def is_told(tensor: Tensor) -> bool:
    """Return True if TensorFlow, too, knows the value of a tensor while the graph is built.

    More is known of tensors than that. An error about a value stops the program where it builds the graph
    only if it would do so in TensorFlow: an operation in a branch may never run.
    """
    op = tensor.op
    operands = (*op.tensors, *op.operands.values())
    return op.definition.name in _SHAPES or (op.definition.name in _TOLD and all(map(is_told, operands)))


def decided(flag: Any) -> Any:
    """Return a flag such as `training` as a bool if it is known now, else the tensor that it is.

    A constant tensor chooses a branch here and now, as in TensorFlow. A variable is read at each run.

    >>> import staticgraph as sg
    >>> from staticgraph.compiler.graph.static_value import decided
    >>> decided(sg.constant(True)), decided(1)
    (True, True)
    """
    if hasattr(flag, "to_tensor"):
        flag = flag.to_tensor()
    if not isinstance(flag, Tensor):
        return bool(flag)
    known = static_value(flag)
    return flag if known is None else bool(known)


def _value(tensor: Tensor, memo: dict[Tensor, Any], depth: int) -> Any:
    """An array, a tuple of ints and Nones, or None."""
    if tensor not in memo:
        memo[tensor] = None
        op = tensor.op
        definition = op.definition
        if definition.name == "constant":
            memo[tensor] = op.attrs["value"].array
        elif depth > 0 and _is_carried_out(definition):
            memo[tensor] = _computed(op, tensor.value_index, memo, depth - 1)
    return memo[tensor]


class _Values(Sequence[Any]):
    """The values of an operation's inputs. A value is computed when it is first asked for: most rules of
    shapes look at types alone, and whole nets may lie before their inputs.
    """

    def __init__(self, tensors: Sequence[Tensor], memo: dict[Tensor, Any], depth: int) -> None:
        self._tensors, self._memo, self._depth = tensors, memo, depth

    def __getitem__(self, index: Any) -> Any:
        return _value(self._tensors[index], self._memo, self._depth)

    def __len__(self) -> int:
        return len(self._tensors)


def _is_carried_out(definition: OpDef) -> bool:
    """Return True if an op may be computed while the graph is built. Host calls may not: they can be slow."""
    pure = definition.effect is Effect.PURE and definition.kind is not Kind.HOST
    return pure and bool(definition.static or definition.reference)


def _computed(op: Operation, index: int, memo: dict[Tensor, Any], depth: int) -> Any:
    """One output of an operation, from what is known of its inputs."""
    definition, type = op.definition, op.outputs[index].type
    if type.is_static and type.size > _MOST:
        return None
    attrs = dict(op.attrs)
    for param, operand in op.operands.items():
        value = _value(operand, memo, depth)
        if value is None:
            return None
        attrs[param] = plain(value)
    attrs = {p.name: attrs[p.name] for p in definition.params if p.name in attrs}
    if definition.static is not None:
        found = definition.static([t.type for t in op.tensors], _Values(op.tensors, memo, depth), **attrs)
        if found is not None:
            return found[index] if len(op.outputs) > 1 else found
    if definition.reference is None or not type.is_static or not may_fold(definition, type, LARGEST):
        return None
    values = []
    for each in (*(_value(t, memo, depth) for t in op.tensors), *(attrs[name] for name in op.operands)):
        if each is None or (isinstance(each, tuple) and None in each):
            return None
        values.append(each)
    del values[len(op.tensors) :]
    if any(n > LARGEST for n in map(np.size, values)):
        return None
    try:
        with np.errstate(all="ignore"):
            made = definition.reference(*(np.asarray(v) for v in values), **attrs)
    except OpError:  # told when it runs, if it does
        return None
    return np.asarray(made[index] if isinstance(made, tuple) else made)
