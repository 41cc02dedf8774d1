"""Numbers of a random state, one after the other, for ops whose draws depend on what they drew before.

Both forms, of a kernel and of NumPy, take the numbers in the order of TensorFlow's `SimplePhilox`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.kernel.expr import Const, Expr, Local
from staticgraph.compiler.kernel.stmt import Let, Update, While
from staticgraph.compiler.ops.kinds import View
from staticgraph.compiler.ops.random_numbers import philox
from staticgraph.compiler.ops.random_numbers.random import block_of
from staticgraph.compiler.ops.statements.strips import Body, Fresh


class NumberStream:
    """The numbers of a random state, one after the other, as expressions and statements of a kernel.

    Args:
        state: The random state of the op.
        fresh: Gives the names of locals.
    """

    def __init__(self, state: View, fresh: Fresh) -> None:
        self.state, self.fresh, self.place = state, fresh, fresh.local("place", int64)

    def begin(self) -> Let:
        """Return the statement that goes to the first number."""
        return Let(self.place, Const(0, int64))

    def number(self, per_block: int, numbers: Callable[[list[Expr]], list[Expr]]) -> Expr:
        """Return the number at the present place.

        Args:
            per_block: How many numbers a block of four words gives.
            numbers: Makes the numbers of the words.
        """
        words, lane = block_of(self.place, self.state, per_block)
        return philox.pick(numbers(words), lane)

    def taken(self, value: Expr) -> tuple[Local, Body]:
        """Return a local with `value`, the number at the present place, and the statements that go on."""
        local = self.fresh.local("number", value.dtype)
        return local, (Let(local, value), Update(self.place, self.place + 1))

    def below(self, count: int | Expr, bits: Expr) -> tuple[Expr, Body]:
        """Return an integer below `count`, and the statements that draw it.

        `bits` that would make low integers too frequent are drawn again.

        Args:
            count: The number of integers: positive, of the dtype of `bits` if it is an expression.
            bits: The number at the present place, uint32 or uint64.
        """
        drawn_bits, lets = self.taken(bits)
        again = (Update(drawn_bits, bits), Update(self.place, self.place + 1))
        if isinstance(count, Expr):
            # 2**bits % count, in unsigned arithmetic of that many bits
            rejected: Expr = (Const(0, bits.dtype) - count) % count
        elif _rejected(count, 8 * bits.dtype.size):
            rejected = Const(_rejected(count, 8 * bits.dtype.size), bits.dtype)
        else:
            return drawn_bits % Const(count, bits.dtype), lets
        limit = count if isinstance(count, Expr) else Const(count, bits.dtype)
        return drawn_bits % limit, (*lets, While(drawn_bits < rejected, again))


def _rejected(count: int, bits: int) -> int:
    """Return how many of the lowest integers are left out, so that a multiple of `count` remains."""
    return 2**bits % count


def numpy_numbers(state: np.ndarray, dtype: Any) -> Iterator[int]:
    """Yield the words of a random state as integers of `dtype`, uint32 or uint64."""
    for start in itertools.count(0, 64):
        counters = state[0] + np.arange(start, start + 64, dtype=np.uint64)
        yield from philox.numpy_words(counters, int(state[1]), int(state[2])).ravel().view(dtype).tolist()


def numpy_below(words: Iterator[int], count: int, bits: int) -> int:
    """Return an integer below `count`, as `NumberStream.below` does."""
    return next(word for word in words if word >= _rejected(count, bits)) % count
