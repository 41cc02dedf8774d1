"""The passes in their order, and observers between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.passes.expand import expand
from staticgraph.compiler.passes.loops import tidy
from staticgraph.compiler.passes.simplify import simplify

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


def loops(function: Function) -> Function:
    """Loops and branches as small as can be; the passes are applied to what is in them."""
    return tidy(function, PIPELINE)


PIPELINE = Pipeline(
    (
        loops,  # before the others, which then see what was taken out of loops
        expand,  # composites and markers have done their work once gradients are taken
        simplify,
    )
)
