"""The passes in their order, and observers between them.

Who looks for the one at fault may leave some out.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.passes.expand import expand
from staticgraph.compiler.passes.loops import tidy
from staticgraph.compiler.passes.simplify import simplify as apply_rules
from staticgraph.compiler.passes.undefined_derivatives import defined
from staticgraph.compiler.passes.winograd import fewer_products
from staticgraph.compiler.rewrite.engine import Trace
from staticgraph.compiler.support.dataclass import dataclass

Pass = Callable[[Function], Function]
Observer = Callable[[str, Function, Function], None]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Passes that run one after the other. Each may assume a valid Function and must leave one."""

    passes: tuple[Pass, ...]

    def __call__(self, function: Function, observers: Sequence[Observer] = ()) -> Function:
        for each in self.passes:
            before, function = function, each(function)
            for observe in observers:
                observe(each.__name__, before, function)
        return function


def pipeline(without: Container[str] = (), trace: Trace | None = None) -> Pipeline:
    """All passes but those named; `trace` is told of each rule that is applied.

    Without `improve` no rules are applied that improve results.
    """

    def loops(function: Function) -> Function:
        """Loops and branches as small as can be; the passes are applied to what is in them."""
        return tidy(function, made)

    def simplify(function: Function) -> Function:
        return apply_rules(function, trace, improve="improve" not in without)

    passes = (
        loops,  # before the others, which then see what was taken out of loops
        expand,  # composites and markers have done their work once gradients are taken
        fewer_products,
        simplify,
        defined,  # what only an unused derivative needed is gone
    )
    made = Pipeline(tuple(each for each in passes if each.__name__ not in without))
    return made


PIPELINE = pipeline()
