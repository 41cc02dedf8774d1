"""Asking for memory before it is read, so that multiply-adds need not wait for it.

Processors guess what comes next along neighbouring lines and inside of a page. For what lies elsewhere a
micro-kernel asks itself, for its own end or for the micro-kernels after it: a little in every round of its
loop, because a processor can only wait for so many lines at a time.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.kernel.stmt import ALIGNMENT
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Later:
    """Rows of neighbouring elements, behind a pointer, that will be read."""

    pointer: str
    dtype: DType
    rows: int
    step: Number  # elements from one row to the next
    columns: int

    def ask(self, w: GemmWriter, row: Number) -> None:
        """Prefetch one of the rows."""
        ask(w, w.address(self.pointer, w.mul(row, self.step), self.dtype), self.columns, self.dtype)


def ask(w: GemmWriter, start: str, columns: int, dtype: DType) -> None:
    """Prefetch neighbouring elements."""
    for column in range(0, columns, ALIGNMENT // dtype.size):
        w.prefetch(w.address(start, column, dtype))
