"""Rules for kernels of one class: with sizes as parameters, they compute the same bits as with numbers.

Each element of a result is computed by the same operations then. Two things could differ. Sums are added in
another order if their blocks or lanes are others: these are decided by sizes that must not vary. And LLVM
computes a product and a sum with one rounding if both are in one loop: so they must read the same indices,
whichever loops there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from staticgraph.compiler.codegen.llvm.lanes import WASTE
from staticgraph.compiler.graph.sizes import AnySize, Size, estimate, same
from staticgraph.compiler.kernel.expr import Expr, Index, Reduce, Scalar, free_indices, walk
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.schedule_cpu.row_schedule import LEAST_ROWS
from staticgraph.compiler.lower.program import Loops

_REGISTERS = (1, 2, 4)  # that may be a vector of a loop
# Functions whose code ends in no product.
_NO_PRODUCT = frozenset({"add", "sub", "maximum", "minimum", "select", "cast", "abs"})


def may_vary(work: Loops, vector_bytes: int) -> bool:
    """Return True if sizes of a kernel may be parameters, for vectors of so many bytes.

    Reductions may only be sums of columns, over rows whose number is open: then blocks of rows depend on that
    number alone, and lanes are columns.
    """
    nests = (*work.nests, *work.sums)
    values = [store.value for nest in nests for store in nest.stores]
    if any(isinstance(e, Reduce) for nest in work.nests for s in nest.stores for e in walk(s.value)):
        return False
    if work.sums and not _sums_columns(work, vector_bytes):
        return False
    return not any(map(_rounds_by_loops, values)) or all(
        _in_whole_vectors(work, n, vector_bytes) for n in nests
    )


def _rows_inside(work: Loops) -> int:
    """Return the number of rows for one value of the first index."""
    return math.prod(estimate(row.extent) for row in work.rows[1:])


def _sums_columns(work: Loops, vector_bytes: int) -> bool:
    if not isinstance(work.rows[0].extent, Size) or _rows_inside(work) < LEAST_ROWS:
        return False  # or blocks depend on the other numbers of rows
    return all(_fills_lanes(nest, vector_bytes) for nest in work.sums)


def _fills_lanes(nest: Nest, vector_bytes: int) -> bool:
    """Return True if the innermost index of a result that is no number has a whole vector of values."""
    columns: list[AnySize] = [i.extent for i in nest.domain if not same(i.extent, 1)]
    size = min(store.value.dtype.size for store in nest.stores)
    return bool(columns) and isinstance(columns[-1], int) and columns[-1] * size >= vector_bytes


def _in_whole_vectors(work: Loops, nest: Nest, vector_bytes: int) -> bool:
    """Return True if the innermost loop of a nest has whole vectors only, and several of them.

    Then it is a loop for each size, and there is no code after it in which other things are constant.
    """
    extents: list[AnySize] = [i.extent for i in nest.domain if not same(i.extent, 1)]
    sizes = {buffer.dtype.size for _, buffer in work.buffers}
    if len(sizes) != 1 or not extents or not isinstance(extents[-1], int):
        return False
    vectors, rest = divmod(extents[-1] * sizes.pop(), vector_bytes)
    likely = (n for n in _REGISTERS if -(-vectors // n) * n <= WASTE * vectors)
    return not rest and all(vectors % n == 0 and vectors >= 2 * n for n in likely)


def _rounds_by_loops(value: Expr) -> bool:
    """Return True if loops decide if a product is rounded before it is added."""
    for node in walk(value):
        if not node.dtype.is_floating:
            continue
        if isinstance(node, Reduce):
            if any(not _has_all(part, node.axes) for part in _products(node.value)):
                return True
        elif isinstance(node, Scalar) and node.op in ("add", "sub"):
            around = free_indices(node)
            if any(free_indices(part) != around for child in node.args for part in _products(child)):
                return True
    return False


def _products(value: Expr) -> Iterator[Expr]:
    """The expression whose value is added, if it may be a product or end in one."""
    while isinstance(value, Scalar) and value.op == "neg":
        (value,) = value.args
    if isinstance(value, Scalar) and value.op not in _NO_PRODUCT:
        yield value


def _has_all(value: Expr, axes: Sequence[Index]) -> bool:
    return free_indices(value).issuperset(axis for axis in axes if not same(axis.extent, 1))
