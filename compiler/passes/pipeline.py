"""The passes, in the order that `compiler/stages.py` gives them.

Passes can be left out by name, for example to bisect a miscompile.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from staticgraph.compiler import stages
from staticgraph.compiler.graph.function import RESHAPES, Function
from staticgraph.compiler.passes import expand as composites
from staticgraph.compiler.passes.simplify import simplify as apply_rules
from staticgraph.compiler.rewrite import Trace
from staticgraph.compiler.stages import Observer, observing, unobserved
from staticgraph.compiler.support.dataclass import dataclass

Pass = Callable[[Function], Function]
NAMES = [stage.name for stage in stages.part("passes")]

# Passes that are for few graphs, and the ops without which they change nothing. Then they are neither called
# nor imported, and reported as stages that changed nothing.
OPS_OF = {
    "loops": {"loop", "branch"},
    "fewer_products": {"conv_windows", "conv_spread", "conv_filter"},
    "sink_reshapes": RESHAPES,
    "side_by_side": {"pad"},
    "defined": {"undefined_gradient"},
}


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Passes that run one after the other. Each may assume a valid Function and must leave one."""

    passes: tuple[Pass, ...]

    def __call__(self, function: Function, observers: Sequence[Observer] = ()) -> Function:
        with observing(*observers):
            for each in self.passes:
                before = function
                concerned = OPS_OF.get(each.__name__)
                if concerned is None or not concerned.isdisjoint(function.op_names):
                    function = each(function)
                stages.report(each.__name__, before, function)
        return function


def pipeline(without: Container[str] = (), trace: Trace | None = None) -> Pipeline:
    """All passes but those named; `trace` is told of each rule that is applied.

    Without `improve` no rules are applied that improve results, and without `open_scratch` memory of kernels
    has known sizes, as on a GPU.
    """

    def loops(function: Function) -> Function:
        """Loops and branches as small as can be; the passes are applied to what is in them."""
        from staticgraph.compiler.passes.loops import tidy

        with unobserved():
            return tidy(function, made)

    def expand(function: Function) -> Function:
        return composites.expand(function, on_gpu="open_scratch" in without)

    def fewer_products(function: Function) -> Function:
        from staticgraph.compiler.passes import winograd

        return winograd.fewer_products(function)

    def defined(function: Function) -> Function:
        from staticgraph.compiler.passes import undefined_derivatives

        return undefined_derivatives.defined(function)

    def simplify(function: Function) -> Function:
        return apply_rules(function, trace, improve="improve" not in without)

    def sink_reshapes(function: Function) -> Function:
        from staticgraph.compiler.passes import sink_reshapes

        return sink_reshapes.sink_reshapes(function)

    def side_by_side(function: Function) -> Function:
        from staticgraph.compiler.passes import side_by_side

        return side_by_side.side_by_side(function)

    each_pass = (loops, expand, fewer_products, simplify, sink_reshapes, side_by_side, defined)
    passes = {each.__name__: each for each in each_pass}
    made = Pipeline(tuple([passes[name] for name in NAMES if name not in without]))
    return made


PIPELINE = pipeline()
