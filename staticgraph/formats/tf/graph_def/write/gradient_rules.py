"""The derivatives of ops as nodes that TensorFlow has, for any shapes: one short rule each.

A rule takes what stands for the operation (`Given`) and the derivatives of its outputs, and gives one for
each of its inputs, None for what there is none by. Instead of a list it gives None if the rule does not
apply. Most ops need no rule: their own formula holds for any shapes (`differentiation/formulas.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.summation import parts
from staticgraph.formats.tf.graph_def.nodes import constant
from staticgraph.formats.tf.graph_def.write.accumulated import Rows
from staticgraph.formats.tf.graph_def.write.kept_rows import Source


class NoRule(Exception):
    """There are no nodes of TensorFlow's for a derivative."""


class Backward(Protocol):
    """Derivatives that are being built."""

    def value(self, source: Source) -> Tensor: ...
    def like(self, tensor: Tensor) -> Tensor: ...
    def is_array(self, tensor: Tensor) -> bool: ...
    def node(
        self, type: str, inputs: Sequence[Tensor], attrs: Mapping[str, Any], outputs: Sequence[TensorType]
    ) -> list[Tensor]: ...
    def forward(self, op: Operation, at: int, type: TensorType) -> Tensor: ...
    def attributes(self, op: Operation, type: str) -> dict[str, Any]: ...


class Given:
    """An operation, and what stands for its tensors."""

    def __init__(self, at: Backward, op: Operation) -> None:
        self._at = at
        self.op = op
        self.attrs = op.attrs

    @property
    def inputs(self) -> list[Tensor]:
        return [self._at.value(t) for t in self.op.tensors]

    def input(self, place: int) -> Tensor:
        return self._at.value(self.op.tensors[place])

    def like(self, place: int) -> Tensor:
        """Something of the shape of an input."""
        return self._at.like(self.op.tensors[place])

    def is_array(self, place: int) -> bool:
        """Return True if an input is a tensor array. Each row of a tensor array is written once."""
        return self._at.is_array(self.op.tensors[place])

    def output(self, at: int = 0) -> Tensor:
        return self._at.value(self.op.outputs[at])

    def operand(self, name: str) -> Any:
        """A number, a list or a tensor, or None if none was given."""
        if name not in self.op.operands:
            return self.attrs.get(name)
        return self._at.value(self.op.operands[name])

    def known(self, name: str) -> Any:
        """An operand whose value is known while the graph is built."""
        given = self.op.operands.get(name, self.attrs.get(name))
        value = static_value(given) if isinstance(given, Tensor) else given
        if isinstance(given, Tensor) and value is None:
            raise NoRule(f"{self.op.name} ({self.op.type}) takes its {name} from what is fed")
        return np.asarray(value).tolist() if value is not None else None

    def rank(self) -> int:
        """The number of axes of the first input."""
        rank = self.op.tensors[0].type.rank
        if rank is None:
            raise NoRule(f"{self.op.tensors[0].name} has no known number of axes")
        return rank

    def node(self, type: str, inputs: Sequence[Tensor], *like: Tensor, **attrs: Any) -> list[Tensor]:
        """A node of TensorFlow's, with the attributes that this operation shares with it; what it gives is of
        the types of `like`.
        """
        told = {**self._at.attributes(self.op, type), **attrs}
        if like:
            told.setdefault("T", like[0].dtype)
        return self._at.node(type, inputs, told, [t.type for t in like])

    def more(self, at: int, like: Tensor) -> Tensor:
        """An output that only TensorFlow's node has, of the dtype of `like`."""
        return self._at.forward(self.op, at, TensorType(like.dtype, None))


Rule = Callable[..., Sequence[Any] | None]
RULES: dict[str, Rule] = {}


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def declare(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return declare


# Shapes


@_rule("gather")
def _gather(at: Given, g: Tensor) -> Sequence[Any]:
    if at.known("axis") or at.attrs.get("batch_dims"):
        raise NoRule(f"{at.op.name} ({at.op.type}) gathers along an axis that is not the first")
    return [Rows(at.input(1), g), None]


@_rule("pick")
def _pick(at: Given, g: Tensor) -> Sequence[Any]:
    if at.attrs["axis"] % at.rank():
        raise NoRule(f"{at.op.name} ({at.op.type}) picks along an axis that is not the first")
    index, count = at.input(1), ops.shape_of(at.like(0), out_type=at.op.tensors[1].dtype)[0]
    return [Rows(ops.select(index < 0, index + count, index), g), None]


# Tensor arrays


@_rule("identity")
def _same(_: Given, g: Tensor) -> Sequence[Any]:
    return [g]  # whatever the identity is of: a tensor array has no value


@_rule("tensor_array_write", "tensor_array_scatter")
def _array_written(at: Given, g: Tensor) -> Sequence[Any]:
    index = at.input(1)
    row = ops.gather(g, index, axis=0)
    return [g if at.is_array(0) else Rows(index, -row).added_to(g), None, row]


@_rule("tensor_array_grow")
def _array_grown(at: Given, g: Tensor) -> Sequence[Any]:
    return [g if at.is_array(0) else g[: ops.shape_of(at.input(0))[0]]]


# Products


@_rule("einsum")
def _einsum(at: Given, g: Tensor) -> Sequence[Any]:
    letters, result = parts(at.attrs["equation"])
    made = []
    for place, (name, x) in enumerate(zip(letters, at.inputs, strict=True)):
        others = [each for each in range(len(letters)) if each != place]
        named = [result, *(letters[each] for each in others)]
        found = "".join(letter for letter in name if letter in "".join(named))
        equation = f"{','.join(named)}->{found}"
        by_x = ops.einsum([g, *(at.input(each) for each in others)], equation=equation)
        if found != name:  # it was summed over the axes of this operand alone
            keep, shape = constant([letter in found for letter in name], int32), ops.shape_of(x)
            by_x = ops.broadcast_to(ops.reshape(by_x, shape=shape * keep + (1 - keep)), shape=shape)
        made.append(by_x)
    return made


# Layers


@_rule("resize_bilinear")
def _resize_bilinear(at: Given, g: Tensor) -> Sequence[Any]:
    [x] = at.inputs
    return at.node("ResizeBilinearGrad", [g, x], x)


@_rule("fused_batch_norm")
def _batch_norm(at: Given, g: Tensor | None, *rest: Tensor | None) -> Sequence[Any] | None:
    if g is None or any(each is not None for each in rest):
        return None  # TensorFlow's takes the moments as constants
    x, scale, _, mean, variance = at.inputs
    kept = [at.more(number, scale) for number in (3, 4, 5)]
    if not at.attrs["is_training"]:
        kept[:2] = [mean, variance]
    made = at.node("FusedBatchNormGradV3", [g, x, scale, *kept], x, scale, scale, U=scale.dtype)
    return [*made, None, None]
