"""Random steps of the kind that the compiler joins into kernels of rows: matrices, what is done along their
rows and columns, products with what follows them, moves of elements in between, variables and derivatives.

All matrices of a program have one of a few shapes, so that most ops apply to most values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

import staticgraph as sg

SIZES = (1, 2, 3, 5, 8, 16, 17, 31, 33, 64, 65, 97, 127, 130, 501)
MOST = 1 << 15  # elements of a value

Unary = Callable[[sg.Tensor], sg.Tensor]

SMOOTH: tuple[Unary, ...] = (
    sg.tanh,
    sg.sigmoid,
    sg.sin,
    lambda x: sg.exp(-sg.square(x)),
    lambda x: x * 0.5 + 1.0,
    lambda x: -x,
    sg.square,
    lambda x: sg.sqrt(sg.square(x) + 0.5),
    lambda x: sg.log1p(sg.square(x)),
)
KINKED: tuple[Unary, ...] = (sg.nn.relu, sg.abs, lambda x: sg.clip_by_value(x, -0.5, 0.5), sg.nn.elu)
SUMS: tuple[Callable, ...] = (sg.reduce_sum, sg.reduce_mean, sg.reduce_logsumexp)
EXTREMES: tuple[Callable, ...] = (sg.reduce_max, sg.reduce_min)


def rank(x: sg.Tensor) -> int:
    return len(x.shape.as_list())


def bounded(x: sg.Tensor) -> sg.Tensor:
    return 2.0 * sg.tanh(x)


@dataclass
class Program:
    """A graph that grows. `fetches` are what a run asks for; `feeds` its arguments."""

    random: Random
    dtype: sg.DType = field(init=False)
    values: list[sg.Tensor] = field(default_factory=list)  # of real numbers
    whole: list[sg.Tensor] = field(default_factory=list)  # of integers and truth values
    exact: set[sg.Tensor] = field(default_factory=set)  # what was never rounded: comparisons may look at it
    kinked: set[sg.Tensor] = field(default_factory=set)  # what has derivatives that jump
    variables: list[sg.Variable] = field(default_factory=list)
    updates: list[Any] = field(default_factory=list)
    feeds: dict[sg.Tensor, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.random.randrange(1 << 30))
        self.dtype = sg.float64 if self.random.randrange(4) == 0 else sg.float32
        a, b = self.random.choice(SIZES), self.random.choice(SIZES)
        c = self.random.choice(SIZES[:8])
        self.shapes = [(a, b), (b, a), (a, c), (c, b), (b,), (a,), (a, 1), (1, b), (), (c,), (2, a, c)]
        for _ in range(2):
            self.fed()
        for _ in range(1 + self.random.randrange(3)):
            self.variable()

    def shape(self) -> tuple[int, ...]:
        """Most often that of the largest matrices."""
        return self.shapes[0] if self.random.randrange(2) else self.random.choice(self.shapes)

    def fed(self) -> None:
        shape = self.shape()
        x = sg.placeholder(self.dtype, shape)
        self.feeds[x] = self.rng.normal(size=shape).astype(self.dtype.as_numpy_dtype)
        self.values.append(x)
        self.exact.add(x)

    def variable(self) -> None:
        start = self.rng.normal(size=self.shape()).astype(self.dtype.as_numpy_dtype)
        v = sg.Variable(start, name=f"v{len(self.variables)}")
        self.variables.append(v)
        self.values.append(v.value())

    def some(self, shape: Sequence[int] | None = None) -> sg.Tensor:
        """A value, more often a recent one; of a given shape, if need be by repeating or summing it up."""
        fitting = [v for v in self.values if shape is None or v.shape.as_list() == list(shape)]
        if not fitting:
            return sg.zeros(shape, self.dtype) + sg.reduce_mean(self.random.choice(self.values))
        return self.random.choice(fitting[-4:] if self.random.randrange(2) else fitting)

    def add(self, made: sg.Tensor, *inputs: sg.Tensor, kink: bool = False) -> None:
        if int(np.prod(made.shape.as_list())) <= MOST:
            self.values.append(made)
            if kink or any(x in self.kinked for x in inputs):
                self.kinked.add(made)

    def axes(self, x: sg.Tensor) -> Any:
        """One axis, or the first ones, or all."""
        n = rank(x)
        if n == 0:
            return None
        return self.random.choice(
            [None, 0, n - 1, n - 1, self.random.randrange(n), list(range(n))[: n // 2 + 1]]
        )

    def step(self) -> None:
        kinds = (
            self.unary,
            self.binary,
            self.binary,
            self.reduced,
            self.reduced,
            self.normal,
            self.normal,
            self.product,
            self.product,
            self.moved,
            self.moved,
            self.gathered,
            self.chosen,
            self.counted,
            self.scanned,
            self.updated,
            self.updated,
            self.derived,
            self.put_together,
        )
        self.random.choice(kinds)()

    def unary(self) -> None:
        x = self.some()
        kink = not self.random.randrange(3)
        self.add(self.random.choice(KINKED if kink else SMOOTH)(bounded(x)), x, kink=kink)

    def binary(self) -> None:
        x = self.some()
        shape = x.shape.as_list()
        others = [y for y in self.values if _broadcasts(y.shape.as_list(), shape)]
        y = self.random.choice(others)
        op = self.random.choice([sg.add, sg.subtract, sg.multiply, sg.maximum, sg.minimum, _quotient])
        self.add(
            op(bounded(x), y) if self.random.randrange(2) else op(y, bounded(x)),
            x,
            y,
            kink=op in (sg.maximum, sg.minimum),
        )

    def reduced(self) -> None:
        x = self.some()
        axes, keepdims = self.axes(x), bool(self.random.randrange(2))
        kink = self.random.randrange(3) == 0
        made = self.random.choice(EXTREMES if kink else SUMS)(x, axes, keepdims=keepdims)
        count = np.prod(x.shape.as_list()) / max(1, np.prod(made.shape.as_list()))
        self.add(made / np.sqrt(count), x, kink=kink)
        if self.random.randrange(3) == 0:
            self.values.append(made)

    def normal(self) -> None:
        """A softmax, or a normalisation over some axes, with scale and offset or not."""
        x = self.some()
        if rank(x) == 0:
            return
        axes = self.axes(x)
        match self.random.randrange(4):
            case 0:
                made = sg.nn.softmax(x, axis=self.random.randrange(rank(x)))
            case 1:
                made = sg.nn.log_softmax(x, axis=self.random.randrange(rank(x)))
            case _:
                centred = x - sg.reduce_mean(x, axes, keepdims=True)
                made = centred * sg.rsqrt(sg.reduce_mean(sg.square(centred), axes, keepdims=True) + 0.1)
                if self.random.randrange(2):
                    made = made * self.some([x.shape.as_list()[-1]]) + self.some([x.shape.as_list()[-1]])
                if self.random.randrange(2):
                    self.values.append(centred)
        self.add(made, x)

    def product(self) -> None:
        """A product of matrices, and most often something done to it at once."""
        x = self.some()
        pairs = [
            (y, ta, tb)
            for y in self.values
            if rank(x) == rank(y) == 2
            for ta in (False, True)
            for tb in (False, True)
            if x.shape.as_list()[0 if ta else 1] == y.shape.as_list()[1 if tb else 0]
        ]
        if not pairs:
            return
        y, ta, tb = self.random.choice(pairs)
        depth = x.shape.as_list()[0 if ta else 1]
        made = sg.matmul(x, y, transpose_a=ta, transpose_b=tb) / np.sqrt(depth)
        inputs = [x, y]
        for _ in range(self.random.randrange(3)):
            match self.random.randrange(4):
                case 0:
                    inputs.append(self.some([made.shape.as_list()[-1]]))
                    made = made + inputs[-1]
                case 1:
                    made = self.random.choice(SMOOTH)(bounded(made))
                case 2:
                    inputs.append(self.some(made.shape.as_list()))
                    made = made * bounded(inputs[-1])
                case _:
                    self.add(made, *inputs)
                    made = sg.sigmoid(made)
        self.add(made, *inputs)

    def moved(self) -> None:
        x = self.some()
        n = rank(x)
        if n == 0:
            made = sg.fill(list(self.shape()), x)
        else:
            shape, axis = x.shape.as_list(), self.random.randrange(n)
            order = list(range(n))
            self.random.shuffle(order)
            cut = self.random.randrange(shape[axis])
            begin = [cut if i == axis else 0 for i in range(n)]
            made = self.random.choice(
                [
                    lambda: sg.transpose(x, order),
                    lambda: sg.transpose(x, order),
                    lambda: sg.reshape(x, [-1]),
                    lambda: sg.reshape(x, shape[::-1]),
                    lambda: sg.reshape(x, [*shape[1:], shape[0]]),
                    lambda: sg.reverse(x, [axis]),
                    lambda: sg.slice(x, begin, [-1] * n),
                    lambda: sg.pad(x, [[i == axis, 2 * (i == axis)] for i in range(n)]),
                    lambda: sg.concat([x, x * 2.0], axis),
                    lambda: sg.tile(x, [1 + (i == axis) for i in range(n)]),
                    lambda: sg.expand_dims(x, axis),
                    lambda: sg.roll(x, 1, axis),
                ]
            )()
        self.add(made, x)

    def gathered(self) -> None:
        x = self.some()
        if rank(x) == 0:
            return
        axis = self.random.randrange(rank(x))
        extent, count = x.shape.as_list()[axis], self.random.choice(self.shapes[0])
        at = self.indices(extent, count)
        if self.random.randrange(3):
            self.add(sg.gather(x, at, axis=axis), x)
        else:
            at = self.indices(self.random.choice(SIZES[:8]), x.shape.as_list()[0])
            self.add(sg.unsorted_segment_sum(x, at, 31) * 0.3, x)

    def indices(self, extent: int, count: int) -> sg.Tensor:
        array = self.rng.integers(0, extent, count).astype(np.int32)
        if self.random.randrange(2):
            return sg.constant(array)
        fed = sg.placeholder(sg.int32, array.shape)
        self.feeds[fed] = array
        return fed

    def chosen(self) -> None:
        """Choose one of two values by the sign of something fed."""
        x = self.random.choice([v for v in self.values if v in self.exact])
        y = self.some(x.shape.as_list())
        positive = sg.greater(x, 0.25)
        self.whole.append(positive)
        self.add(sg.where(positive, y, -x if self.random.randrange(2) else y * y * 0.1), x, y)

    def counted(self) -> None:
        """Integers and truth values, which have to come out the same."""
        if not self.whole or self.random.randrange(3) == 0:
            x = self.random.choice([v for v in self.values if v in self.exact])
            made = [lambda: sg.greater(x, 0.5), lambda: sg.cast(x * 4.0, sg.int32)]
            if rank(x):
                axis = self.random.randrange(rank(x))
                made += [
                    lambda: sg.argmax(x, axis, output_type=sg.int32),
                    lambda: sg.reduce_max(x, axis) > 1.5,
                ]
            self.whole.append(self.random.choice(made)())
            return
        x = self.random.choice(self.whole)
        axes = self.axes(x)
        if x.dtype == sg.bool:
            made = [
                lambda: sg.reduce_any(x, axes),
                lambda: sg.reduce_all(x, axes, keepdims=True),
                lambda: sg.logical_not(x),
                lambda: sg.cast(x, sg.int32),
                lambda: sg.reduce_sum(sg.cast(x, sg.int32), axes),
            ]
        else:
            made = [
                lambda: sg.reduce_sum(x, axes),
                lambda: x * 3 - sg.reduce_max(x, axes, keepdims=True),
                lambda: sg.floormod(x, 7),
                lambda: sg.transpose(x),
                lambda: sg.equal(x, sg.reduce_min(x)),
                lambda: sg.maximum(x, 1) // 3,
            ]
        result = self.random.choice(made)()
        self.whole.append(result)
        if self.random.randrange(2):
            self.add(bounded(sg.cast(result, self.dtype) * 0.01))

    def scanned(self) -> None:
        x = self.some()
        if rank(x):
            axis = self.random.randrange(rank(x))
            made = sg.cumsum(
                x, axis, exclusive=bool(self.random.randrange(2)), reverse=bool(self.random.randrange(2))
            )
            self.add(made / float(x.shape.as_list()[axis]), x)

    def put_together(self) -> None:
        x = self.some()
        y = self.some(x.shape.as_list())
        if rank(x):
            made = (
                sg.stack([x, y], self.random.randrange(rank(x) + 1)) if rank(x) < 3 else sg.concat([y, x], 0)
            )
            self.add(made, x, y)

    def updated(self) -> None:
        """A new value for a variable, computed from others."""
        v = self.random.choice(self.variables)
        shape = v.shape.as_list()
        value = bounded(self.some(shape))
        if len(shape) == 2 and shape[0] == shape[1] and self.random.randrange(2):
            value = sg.transpose(value)
        kind = self.random.randrange(5)
        if kind == 3 and shape:
            at = self.indices(shape[0], 5)
            rows = sg.gather(value, self.indices(shape[0], 5))
            made = self.random.choice([sg.scatter_add, sg.scatter_update])(v, at, rows)
        elif kind < 2:
            made = v.assign(value)
        else:
            made = self.random.choice([v.assign_add, v.assign_sub])(value * 0.25)
        self.updates.append(self.random.choice([made, made.op]))
        if self.random.randrange(2):
            self.values.append(sg.identity(v.value()))

    def derived(self) -> None:
        x = self.some()
        if x in self.kinked:
            return
        loss = (
            sg.reduce_mean(bounded(x))
            if self.random.randrange(2)
            else sg.reduce_sum(sg.square(bounded(x))) * 0.1
        )
        v = self.random.choice(self.variables)
        [slope] = sg.gradients(loss, [v])
        if isinstance(slope, sg.Tensor):
            self.add(slope, x)
            if self.random.randrange(2):
                self.updates.append(v.assign_sub(0.1 * bounded(slope)))

    def fetches(self) -> list[Any]:
        used = {t for op in sg.get_default_graph().get_operations() for t in op.tensors}
        last = [v for v in (*self.values, *self.whole) if v not in used]
        inner = [*self.values, *self.whole]
        asked = [*last[-6:], *self.random.sample(inner, min(3, len(inner)))]
        return [*self.updates[-4:], *asked, *self.variables[: self.random.randrange(2)]]


def _broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    return len(shape) <= len(to) and all(
        a in (1, b) for a, b in zip(reversed(shape), reversed(to), strict=False)
    )


def _quotient(x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
    return x / (sg.square(y) + 1.0)
