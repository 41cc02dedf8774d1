"""Random Functions with loops and branches in them, at any depth, over a few ops that stay near zero.

`random_nest(choose)` makes one; `choose(n)` gives a number below n. Loops count to a number that data
decide, or that is known; what they carry are vectors, matrices and numbers. They capture what is around
them, read and write rows, keep values as they are, and carry some in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import float64
from staticgraph.compiler.graph.function import Function, Value
from tests.graph.inner import branched, looped

Choose = Callable[[int], int]
SHAPES = ((), (3,), (16,), (4, 8), (5, 16))
LARGEST = 4  # rounds


@dataclass
class Nest:
    """A Function that grows, with what may be used at the present place."""

    choose: Choose
    build: Builder = field(default_factory=Builder)
    params: list[Value] = field(default_factory=list)
    arrays: list[np.ndarray] = field(default_factory=list)

    def pick(self, items: Sequence[Value]) -> Value:
        return items[self.choose(len(items))]

    def argument(self, array: np.ndarray) -> Value:
        dtype = "int32" if array.dtype.kind == "i" else "float64"
        self.params.append(self.build.parameter(f"p{len(self.params)}", dtype, array.shape))
        self.arrays.append(array)
        return self.params[-1]

    def like(self, seen: Sequence[Value], value: Value) -> Value:
        """A value of the same type, of those at hand."""
        return self.pick([v for v in seen if v.type == value.type])

    def number(self, seen: Sequence[Value]) -> Value:
        return self.pick([v for v in seen if v.dtype.is_integer])

    def steps(self, seen: list[Value], depth: int) -> list[Value]:
        """`seen` and what a few random ops make of it."""
        seen = list(seen)
        for _ in range(1 + self.choose(4)):
            seen += self.step(seen, depth)
        return seen

    def step(self, seen: Sequence[Value], depth: int) -> Sequence[Value]:
        reals = [v for v in seen if not v.dtype.is_integer]
        x = self.pick(reals)
        match self.choose(10 if depth else 7):
            case 0:
                return [ops.sin(x) * self.like(reals, x)]
            case 1:
                return [ops.tanh(x + self.like(reals, x))]
            case 2:
                return [ops.multiply(x, 0.5) - self.like(reals, x) * 0.25]
            case 3:
                return [(self.number(seen) + self.choose(3)) % 5]
            case 4:
                square = ops.matmul(x, x, transpose_b=True) if x.rank == 2 else x
                return [ops.tanh(ops.reduce_mean(square))]
            case 5 if x.rank:
                return [ops.row_update(x, self.number(seen), ops.gather(x, self.number(seen) % x.shape[0]))]
            case 6:
                return [ops.select(ops.less(ops.reduce_sum(x), 0.0), x, self.like(reals, x))]
            case 7:
                return self.branch(seen, depth)
            case _ if depth:
                return self.loop(seen, depth)
        return []

    def branch(self, seen: Sequence[Value], depth: int) -> Sequence[Value]:
        captures = [self.pick(seen) for _ in range(1 + self.choose(3))]
        captures += [v for v in seen if v.dtype.is_integer][:1] + [v for v in seen if not v.dtype.is_integer][
            :1
        ]
        outputs = [self.pick(captures) for _ in range(1 + self.choose(2))]
        places = [captures.index(v) for v in outputs]

        def made(*given: Value) -> list[Value]:
            inside = self.steps(list(given), depth - 1)
            return [self.like(inside, given[place]) for place in places]

        functions = [made for _ in range(1 + self.choose(3))]
        return branched(self.build, self.number(seen), functions, captures).outputs

    def loop(self, seen: Sequence[Value], depth: int) -> Sequence[Value]:
        """Rounds as many as a constant says, or a number that stays as it is; at most LARGEST."""
        init = [self.pick(seen) for _ in range(1 + self.choose(4))]
        captures = [self.pick(seen) for _ in range(self.choose(3))]
        captures += [v for v in seen if not v.dtype.is_integer][:1]
        known = self.choose(2)
        limit = (
            self.build.constant(self.choose(LARGEST + 1), "int32") if known else self.number(seen) % LARGEST
        )

        def body(i: Value, limit: Value, *given: Value) -> list[Value]:
            inside = self.steps([i, *given], depth - 1)
            return [i + 1, limit, *(self.like(inside, v) for v in given[: len(init)])]

        start = self.build.constant(0, "int32")
        node = looped(self.build, lambda i, n, *_: i < n, body, [start, limit, *init], captures)
        return node.outputs[2:]


def random_nest(choose: Choose) -> tuple[Function, list[np.ndarray]]:
    """A Function with some loops and branches, and arguments for it."""
    nest = Nest(choose)
    rng = np.random.default_rng(choose(1000))
    seen = [nest.argument(rng.uniform(-1, 1, shape)) for shape in SHAPES]
    seen += [nest.argument(np.array(rng.integers(0, 5), np.int32)) for _ in range(2)]
    made = nest.steps(seen, 2)
    made += nest.loop(made, 2)
    results = [v for v in made if v not in seen][-6:] or [seen[0]]
    assert all(v.dtype in (float64, seen[-1].dtype) for v in results)
    return Function(tuple(nest.params), tuple(results)), nest.arrays
