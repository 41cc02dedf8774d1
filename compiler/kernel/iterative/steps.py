"""A writer of the statements that compute one element: values, variables, and loops that change variables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from staticgraph.compiler.graph.dtypes import float64
from staticgraph.compiler.kernel.expr import Const, Expr, Local
from staticgraph.compiler.kernel.primitives import instructions
from staticgraph.compiler.kernel.stmt import Let, Stmt, Update, While

TERMS = 10_000  # of a series or fraction at most: whatever the arguments are, a run ends


class Steps:
    """Statements in the order in which they run. `single`: the result is rounded to float32.

    `enough`: a term this small against its sum changes nothing.

    >>> steps = Steps(single=False)
    >>> total = steps.value(Const(1.0, float64))
    >>> with steps.repeat(total < 100.0):
    ...     steps.update(total, total * 2.0)
    >>> [type(stmt).__name__ for stmt in steps.body]
    ['Let', 'While']
    """

    def __init__(self, single: bool) -> None:
        self.single, self.enough = single, 1e-9 if single else 1e-17
        self.body: list[Stmt] = []
        self._count = 0

    def value(self, value: Expr | float) -> Local:
        """A local that starts as `value`; `update` gives it another one."""
        value = value if isinstance(value, Expr) else Const(value, float64)
        local = Local(f"v{self._count}", value.dtype)
        self._count += 1
        self.body.append(Let(local, value))
        return local

    def update(self, local: Local, value: Expr) -> None:
        """Give `local` a new value."""
        self.body.append(Update(local, value))

    @contextmanager
    def repeat(self, condition: Expr) -> Iterator[None]:
        """The statements written inside run while `condition` holds."""
        outer, self.body = self.body, []
        yield
        outer.append(While(condition, tuple(self.body)))
        self.body = outer

    @contextmanager
    def once(self, condition: Expr) -> Iterator[Local]:
        """The statements written inside run if `condition` holds for any of the lanes.

        It gives a local that is 1 in those and 0 in others. A loop of one iteration. What is to be skipped
        must read a local that the statements update, such as this one: all other expressions are computed
        before a loop.
        """
        left = self.value(instructions.select(condition, Const(1.0, float64), Const(0.0, float64)))
        with self.repeat(left > 0.0):
            yield left
            self.update(left, Const(0.0, float64))


def choose(condition: Expr, chosen: Expr | float, other: Expr | float) -> Expr:
    """`chosen` where `condition` holds, else `other`, both of float64."""
    chosen, other = (x if isinstance(x, Expr) else Const(x, float64) for x in (chosen, other))
    return instructions.select(condition, chosen, other)
