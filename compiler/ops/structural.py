"""Ops that the compiler knows by name: where values come from, and markers that guide differentiation."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.dtypes import int32 as INT32
from staticgraph.compiler.graph.dtypes import string as STRING
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.opdef import Effect, ops
from staticgraph.compiler.graph.shapes import TensorType, operand_shape, shape_text
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.kinds import composite, same_type, sizes, structural


@structural(
    tf="Const", type=lambda value: TensorType(value.dtype, value.shape), numpy=lambda value: value.array,
)
def constant(*, value: Literal) -> Any:
    """A value known when the graph is built."""


@structural(type=lambda name, type: type, effect=Effect.SOURCE, internal=True)
def parameter(*, name: str, type: TensorType) -> Any:
    """A parameter of a Function."""


@structural(tf="Placeholder", type=lambda dtype, shape: TensorType(dtype, shape), effect=Effect.SOURCE)
def placeholder(*, dtype: DType, shape: Any = None) -> Any:
    """A value that is fed to each run."""


def _default_type(input: TensorType, shape: Any) -> TensorType:
    return TensorType(input.dtype, operand_shape(shape, "shape"))


@structural(
    tf="PlaceholderWithDefault", type=_default_type, effect=Effect.SOURCE, numpy=lambda input, shape: input,
    grad=lambda g, y, input, shape: (g,), grad_takes=(), grad_any_rank=True, strings=True,
)
def placeholder_with_default(input: Any, *, shape: Any) -> Any:
    """A value that may be fed, and is `input` otherwise."""


@structural(tf="VariableV2", type=lambda dtype, shape: TensorType(dtype, shape), effect=Effect.SOURCE)
def variable(*, dtype: DType, shape: Any) -> Any:
    """State that lives from run to run. Ops that take this tensor see the value at their turn."""


@structural(
    tf="Identity", type=same_type, numpy=lambda input: input, effect=Effect.READ, strings=True, alias=0,
)
def read_variable(input: Any) -> Any:
    """The variable as an operand: each op that takes this tensor reads the variable at its own turn."""


@structural(
    tf="Identity", type=same_type, numpy=lambda input: input,
    grad=lambda g, y, x: (g,), effect=Effect.READ, strings=True, grad_takes=(), grad_any_rank=True,
)
def read_value(input: Any) -> Any:
    """The value of a variable at the place of this op in the order of construction."""


@structural(
    type=lambda input, initial: initial, effect=Effect.READ, differentiable=False,
    numpy=lambda input, initial: input, strings=True,
)
def initialized_value(input: Any, initial: Any) -> Any:
    """The value of a variable where the session has one at this turn, else `initial`."""


@structural(
    type=lambda *variables: TensorType(STRING, (None,)), effect=Effect.READ, differentiable=False,
    vars={"variables": "*"},
)
def report_uninitialized(*variables: Any) -> Any:
    """The names of those variables that have no value. The session knows."""


@structural(
    tf="Identity", type=same_type, numpy=lambda input: input,
    grad=lambda g, y, x: (g,), static=lambda types, values: values[0], strings=True, grad_takes=(),
    grad_any_rank=True, alias=0,
)
def identity(input: Any) -> Any:
    """The input."""


@structural(
    tf="StopGradient", type=same_type, numpy=lambda input: input, differentiable=False, strings=True, alias=0,
)
def stop_gradient(input: Any) -> Any:
    """The input, taken as a constant by `gradients`."""


@structural(
    tf="StopGradient", type=same_type, numpy=lambda input: input,
    grad=lambda g, y, x: (ops.vanishing(g),), grad_takes=(), grad_any_rank=True, alias=0,
)
def stationary(input: Any) -> Any:
    """The input, where the user of the result does not change with it to first order: a mean in a variance.

    The first derivative through it is zero and costs nothing; higher ones are right.
    """


@composite(
    tf="ZerosLike", type=same_type, numpy=np.zeros_like, samples=None,
    grad=lambda g, y, x: (g,), grad_takes=(), grad_any_rank=True,
)
def vanishing(input: Any) -> Any:
    """Zeros, for an input that is known to be zero; the input may have derivatives that are not."""
    return ops.zeros_like(input)


@structural(tf="NoOp", type=lambda: ())
def no_op() -> Any:
    """Nothing; a point for control dependencies to meet."""


@structural(
    type=same_type, effect=Effect.MARK, numpy=lambda input, key: input, grad=lambda g, y, x, key: (g,),
    alias=0, internal=True,
)
def watch(input: Any, *, key: str) -> Any:
    """The input, kept apart from equal values by its `key`: where `gradients` takes a derivative."""


@structural(
    type=lambda variable, type: type, effect=Effect.MARK,
    numpy=lambda variable, type: np.zeros(type.static_shape, type.dtype.numpy), internal=True,
)
def reads_of(*, variable: str, type: TensorType) -> Any:
    """All reads of a variable that have this type, in one: what a derivative by the variable is taken by."""


@structural(
    type=same_type, effect=Effect.MARK, numpy=lambda original, fed: fed,
    grad=lambda g, y, original, fed: (g, None), alias=1, internal=True,
)
def override(original: Any, fed: Any) -> Any:
    """`fed` in place of `original`; gradients flow into `original`, as in TF1 when an inner tensor is fed."""


def _seed_type(y: TensorType, weight: TensorType) -> TensorType:
    if y.is_static and weight.is_static and weight.rank:
        shapes = f"{shape_text(weight.shape)} for what has shape {shape_text(y.shape)}"
        require(same(weight.size, y.size), f"a weight of shape {shapes}", "grad_ys have the shapes of the ys")
    return TensorType(weight.dtype, y.shape)


def _seed_grad(g: Any, out: Any, y: Any, weight: Any) -> tuple[Any, Any]:
    if not weight.type.rank:
        return None, ops.reduce_sum(g)
    return None, g if weight.type.is_static and weight.type == y.type else ops.reshape(g, shape=sizes(weight))


@structural(
    tf="Fill", type=_seed_type,
    numpy=lambda y, weight: np.reshape(weight, np.shape(y)) if weight.ndim else np.full(y.shape, weight),
    differentiable=(1,), vars={"y": "*"}, grad=_seed_grad, grad_takes=(),
)
def seed(y: Any, weight: Any) -> Any:
    """The cotangent that the derivative of `y` begins with: `weight`, in the shape of `y`.

    A number is repeated. Another shape with as many elements becomes that of `y`, as in TensorFlow.
    """


def _gradients_type(*inputs: TensorType, ys: int, seeds: int, xs: int) -> tuple[TensorType, ...]:
    require(ys > 0 and xs > 0 and seeds in (0, ys), f"{ys} ys cannot have {seeds} seeds and {xs} xs")
    require(
        ys + seeds + xs <= len(inputs),
        f"{ys} ys, {seeds} seeds and {xs} xs need more than {len(inputs)} inputs",
    )
    return inputs[ys + seeds : ys + seeds + xs]


def _ys_and_seeds(count: int, ys: int, seeds: int, **_: Any) -> range:
    return range(ys + seeds)


@structural(tf="Gradients", type=_gradients_type, vars={"inputs": "*"}, differentiable=_ys_and_seeds)
def symbolic_gradients(*inputs: Any, ys: int, seeds: int, xs: int) -> Any:
    """Derivatives of the first `ys` inputs, weighted with the next `seeds`, by the next `xs`.

    What follows are tensors to stop at. A compile replaces
    it by the ops of the gradient once all shapes are known.
    """


def _shape_static(types: list[TensorType], values: list[Any], out_type: DType) -> Any:
    return types[0].shape


def _shape_type(input: TensorType, out_type: DType) -> TensorType:
    for size in input.shape or ():
        fits = not isinstance(size, int) or size <= out_type.max
        require(fits, f"size {size} is no {out_type}", hint="ask for int64: tf.shape(x, out_type=tf.int64)")
    return TensorType(out_type, (input.rank,))


def _size_static(types: list[TensorType], values: list[Any], out_type: DType) -> Any:
    return types[0].size if types[0].is_static else None


@structural(
    tf="Shape", type=_shape_type,
    numpy=lambda input, out_type: np.array(np.shape(input), out_type.numpy), static=_shape_static,
    differentiable=False, strings=True,
)
def shape_of(input: Any, *, out_type: DType = INT32) -> Any:
    """The shape of a tensor, as a vector."""


@structural(
    tf="Size", type=lambda input, out_type: TensorType(out_type, ()),
    numpy=lambda input, out_type: np.array(np.size(input), out_type.numpy), static=_size_static,
    differentiable=False, strings=True,
)
def size_of(input: Any, *, out_type: DType = INT32) -> Any:
    """The number of elements of a tensor."""


@structural(
    tf="Rank", type=lambda input: TensorType(INT32, ()), numpy=lambda input: np.int32(np.ndim(input)),
    static=lambda types, values: None if types[0].rank is None else np.int32(types[0].rank),
    differentiable=False, strings=True,
)
def rank_of(input: Any) -> Any:
    """The number of axes of a tensor."""


def variable_of(tensor: Tensor, through_writes: bool = False) -> Operation | None:
    """Return the variable operation whose value `tensor` stands for at the turn of each op that takes it.

    Such a tensor is the output of the variable or a `read_variable`. The result of `read_value` is not: it
    has one value in a run. With `through_writes`, follow the result of an assignment too.
    """
    op = tensor.op
    while True:
        if op.definition.name == "variable":
            return op
        aliases = op.definition.name == "read_variable"
        if not (aliases or (through_writes and op.definition.effect is Effect.WRITE)):
            return None
        op = op.tensors[0].op


def changed_variables(op: Operation) -> tuple[Tensor, ...]:
    """Return the inputs of an operation that are variables to which it gives new values."""
    return op.tensors[: op.definition.variables] if op.definition.effect is Effect.WRITE else ()
