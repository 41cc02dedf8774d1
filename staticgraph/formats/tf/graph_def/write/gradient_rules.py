"""The derivatives of ops as nodes that TensorFlow has, for any shapes: one short rule each.

A rule takes what stands for the operation (`Given`) and the derivatives of its outputs, and gives one for
each of its inputs, None for what there is none by. Instead of a list it gives None if the rule does not
apply. Most ops need no rule: their own formula holds for any shapes (`differentiation/backward.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.shapes import TensorType, normalize_axes
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.linear_algebra.summation import parts
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


@_rule("top_k")
def _top_k(at: Given, g: Tensor | None, *_: Tensor | None) -> Sequence[Any]:
    """Each row of cotangents is written to its positions in the flat input."""
    if g is None:
        return [None]
    places, shape = at.output(1), ops.shape_of(at.like(0))
    rows = ops.reshape(places, shape=_stacked(constant(-1, int32), ops.shape_of(places)[-1]))
    first = ops.range(start=0, limit=ops.shape_of(rows)[0], delta=1, dtype=int32) * shape[-1]
    flat = ops.reshape(rows + ops.expand_dims(first, axis=-1), shape=(-1, 1))
    size = ops.reshape(ops.reduce_prod(shape, axis=(0,)), shape=(1,))
    return [ops.reshape(ops.scatter_nd(flat, ops.reshape(g, shape=(-1,)), shape=size), shape=shape)]


def _stacked(*numbers: Tensor) -> Tensor:
    return ops.concat([ops.reshape(each, shape=(1,)) for each in numbers], axis=0)


# Segments


@_rule("segment_sum")
def _segment_sum(at: Given, g: Tensor) -> Sequence[Any]:
    return [ops.gather(g, at.input(1), axis=0), None]


@_rule("segment_mean")
def _segment_mean(at: Given, g: Tensor) -> Sequence[Any]:
    ids = at.input(1)
    sizes = ops.segment_sum(ops.ones_like(ops.cast(ids, dtype=g.dtype)), ids)
    sizes = ops.reshape(sizes, shape=(-1, *[1] * (at.rank() - 1)))
    return [ops.gather(g / sizes, ids, axis=0), None]


@_rule("unsorted_segment_sum")
def _unsorted_segment_sum(at: Given, g: Tensor) -> Sequence[Any]:
    """Rows with a negative id were dropped."""
    ids = at.input(1)
    rows = ops.gather(g, ops.maximum(ids, ops.zeros_like(ids)), axis=0)
    if ids.type.rank is None:
        raise NoRule(f"{ids.name} has no known number of axes")
    kept = ids >= 0
    for _ in range(at.rank() - ids.type.rank):
        kept = ops.expand_dims(kept, axis=-1)
    return [rows * ops.cast(kept, dtype=rows.dtype), None]


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


@_rule("reduce_prod")
def _reduce_prod(at: Given, g: Tensor) -> Sequence[Any]:
    """Each element times the product of the others: no division, so that zeros are right."""
    x, rank = at.input(0), at.rank()
    axes = normalize_axes(at.known("axis"), rank)
    if not axes:
        return [g]
    order = [d for d in range(rank) if d not in axes] + list(axes)
    moved = ops.transpose(x, perm=order)
    shape = ops.shape_of(moved)
    count = ops.reduce_prod(shape[rank - len(axes) :], axis=(0,))
    rows = ops.reshape(moved, shape=_stacked(constant(-1, int32), count))
    before, after = (ops.cumprod(rows, axis=1, exclusive=True, reverse=back) for back in (False, True))
    others = ops.transpose(ops.reshape(before * after, shape=shape), perm=np.argsort(order).tolist())
    if not at.attrs.get("keepdims"):
        for axis in axes:
            g = ops.expand_dims(g, axis=axis)
    return [g * (ops.conj(others) if x.dtype.is_complex else others)]


@_rule("matrix_determinant")
def _matrix_determinant(at: Given, g: Tensor) -> Sequence[Any]:
    each = ops.expand_dims(ops.expand_dims(g * at.output(), axis=-1), axis=-1)
    return [each * ops.matrix_inverse(at.input(0), adjoint=True)]


# Layers


@_rule("resize_nearest_neighbor")
def _resize_nearest(at: Given, g: Tensor) -> Sequence[Any]:
    [x] = at.inputs
    return at.node("ResizeNearestNeighborGrad", [g, ops.shape_of(x)[1:3]], x)


@_rule("resize_bicubic")
def _resize_bicubic(at: Given, g: Tensor) -> Sequence[Any]:
    [x] = at.inputs
    return at.node("ResizeBicubicGrad", [g, x], x)


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
