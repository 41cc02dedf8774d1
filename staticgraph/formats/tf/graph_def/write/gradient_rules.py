"""The derivatives of ops as nodes that TensorFlow has, for any shapes: one short rule each.

A rule takes what stands for the operation (`Given`) and the derivatives of its outputs, and gives one for
each of its inputs, None for what there is none by. Ops that work element by element need no rule.
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
from staticgraph.compiler.ops.summation import parts
from staticgraph.formats.tf.graph_def.nodes import constant
from staticgraph.formats.tf.graph_def.write.accumulated import Rows
from staticgraph.formats.tf.graph_def.write.kept_rows import Source

__all__ = ["RULES", "Given", "NoRule"]


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
        """A number, a list or a tensor, or None where none was given."""
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

    def fitted(self, g: Tensor, x: Tensor) -> Tensor:
        """`g` summed over the axes along which `x` was repeated."""
        if g.type.shape == x.type.shape and g.type.is_static:
            return g
        if x.type.shape == ():
            return ops.reduce_sum(g, axis=None) if g.type.shape != () else g
        if g.type.is_static and x.type.is_static:
            extra = len(g.type.static_shape) - len(x.type.static_shape)
            sizes = (1,) * extra + x.type.static_shape
            both = zip(sizes, g.type.static_shape, strict=True)
            along = [axis for axis, (n, m) in enumerate(both) if n != m or axis < extra]
            return ops.reshape(ops.reduce_sum(g, axis=along), shape=list(x.type.static_shape))
        shapes = ops.shape_of(x), ops.shape_of(g)
        axes = TensorType(int32, (None,))
        repeated, _ = self._at.node("BroadcastGradientArgs", shapes, {"T": int32}, [axes, axes])
        [total] = self._at.node(
            "Sum", [g, repeated], {"T": g.dtype, "Tidx": int32}, [TensorType(g.dtype, None)]
        )
        return ops.reshape(total, shape=shapes[0])


Rule = Callable[..., Sequence[Any]]
RULES: dict[str, Rule] = {}


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def declare(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return declare


@_rule("identity", "read_variable", "read_value", "placeholder_with_default")
@_rule("check_numerics", "ensure_shape")
def _same(_: Given, g: Tensor) -> Sequence[Any]:
    return [g]


@_rule("stationary")
def _stationary(at: Given, g: Tensor) -> Sequence[Any]:
    return [None]


@_rule("print_values")
def _print(at: Given, g: Tensor) -> Sequence[Any]:
    return [g, *[None] * (len(at.op.tensors) - 1)]


# Shapes


@_rule("reshape", "expand_dims", "squeeze")
def _reshape(at: Given, g: Tensor) -> Sequence[Any]:
    return [ops.reshape(g, shape=ops.shape_of(at.inputs[0]))]


@_rule("broadcast_to")
def _broadcast(at: Given, g: Tensor) -> Sequence[Any]:
    return [at.fitted(g, at.inputs[0])]


@_rule("transpose")
def _transpose(at: Given, g: Tensor) -> Sequence[Any]:
    perm = at.known("perm")
    return [ops.transpose(g, perm=None if perm is None else np.argsort(perm).tolist())]


@_rule("reverse")
def _reverse(at: Given, g: Tensor) -> Sequence[Any]:
    return [ops.reverse(g, axis=at.known("axis"))]


@_rule("reverse_sequence")
def _reverse_sequence(at: Given, g: Tensor) -> Sequence[Any]:
    return [ops.reverse_sequence(g, at.input(1), **at.attrs), None]


@_rule("tile")
def _tile(at: Given, g: Tensor) -> Sequence[Any]:
    [x], rank = at.inputs, at.rank()
    multiples = ops.cast(at.operand("multiples"), dtype=int32)
    pairs = ops.reshape(ops.stack([multiples, ops.shape_of(x)], axis=1), shape=[-1])
    return [ops.reduce_sum(ops.reshape(g, shape=pairs), axis=list(range(0, 2 * rank, 2)))]


@_rule("concat")
def _concat(at: Given, g: Tensor) -> Sequence[Any]:
    xs, axis = at.inputs, at.known("axis") % at.rank()
    if len(xs) == 1:
        return [g]
    begin: Any = ops.zeros_like(ops.shape_of(xs[0]))
    along = constant(np.arange(at.rank()) == axis, int32)
    parts = []
    for x in xs:
        size = ops.shape_of(x)
        parts.append(ops.slice(g, begin=begin, size=size))
        begin = begin + size * along
    return parts


@_rule("split", "split_v")
def _split(at: Given, *gs: Tensor | None) -> Sequence[Any]:
    given = [ops.zeros_like(at.output(n)) if g is None else g for n, g in enumerate(gs)]
    return [ops.concat(given, axis=at.known("axis"))]


@_rule("stack")
def _stack(at: Given, g: Tensor) -> Sequence[Any]:
    count = len(at.op.tensors)
    parts = ops.unstack(g, num=count, axis=at.attrs["axis"])
    return parts if isinstance(parts, tuple) else [parts]


@_rule("unstack")
def _unstack(at: Given, *gs: Tensor | None) -> Sequence[Any]:
    given = [ops.zeros_like(at.output(n)) if g is None else g for n, g in enumerate(gs)]
    return [ops.stack(given, axis=at.attrs["axis"])]


@_rule("slice")
def _slice(at: Given, g: Tensor) -> Sequence[Any]:
    [x] = at.inputs
    begin = ops.cast(at.operand("begin"), dtype=int32)
    after = ops.shape_of(x) - begin - ops.shape_of(g)
    [made] = at.node("Pad", [g, ops.stack([begin, after], axis=1)], x, Tpaddings=int32)
    return [made]


@_rule("strided_slice")
def _strided_slice(at: Given, g: Tensor) -> Sequence[Any]:
    [x] = at.inputs
    begin, end = (ops.cast(at.operand(name), dtype=int32) for name in ("begin", "end"))
    steps = at.operand("strides")
    strides = ops.ones_like(begin) if steps is None else ops.cast(steps, dtype=int32)
    [made] = at.node("StridedSliceGrad", [ops.shape_of(x), begin, end, strides, g], x, Index=int32)
    return [made]


@_rule("pad", "pad_v2")
def _pad(at: Given, g: Tensor) -> Sequence[Any]:
    x = at.inputs[0]
    before = ops.cast(at.operand("paddings"), dtype=int32)[:, 0]
    return [ops.slice(g, begin=before, size=ops.shape_of(x)), *[None] * (len(at.op.tensors) - 1)]


@_rule("mirror_pad")
def _mirror_pad(at: Given, g: Tensor) -> Sequence[Any]:
    paddings = ops.cast(at.operand("paddings"), dtype=int32)
    return at.node("MirrorPadGrad", [g, paddings], at.inputs[0], Tpaddings=int32)


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


@_rule("gather_nd")
def _gather_nd(at: Given, g: Tensor) -> Sequence[Any]:
    x, indices = at.inputs
    return [ops.scatter_nd(indices, g, shape=ops.shape_of(x)), None]


@_rule("unsorted_segment_sum")
def _segment_sum(at: Given, g: Tensor) -> Sequence[Any]:
    return [ops.gather(g, at.inputs[1], axis=0), None]


@_rule("select_rows")
def _select_rows(at: Given, g: Tensor) -> Sequence[Any]:
    condition, *_ = at.inputs
    nothing = ops.zeros_like(g)
    return [None, ops.select_rows(condition, g, nothing), ops.select_rows(condition, nothing, g)]


# Tensor arrays


@_rule("tensor_array_write", "tensor_array_scatter")
def _array_written(at: Given, g: Tensor) -> Sequence[Any]:
    index = at.input(1)
    row = ops.gather(g, index, axis=0)
    return [g if at.is_array(0) else Rows(index, -row).added_to(g), None, row]


@_rule("tensor_array_grow")
def _array_grown(at: Given, g: Tensor) -> Sequence[Any]:
    return [g if at.is_array(0) else g[: ops.shape_of(at.input(0))[0]]]


# Sums


def _kept(at: Given, y: Tensor) -> Tensor:
    """Reshape the result of a reduction, or its cotangent, so that the reduced axes have size one."""
    if at.attrs["keepdims"]:
        return y
    [x], axes, rank = at.inputs, at.known("axis"), at.rank()
    reduced = normalize_axes(None if axes is None else axes if isinstance(axes, int) else tuple(axes), rank)
    keep = constant([axis not in reduced for axis in range(rank)], int32)
    return ops.reshape(y, shape=ops.shape_of(x) * keep + (1 - keep))


@_rule("reduce_sum")
def _sum(at: Given, g: Tensor) -> Sequence[Any]:
    return [ops.broadcast_to(_kept(at, g), shape=ops.shape_of(at.inputs[0]))]


@_rule("reduce_mean")
def _mean(at: Given, g: Tensor) -> Sequence[Any]:
    [x] = at.inputs
    sizes = [ops.reduce_prod(ops.shape_of(t), axis=None) for t in (x, at.output())]
    count = ops.floor_div(sizes[0], ops.maximum(sizes[1], 1))
    return [ops.broadcast_to(_kept(at, g), shape=ops.shape_of(x)) / ops.cast(count, dtype=g.dtype)]


@_rule("reduce_max", "reduce_min")
def _extremum(at: Given, g: Tensor) -> Sequence[Any]:
    [x] = at.inputs
    chosen = ops.cast(ops.equal(x, _kept(at, at.output())), dtype=x.dtype)
    return [chosen * (_kept(at, g) / ops.reduce_sum(chosen, axis=at.known("axis"), keepdims=True))]


@_rule("l2_loss")
def _l2_loss(at: Given, g: Tensor) -> Sequence[Any]:
    return [at.inputs[0] * g]


@_rule("cumsum")
def _cumsum(at: Given, g: Tensor) -> Sequence[Any]:
    told = {"exclusive": at.attrs["exclusive"], "reverse": not at.attrs["reverse"]}
    return [ops.cumsum(g, axis=at.known("axis"), **told)]


# Products


@_rule("matmul")
def _matmul(at: Given, g: Tensor) -> Sequence[Any]:
    first, second = at.attrs["transpose_a"], at.attrs["transpose_b"]
    return _product(at, g, first, second, ("transpose_a", "transpose_b"), ops.matmul)


@_rule("batch_matmul")
def _batch_matmul(at: Given, g: Tensor) -> Sequence[Any]:
    parts = _product(at, g, at.attrs["adj_x"], at.attrs["adj_y"], ("adj_x", "adj_y"), ops.batch_matmul)
    shapes = [x.type.shape for x in at.inputs]
    if None in shapes or len({shape[:-2] for shape in shapes if shape is not None}) > 1:
        raise NoRule(f"{at.op.name} ({at.op.type}) repeats matrices, or may do so")
    return parts


def _product(
    at: Given, g: Tensor, first: bool, second: bool, names: tuple[str, str], multiply: Callable[..., Tensor]
) -> list[Tensor]:
    a, b = at.inputs

    def product(x: Tensor, y: Tensor, *flags: bool) -> Tensor:
        return multiply(x, y, **dict(zip(names, flags, strict=True)))

    by_a = product(b, g, second, True) if first else product(g, b, False, not second)
    by_b = product(g, a, True, first) if second else product(a, g, not first, False)
    return [by_a, by_b]


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


@_rule("bias_add")
def _bias_add(at: Given, g: Tensor) -> Sequence[Any]:
    return [g, *at.node("BiasAddGrad", [g], at.inputs[1])]


@_rule("conv2d")
def _conv2d(at: Given, g: Tensor) -> Sequence[Any]:
    return _convolution(at, g, "Conv2DBackprop")


@_rule("depthwise_conv2d_native")
def _depthwise(at: Given, g: Tensor) -> Sequence[Any]:
    return _convolution(at, g, "DepthwiseConv2dNativeBackprop")


def _convolution(at: Given, g: Tensor, type: str) -> list[Tensor]:
    x, kernel = at.inputs
    return [
        *at.node(f"{type}Input", [ops.shape_of(x), kernel, g], x),
        *at.node(f"{type}Filter", [x, ops.shape_of(kernel), g], kernel),
    ]


@_rule("conv2d_backprop_input")
def _transposed_convolution(at: Given, g: Tensor) -> Sequence[Any]:
    kernel, x = at.inputs
    by_kernel = at.node("Conv2DBackpropFilter", [g, ops.shape_of(kernel), x], kernel)
    return [*by_kernel, *at.node("Conv2D", [g, kernel], x)]


# Layers


@_rule("max_pool")
def _max_pool(at: Given, g: Tensor) -> Sequence[Any]:
    [x] = at.inputs
    return at.node("MaxPoolGrad", [x, at.output(), g], x)


@_rule("avg_pool")
def _avg_pool(at: Given, g: Tensor) -> Sequence[Any]:
    [x] = at.inputs
    return at.node("AvgPoolGrad", [ops.shape_of(x), g], x)


@_rule("local_response_normalization")
def _lrn(at: Given, g: Tensor) -> Sequence[Any]:
    [x] = at.inputs
    return at.node("LRNGrad", [g, x, at.output()], x)


@_rule("resize_bilinear")
def _resize_bilinear(at: Given, g: Tensor) -> Sequence[Any]:
    [x] = at.inputs
    return at.node("ResizeBilinearGrad", [g, x], x)


@_rule("fused_batch_norm")
def _batch_norm(at: Given, g: Tensor | None, *rest: Tensor | None) -> Sequence[Any]:
    if g is None or any(each is not None for each in rest):
        raise NoRule(f"{at.op.name} ({at.op.type}) is differentiated by its moments")
    x, scale, _, mean, variance = at.inputs
    kept = [at.more(number, scale) for number in (3, 4, 5)]
    if not at.attrs["is_training"]:
        kept[:2] = [mean, variance]
    made = at.node("FusedBatchNormGradV3", [g, x, scale, *kept], x, scale, scale, U=scale.dtype)
    return [*made, None, None]


@_rule("softmax")
def _softmax(at: Given, g: Tensor) -> Sequence[Any]:
    y = at.output()
    return [(g - ops.reduce_sum(g * y, axis=at.attrs["axis"], keepdims=True)) * y]


@_rule("log_softmax")
def _log_softmax(at: Given, g: Tensor) -> Sequence[Any]:
    return [g - ops.exp(at.output()) * ops.reduce_sum(g, axis=at.attrs["axis"], keepdims=True)]


@_rule("softmax_cross_entropy", "sparse_softmax_cross_entropy")
def _cross_entropy(at: Given, g: Tensor | None, back: Tensor | None) -> Sequence[Any]:
    if g is None or back is not None:
        raise NoRule(f"{at.op.name} ({at.op.type}) is differentiated a second time")
    column = ops.expand_dims(g, axis=-1)
    logits = column * at.output(1)
    if at.op.definition.name == "sparse_softmax_cross_entropy":
        return [logits, None]
    return [logits, -ops.log_softmax(at.inputs[0], axis=-1) * column]
