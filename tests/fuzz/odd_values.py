"""Random graphs of what other generators leave out: all dtypes, axes of 0 and 1, special numbers, odd slices.

A graph is a list of tensors, each made of earlier ones by one of `STEPS`. A step that does not fit what it
drew, such as a sine of integers, is an error of ours and is left out. Sizes may be left open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import told

FLOATS = (sg.float16, sg.bfloat16, sg.float32, sg.float64)
INTEGERS = (sg.int8, sg.int16, sg.int32, sg.int64, sg.uint8, sg.uint16, sg.uint32, sg.uint64)
DTYPES = (*FLOATS, *INTEGERS, sg.complex64, sg.complex128, sg.bool)
SPECIAL = (0.0, -0.0, np.nan, np.inf, -np.inf, 1e-40, -1e-40, 5e-324, 65504.0, 1e-8, 1.0, -1.0, 0.5, -2.5)
SIZES, MANY_SIZES = (0, 1, 1, 2, 3, 4, 5), (0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)
MOST = 20_000  # elements of a tensor


def _words(*texts: str) -> list[str]:
    return " ".join(texts).split()


UNARY = _words(
    "abs negative square sign sigmoid tanh exp log log1p expm1 sqrt rsqrt reciprocal sin cos tan asin",
    "acos atan sinh cosh asinh acosh atanh erf erfc floor ceil round rint is_nan is_inf is_finite",
    "zeros_like ones_like lgamma digamma logical_not conj real imag angle relu relu6 elu selu softplus",
    "softsign softmax log_softmax leaky_relu invert",
)
BINARY = _words(
    "add subtract multiply divide floordiv floormod truncatediv truncatemod maximum minimum pow atan2",
    "complex squared_difference equal not_equal less less_equal greater greater_equal logical_and",
    "logical_or logical_xor div_no_nan igamma igammac xlogy xdivy zeta betainc bitwise_and bitwise_or",
    "bitwise_xor left_shift right_shift",
)
REDUCTIONS = _words(
    "reduce_sum reduce_prod reduce_max reduce_min reduce_mean reduce_any reduce_all reduce_logsumexp"
)


@dataclass
class Drawn:
    """A graph that was drawn, and what a run of it takes."""

    graph: sg.Graph
    fetches: list[sg.Tensor]
    feeds: dict[sg.Tensor, np.ndarray]
    gradients: list[sg.Tensor] = field(default_factory=list)


class Generator:
    """Draws one graph.

    Args:
        seed: Decides all of it.
        is_open: If some sizes of placeholders are left open.
    """

    def __init__(self, seed: int, is_open: bool = False) -> None:
        self.random = Random(seed)
        self.is_open = is_open
        self.pool: list[sg.Tensor] = []
        self.feeds: dict[sg.Tensor, np.ndarray] = {}

    def draw(self) -> Drawn:
        """Draw the inputs, the steps, what is fetched, and derivatives now and then."""
        r = self.random
        with sg.Graph().as_default() as graph:
            self._inputs()
            made = [tensor for _ in range(r.randint(4, 14)) if (tensor := self._step()) is not None]
            fetches = r.sample(made, min(len(made), r.randint(1, 6)))
            gradients = self._gradients(made) if r.random() < 0.3 else []
        return Drawn(graph, fetches + gradients, self.feeds, gradients)

    def _inputs(self) -> None:
        r = self.random
        dtypes = [*r.sample(DTYPES, 3), sg.bool, r.choice(FLOATS)]
        shapes = [self._shape() for _ in range(3)]
        for _ in range(r.randint(3, 7)):
            shape = [1 if r.random() < 0.12 else n for n in r.choice(shapes)]
            array = self._array(r.choice(dtypes), shape)
            dtype = sg.as_dtype(array.dtype)
            if r.random() < 0.3:
                self.pool.append(sg.constant(array, dtype))
                continue
            declared = [None if self.is_open and r.random() < 0.6 else n for n in shape]
            self.pool.append(sg.placeholder(dtype, declared))
            self.feeds[self.pool[-1]] = array

    def _shape(self) -> list[int]:
        rank = self.random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 5))
        return [self.random.choice(MANY_SIZES if rank < 3 else SIZES) for _ in range(rank)]

    def _array(self, dtype: sg.DType, shape: list[int]) -> np.ndarray:
        count, odd = int(np.prod(shape)), self.random.random() < 0.35
        numbers = [self._number(dtype, odd and self.random.random() < 0.4) for _ in range(count)]
        with np.errstate(all="ignore"):
            return (
                np.array(numbers, object if dtype.is_integer else None)
                .astype(dtype.as_numpy_dtype)
                .reshape(shape)
            )

    def _number(self, dtype: sg.DType, special: bool) -> Any:
        r = self.random
        if dtype is sg.bool:
            return r.random() < 0.5
        if dtype.is_integer:
            low, high = dtype.min, dtype.max
            return r.choice((low, low + 1, 0, 1, high - 1, high)) if special else max(low, r.randint(-9, 9))
        if dtype.is_complex:
            return complex(self._number(sg.float32, special), r.choice((0.0, -0.0, r.uniform(-3, 3))))
        return r.choice(SPECIAL) if special else r.uniform(-3, 3)

    def _step(self) -> sg.Tensor | None:
        """Add a tensor; None if what was drawn does not fit together."""
        x = self.random.choice(self.pool)
        try:
            made = self.random.choice(STEPS)(self, x, len(x.shape))
        except Exception as error:
            if told(error) or _is_of_random(error):
                return None
            raise
        known = made.shape.as_list() if made.shape.ndims is not None else [MOST + 1]
        if None not in known and np.prod(known, dtype=float) > MOST:
            return None
        self.pool.append(made)
        return made

    def _gradients(self, made: list[sg.Tensor]) -> list[sg.Tensor]:
        ys, xs = ([t for t in tensors if t.dtype in FLOATS] for tensors in (made, self.feeds))
        if not ys or not xs:
            return []
        try:
            return [g for g in sg.gradients(self.random.choice(ys), xs) if isinstance(g, sg.Tensor)]
        except sg.errors.GraphError:  # that of some operation is not known
            return []

    def alike(self, x: sg.Tensor, rank: int | None = None) -> sg.Tensor:
        """Another tensor of the dtype, and of that rank if it is given."""
        return self.random.choice(
            [t for t in self.pool if t.dtype == x.dtype and (rank is None or len(t.shape) == rank)]
        )


def _is_of_random(error: Exception) -> bool:
    """Return True if there was nothing to choose from."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and frame.tb_frame.f_code.co_filename.endswith("random.py")


def _named(name: str) -> Callable[..., sg.Tensor]:
    for module in (sg, sg.math, sg.nn, sg.bitwise):
        if hasattr(module, name):
            return getattr(module, name)
    raise LookupError(name)


def _unary(g: Generator, x: sg.Tensor, rank: int) -> sg.Tensor:
    return _named(g.random.choice(UNARY))(x)


def _binary(g: Generator, x: sg.Tensor, rank: int) -> sg.Tensor:
    return _named(g.random.choice(BINARY))(x, g.alike(x))


def _axis(g: Generator, rank: int) -> int:
    return g.random.choice(range(-rank, rank))


def _reduction(g: Generator, x: sg.Tensor, rank: int) -> sg.Tensor:
    several = sorted(g.random.sample(range(-rank, 0), g.random.randint(0, rank)))
    axis = g.random.choice((None, several))
    return _named(g.random.choice(REDUCTIONS))(x, axis=axis, keepdims=g.random.random() < 0.4)


def _along_an_axis(g: Generator, x: sg.Tensor, rank: int) -> sg.Tensor:
    axis, r = _axis(g, rank), g.random
    flags = {"exclusive": r.random() < 0.5, "reverse": r.random() < 0.5}
    order = r.choice(("ASCENDING", "DESCENDING"))
    return r.choice(
        (
            lambda: sg.cumsum(x, axis, **flags),
            lambda: sg.cumprod(x, axis, **flags),
            lambda: sg.argmax(x, axis),
            lambda: sg.argmin(x, axis),
            lambda: sg.sort(x, axis, order),
            lambda: sg.roll(x, r.randint(-5, 5), axis),
            lambda: sg.concat([g.alike(x, rank), x], axis),
            lambda: sg.gather(x, [r.randrange(x.shape[axis].value or 1) for _ in range(3)], axis=axis),
        )
    )()


def _slice(g: Generator, x: sg.Tensor, rank: int) -> sg.Tensor:
    r, index = g.random, []
    for n in (9 if n is None else n for n in x.shape.as_list()):
        bounds = [r.choice((None, r.randint(-n - 2, n + 2))) for _ in range(2)]
        one = (
            r.randrange(-n, n)
            if n and r.random() < 0.15
            else slice(*bounds, r.choice((None, 1, 2, -1, -2, -5)))
        )
        index += [sg.newaxis, one] if r.random() < 0.1 else [one]
    if index and r.random() < 0.2:
        index[r.randrange(len(index))] = Ellipsis
    return x[tuple(index) or ...]


def _moved(g: Generator, x: sg.Tensor, rank: int) -> sg.Tensor:
    r = g.random
    few = [[r.randint(0, 2), r.randint(0, 2)] for _ in range(rank)]
    return r.choice(
        (
            lambda: sg.transpose(x, r.sample(range(rank), rank)),
            lambda: sg.reverse(x, r.sample(range(-rank, 0), r.randint(0, rank))),
            lambda: sg.pad(x, few, r.choice(("CONSTANT", "REFLECT", "SYMMETRIC"))),
            lambda: sg.tile(x, [r.choice((0, 1, 2, 3)) for _ in range(rank)]),
            lambda: sg.expand_dims(x, r.randrange(-rank - 1, rank + 1)),
            lambda: sg.squeeze(x),
            lambda: sg.reshape(x, [-1]),
            lambda: sg.broadcast_to(x, [r.choice((1, 2, 0)), *x.shape.as_list()]),
            lambda: sg.matrix_band_part(x, r.randint(-1, 3), r.randint(-1, 3)),
            lambda: sg.matrix_diag(x),
        )
    )()


def _several(g: Generator, x: sg.Tensor, rank: int) -> sg.Tensor:
    r, other = g.random, g.alike(x)
    truths = [t for t in g.pool if t.dtype == sg.bool]
    return r.choice(
        (
            lambda: sg.matmul(x, other, transpose_a=r.random() < 0.3, transpose_b=r.random() < 0.3),
            lambda: sg.where(r.choice(truths), x, other),
            lambda: sg.cast(x, r.choice(DTYPES)),
            lambda: sg.clip_by_value(x, -1, 2),
            lambda: sg.one_hot(x, r.randint(0, 5), axis=r.choice((-1, 0, rank))),
            lambda: sg.nn.top_k(x, r.randint(0, 3))[r.randrange(2)],
            lambda: sg.unique(x)[r.randrange(2)],
            lambda: sg.cond(sg.size(x) > 3, lambda: sg.reshape(x, [-1]), lambda: sg.reshape(other, [-1])),
            lambda: sg.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, sg.maximum(a, -a)), [0, x])[1],
        )
    )()


STEPS: tuple[Callable[[Generator, sg.Tensor, int], sg.Tensor], ...] = (
    *(_unary,) * 4, *(_binary,) * 4, *(_several,) * 3, *(_moved,) * 3, *(_along_an_axis,) * 2, *(_slice,) * 2,
    _reduction,
)  # fmt: skip
