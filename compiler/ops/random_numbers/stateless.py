"""Random ops whose numbers follow from a seed alone: the same in every run, with TensorFlow 1's streams.

The seed, two integers, is a tensor. It is made into the state of an op of `random`, which does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING, DType, float32, int32, int64, uint64
from staticgraph.compiler.graph.errors import DtypeError, require
from staticgraph.compiler.graph.opdef import OpDef, ops
from staticgraph.compiler.graph.shapes import TensorType, operand_shape, shape_text
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr
from staticgraph.compiler.ops.kinds import View, composite, source
from staticgraph.compiler.ops.random_numbers import philox, random
from staticgraph.compiler.ops.random_numbers import positions as random_positions
from staticgraph.compiler.ops.samples import Draw, Sample, real

_KEY = 0x02461E293EC8F720  # so that no seed is a weak one, each is put through the generator first
_SEED = Draw((2,), -100, 1 << 30, dtype="int64")
_INTEGERS = frozenset({int32, int64})


def _numpy_state(seed: np.ndarray) -> np.ndarray:
    low, high = (int(n) & 0xFFFFFFFFFFFFFFFF for n in seed)
    a, b, c, d = (int(word) for word in philox.numpy_words(np.array([low], np.uint64), _KEY, high)[0])
    return np.array([0, a | b << 32, c | d << 32], np.uint64)


def _state_type(seed: TensorType) -> TensorType:
    require(seed.shape in (None, (2,), (None,)), f"seed has shape {shape_text(seed.shape)}, and must be (2,)")
    return TensorType(uint64, (3,))


@source(
    type=_state_type, numpy=_numpy_state, dtypes=frozenset({int64}), samples=[Sample(_SEED)] * 3,
    differentiable=False,
)
def stateless_state(at: tuple[Expr, ...], seed: View) -> Expr:
    """The state of a random op (counter, seed and second seed) that a `seed` of two integers stands for."""
    words = philox.words(scalar.cast(seed[0], uint64), Const(_KEY, uint64), scalar.cast(seed[1], uint64))
    a, b, c, d = (scalar.cast(word, uint64) for word in words)
    return philox.pick([Const(0, uint64), a | b << 32, c | d << 32], at[0])


def _drawn(op: OpDef, seed: Any, *inputs: Any, **attrs: Any) -> Any:
    state = stateless_state(ops.cast(seed, dtype=int64))
    return state.recorder.apply(op, (state, *inputs), attrs | {"seed": 0, "seed2": 0})


def _meaning(op: OpDef, seed: np.ndarray, *inputs: np.ndarray, **attrs: Any) -> np.ndarray:
    assert op.reference is not None
    return np.asarray(op.reference(_numpy_state(seed), *inputs, seed=0, seed2=0, **attrs))


def _floating(tf: str, op: OpDef) -> Callable[[Callable[..., Any]], OpDef]:
    """The decorator of an op that draws floating numbers of a shape."""

    def type(seed: TensorType, shape: Any, dtype: DType) -> TensorType:
        _state_type(seed)
        require(dtype in FLOATING, f"dtype is {dtype}, and must be floating", kind=DtypeError)
        return TensorType(dtype, operand_shape(shape, "shape"))

    return composite(
        tf=tf, type=type, numpy=lambda seed, **attrs: _meaning(op, seed, **attrs), dtypes={"S": _INTEGERS},
        vars={"seed": "S"}, operands=("shape",), partial=("shape",), differentiable=False,
        samples=[Sample(_SEED, shape=shape) for shape in ((3, 5), (), (17,))],
    )


@_floating("StatelessRandomUniform", random.random_unit)
def stateless_random_uniform(seed: Any, *, shape: Any, dtype: DType = float32) -> Any:
    """Numbers of uniform distribution in [0, 1), of `dtype`."""
    return _drawn(random.random_unit, seed, shape=shape, dtype=dtype)


@_floating("StatelessRandomNormal", random.random_standard_normal)
def stateless_random_normal(seed: Any, *, shape: Any, dtype: DType = float32) -> Any:
    """Numbers of normal distribution with mean 0 and standard deviation 1, of `dtype`."""
    return _drawn(random.random_standard_normal, seed, shape=shape, dtype=dtype)


@_floating("StatelessTruncatedNormal", random.truncated_normal)
def stateless_truncated_normal(seed: Any, *, shape: Any, dtype: DType = float32) -> Any:
    """Numbers of normal distribution, of `dtype`, those with an absolute value of 2 or more drawn again."""
    return _drawn(random.truncated_normal, seed, shape=shape, dtype=dtype)


def _integer_type(seed: TensorType, minval: TensorType, maxval: TensorType, shape: Any) -> TensorType:
    _state_type(seed)
    for name, t in (("minval", minval), ("maxval", maxval)):
        require(t.rank in (None, 0), f"{name} has rank {t.rank}, and must be a scalar")
    return TensorType(minval.dtype, operand_shape(shape, "shape"))


@composite(
    tf="StatelessRandomUniformInt", type=_integer_type, vars={"seed": "S"}, operands=("shape",),
    numpy=lambda seed, low, high, shape: _meaning(random.random_uniform_int, seed, low, high, shape=shape),
    requires=lambda seed, minval, maxval, **_: [
        ops.below(minval, maxval, of="stateless_random_uniform_int", operand="minval")
    ],
    dtypes={"S": _INTEGERS, "T": _INTEGERS}, partial=("shape",), differentiable=False,
    samples=[Sample(_SEED, Draw((), -5, 0), Draw((), 1, 100), shape=shape) for shape in ((3, 5), (), (17,))],
)
def stateless_random_uniform_int(seed: Any, minval: Any, maxval: Any, *, shape: Any) -> Any:
    """Integers of uniform distribution from `minval` up to but not including `maxval`."""
    return _drawn(random.random_uniform_int, seed, minval, maxval, shape=shape)


def _classes_type(logits: TensorType, seed: TensorType, num_samples: Any, output_dtype: DType) -> TensorType:
    _state_type(seed)
    require(logits.rank in (None, 2), f"logits has rank {logits.rank}, 2 is needed")
    require(logits.shape is None or logits.shape[1] != 0, "logits has no classes")
    require(output_dtype in _INTEGERS, f"output_dtype is {output_dtype}, not int32 or int64", kind=DtypeError)
    return TensorType(output_dtype, (None if logits.shape is None else logits.shape[0], num_samples))


@composite(
    tf="StatelessMultinomial", type=_classes_type, vars={"seed": "S"}, operands=("num_samples",),
    numpy=lambda logits, seed, **attrs: _meaning(random_positions.multinomial, seed, logits, **attrs),
    dtypes={"S": _INTEGERS, "T": FLOATING}, partial=("num_samples",), differentiable=False, decides_by=0,
    samples=[Sample(real(2, 5), _SEED, num_samples=7), Sample(real(1, 3), _SEED, num_samples=2),
             Sample(real(3, 1), _SEED, num_samples=5, output_dtype=int32)],
    interval=lambda y, *_: (0, y.node.inputs[0].shape[-1] - 1),
)
def stateless_multinomial(logits: Any, seed: Any, *, num_samples: Any, output_dtype: DType = int64) -> Any:
    """`num_samples` classes per row, drawn with probabilities softmax(logits), as `output_dtype`."""
    attrs = {"num_samples": num_samples, "output_dtype": output_dtype}
    return _drawn(random_positions.multinomial, seed, logits, **attrs)
