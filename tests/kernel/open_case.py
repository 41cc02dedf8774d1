"""A kernel whose sizes may be open, with the arrays that it should make of others."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from staticgraph.compiler.graph.sizes import evaluate
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.lower_expressions import Nest, place
from staticgraph.compiler.kernel.schedule_cpu.row_schedule import place_rows
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Store
from tests.kernel.cases import Arrays


@dataclass(frozen=True)
class OpenCase:
    """A kernel for any values of `n` and `t`, and the arrays that it should make of others.

    `rows`: the first indices of all nests, if it is a kernel of rows.
    """

    buffers: dict[str, Buffer]
    nests: tuple[Nest, ...]
    expected: Callable[[Arrays], Arrays]
    rows: tuple[Index, ...] = ()
    sums: tuple[Nest, ...] = ()
    placed_as_rows: bool = False  # of which there is one
    integers: dict[str, int] = field(default_factory=dict)  # the number of values of a buffer of integers

    def placed(self) -> Kernel:
        if self.rows or self.placed_as_rows:
            return place_rows("case", dict(self.buffers), self.rows, self.nests, self.sums)
        (nest,) = self.nests
        return place("case", dict(self.buffers), nest.domain, nest.stores)

    def arrays(self, sizes: dict[str, int], seed: int = 0) -> Arrays:
        """Random arrays for the arguments."""
        rng = np.random.default_rng(seed)

        def filled(name: str, b: Buffer) -> np.ndarray:
            shape = [evaluate(n, sizes) for n in b.shape]
            if b.dtype.is_integer or b.dtype.is_bool:
                return rng.integers(0, self.integers.get(name, 2), shape).astype(b.dtype.numpy)
            return b.dtype.round(rng.normal(size=shape))

        return {name: filled(name, b) for name, b in self.buffers.items() if not (b.local or b.shared)}


def one(buffers: dict[str, Buffer], domain: tuple[Index, ...], expected: Any, **values: Any) -> OpenCase:
    """A case of one nest. `values`: for each buffer its position and the element there."""
    stores = tuple(Store(name, *value) for name, value in values.items())
    return OpenCase(buffers, (Nest(domain, stores),), expected)
