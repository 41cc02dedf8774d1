"""Cost of recomputing an element, compared with the cost of storing it.

Costs are counted in additions of vectors (`kernel/cost.py`). Storing a value costs a store, and a load at
each use. In a buffer of the whole array, that is a trip to memory. In a buffer of one row, which stays in the
cache, that costs a few instructions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from functools import lru_cache

from staticgraph.compiler.fusion.inline_element import TEMPLATE_LIMIT, Position, Template, template
from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.opdef import Kind
from staticgraph.compiler.graph.sizes import estimate, same, several
from staticgraph.compiler.kernel.cost import operation_cost
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Reduce, Scalar, free_indices

KEPT_IN_ROW = 3  # of a store, and a load per use, in the cache
LEAST_ROW = 8  # elements: shorter rows leave most lanes of a vector without work
FEW_ROWS, LONG_ROW = 16, 1 << 15  # fewer rows of more elements would leave threads without work
LONG_ENOUGH = 32  # elements: whole arrays with shorter rows had better be gone through without regard to rows
WIDE = 128  # columns: the sums of fewer stay in registers while their rows go by


@lru_cache(TEMPLATE_LIMIT)
def cost(formula: Template) -> float:
    """The cost of one element, its inputs being there."""
    return sum([operation_cost(e.op) for e in formula.order if isinstance(e, Scalar) and not _is_index(e)])


@lru_cache(TEMPLATE_LIMIT)
def reduces(formula: Template) -> bool:
    """Return True if an element is a reduction of many elements, such as a sum."""
    return Reduce in map(type, formula.order)


def cheap_nodes(function: Function) -> frozenset[Node]:
    """The nodes of which an element is computed again with less effort than it takes to keep it.

    It is made of few instructions, those of nodes that are cheap themselves included, from one large value.
    """
    efforts: dict[Value, tuple[float, Collection[Value]]] = {}  # instructions, and the large values they read
    elements = _Elements()
    for node in function.nodes:
        if node.op.element is None or reduces(formula := template(node)):
            continue
        value = node.outputs[0]
        effort, large = cost(formula), frozenset[Value]()
        for read in node.inputs:
            # A read that takes about as long as one of the result: elements repeat little.
            if 8 * elements[read] > elements[value]:
                before, values = efforts.get(read, (0, (read,)))
                effort, large = effort + before, large.union(values)
        if effort <= KEPT_IN_ROW and len(large) <= 1:
            efforts[value] = effort, large
    return frozenset([value.node for value in efforts])


class _Elements(dict[Value, int]):
    """About how many elements each value has; 0 for a single one."""

    def __missing__(self, value: Value) -> int:
        size = value.size
        found = self[value] = estimate(size) if several(size) else 0
        return found


def work(at: Position, domain: tuple[Index, ...]) -> int:
    """Return how often a kernel computes an expression that reads these indices.

    The expression is placed in the outermost loop that it can be in.
    """
    bound = estimate(math.prod(index.extent for index in _free(at) if index not in domain))
    return estimate(math.prod(index.extent for index in domain[: depth(at, domain)])) * bound


def depth(at: Position, domain: tuple[Index, ...]) -> int:
    """Return how many loops over `domain`, from the outermost on, an expression of these indices is in.

    They go down to the innermost loop that changes the expression. Loops of one iteration that follow change
    nothing and are counted too.
    """
    free = _free(at)
    found = max((i + 1 for i, index in enumerate(domain) if index in free), default=0)
    return next((i for i in range(found, len(domain)) if not same(domain[i].extent, 1)), len(domain))


def _free(at: Position) -> frozenset[Index]:
    return frozenset().union(*(free_indices(e) for e in at)) if at else frozenset()


def shared_rows(domain: tuple[Index, ...], own: Position, positions: Iterable[Position]) -> int:
    """Return the number of rows: leading axes of `domain` that all `positions` have in common.

    `own` is the position of the kernel itself.
    """
    rows = len(domain)
    for at in positions:
        same = (a is b for a, b in zip(at, own[:rows], strict=False))
        rows = next((d for d, equal in enumerate(same) if not equal), min(rows, len(at)))
    return rows


def goes_down(at: Position, axes: tuple[Index, ...]) -> bool:
    """Return True if a sum over `axes` that reads the position `at` goes down the columns of an array."""
    return len(at) > 1 and at[0] is axes[0] and at[-1] not in axes


def worth_rows(shape: tuple[int, ...], rows: int) -> bool:
    """Return True if the first `rows` axes are several rows, each long enough for loops of its own."""
    return several(math.prod(shape[:rows])) and estimate(math.prod(shape[rows:])) >= LEAST_ROW


def _is_index(e: Expr) -> bool:
    return e.dtype.name == "int64" and not any(isinstance(c, Load) for c in e.children)


def flops(nodes: Iterable[Node]) -> int:
    """Return the floating-point operations of products, in all iterations of loops of known trip count."""
    total = 0
    for node in nodes:
        if node.op.kind is Kind.CONTRACTION:
            summed = (e.axes for e in template(node).order if isinstance(e, Reduce))
            extents = math.prod(axis.extent for axes in summed for axis in axes)
            total += 2 * estimate(node.outputs[0].size * extents)
        elif node.op.name == "loop" and node.attrs["exact"]:
            total += estimate(node.attrs["bound"]) * flops(node.attrs["body"].nodes)
    return total
