"""Integers that are computed of sizes and of fed numbers are the same whether these are open or constants.

A graph is drawn twice: with open sizes and fed numbers, and with all of them known. Compiled code and its
interpretation fold sizes by the same rules, so neither tells of a rule that is wrong.

`python -m tests.fuzz.test_random_sizes FIRST COUNT` goes on.
"""

from __future__ import annotations

import sys
from random import Random

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import told

LARGE = (2**31 - 1, -(2**31), 65536, 1103515245, 2000)
NUMBERS = (1, 2, 3, 7, 64, 1000, -1, -3, -8, 65536, 1103515245, 2**31 - 1)
NARROW = (sg.int8, sg.uint8, sg.int16, sg.uint16)


class Draw:
    """A graph of scalars; `known`: if its sizes and numbers are constants."""

    def __init__(self, seed: int, known: bool) -> None:
        self.random, self.known, self.feeds = Random(seed), known, {}
        self.pool: list[sg.Tensor] = []
        for _ in range(2):
            rows = self.random.choice((0, 1, 2, 3, 5, 8, 33))
            x = sg.placeholder(sg.float32, [rows if known else None])
            self.feeds[x] = np.zeros(rows)
            self.pool.append(sg.shape(x, out_type=self.random.choice((sg.int32, sg.int64)))[0])
        for _ in range(3):
            number = self.random.choice((self.random.randint(-40, 40), self.random.choice(LARGE)))
            dtype = self.random.choice((sg.int32, sg.int64))
            self.pool.append(sg.constant(number, dtype) if known else sg.placeholder(dtype, []))
            if not known:
                self.feeds[self.pool[-1]] = number

    def step(self) -> None:
        r = self.random
        a = r.choice(self.pool)
        b = r.choice([each for each in self.pool if each.dtype == a.dtype])
        k = sg.constant(r.choice(NUMBERS), a.dtype)
        few = sg.floormod(a, 5)
        made = r.choice(
            (
                lambda: a + b, lambda: a - b, lambda: a * b, lambda: a * k, lambda: k - a, lambda: a // k,
                lambda: a % k, lambda: sg.truncatediv(a, k), lambda: sg.minimum(a, b), lambda: sg.abs(a),
                lambda: sg.maximum(a, k), lambda: sg.bitwise.bitwise_and(a, k), lambda: sg.pow(a, 3 + 0 * k),
                lambda: sg.cast(sg.cast(a, r.choice(NARROW)), a.dtype), lambda: sg.where(a > b, a, b),
                lambda: sg.cast(a, sg.int32 if a.dtype == sg.int64 else sg.int64), lambda: sg.square(a),
                lambda: sg.cond(a > k, lambda: a, lambda: b), lambda: sg.reduce_prod(sg.stack([a, b, k])),
                lambda: sg.cast(sg.shape(sg.fill([few], 1.0))[0], a.dtype),
                lambda: sg.reduce_sum(sg.range(sg.clip_by_value(a, 0, 20))),
                lambda: sg.bitwise.right_shift(a, sg.constant(3, a.dtype)),
            )
        )()  # fmt: skip
        self.pool.append(made)


def results(seed: int, known: bool) -> list[int | str]:
    """The numbers of a graph, and the classes of errors in their place."""
    with sg.Graph().as_default() as graph:
        draw = Draw(seed, known)
        for _ in range(draw.random.randint(5, 12)):
            draw.step()
    with sg.Session(graph=graph) as session:
        try:
            return [each.item() for each in session.run(draw.pool, draw.feeds)]
        except Exception as error:
            assert told(error), error
            return [type(error).__name__]


@pytest.mark.parametrize("first", [0, 6])
def test_some_sizes(first: int):
    for seed in range(first, first + 6):
        assert results(seed, known=False) == results(seed, known=True), seed


if __name__ == "__main__":
    begin, count = map(int, sys.argv[1:])
    for number in range(begin, begin + count):
        assert results(number, known=False) == results(number, known=True), number
    print(f"{count} graphs, all alike")
