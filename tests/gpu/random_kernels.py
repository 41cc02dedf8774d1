"""Random kernels for one compilation: to compile them one by one would take half a second for each."""

from hypothesis import Phase, given, settings

from staticgraph.compiler.kernel.expr import Const, Expr, Index, Reduce, identity, substitute, walk
from staticgraph.compiler.kernel.stmt import Buffer, Store
from tests.kernel.test_random_kernels import programs

Program = tuple[dict[str, Buffer], tuple[Index, ...], tuple[Store, ...]]


def drawn(count: int) -> list[Program]:
    """So many programs, the same in every run."""
    found: list[Program] = []

    @settings(max_examples=count, phases=[Phase.generate])
    @given(programs())
    def collect(program: Program) -> None:
        found.append(program)

    collect()
    return found


def without_reductions(program: Program) -> Program:
    """The program with one of the values that are reduced in place of all of them."""
    buffers, domain, stores = program
    return buffers, domain, tuple(Store(s.buffer, s.at, _first(s.value)) for s in stores)


def _first(value: Expr) -> Expr:
    table: dict[Expr, Expr] = {}
    for node in walk(value):
        if isinstance(node, Reduce):
            point: dict[Expr, Expr] = {a: Const(0, a.dtype) for a in node.axes}
            empty = any(a.extent == 0 for a in node.axes)
            inner = substitute(node.value, table)
            table[node] = identity(node.combine, node.dtype) if empty else substitute(inner, point)
    return substitute(value, table)
