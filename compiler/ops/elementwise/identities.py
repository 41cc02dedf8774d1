"""Ops that give their inputs as they are, and say something of them."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.opdef import Effect, ops
from staticgraph.compiler.graph.shapes import TensorType, merge, operand_shape
from staticgraph.compiler.ops.kinds import composite, same_type, structural
from staticgraph.compiler.ops.samples import Sample, real


@composite(
    tf="IdentityN", type=lambda *input: input, numpy=lambda *input: input if len(input) > 1 else input[0],
    vars={"input": "*"},
    samples=[Sample(real(2), real(3, 2)), Sample(real()), Sample(real(0), real(1), real(4))],
)
def identity_n(*input: Any) -> tuple[Any, ...]:
    """The inputs, none of which is given out before all have been computed."""
    return input


def _ensured(input: TensorType, shape: Any) -> TensorType:
    asked = operand_shape(shape, "shape")
    return TensorType(input.dtype, merge(input.shape, asked, "the shape must be as asked for:"))


@composite(
    tf="EnsureShape", type=_ensured, numpy=lambda input, shape: input,
    grad=lambda g, y, input, shape: (g,), grad_takes=(), grad_any_rank=True,
    samples=[Sample(real(2, 3), shape=(None, 3)), Sample(real(), shape=()), Sample(real(0, 2), shape=None)],
)
def ensure_shape(input: Any, *, shape: Any) -> Any:
    """The input, whose shape must fit `shape`; otherwise the graph is not run."""
    return input


@structural(
    type=same_type, numpy=lambda input: input, effect=Effect.MARK, grad=lambda g, y, input: (ops.barrier(g),),
    grad_takes=(), samples=[Sample(real(2)), Sample(real()), Sample(real(0, 3))],
)
def barrier(input: Any) -> Any:
    """The input, which is in memory before anything reads it.

    No rule and no kernel reaches across: what computes the input has the same code, and so the same bits,
    whatever is done with it, and so has what reads the result. It costs no copy.
    """
