"""Steps that only set variables, computed by the NumPy meaning of their ops.

Initializers run once, as a rule, and take a moment: far less than it takes to compile kernels for them.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.fusion.group import is_control
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.lower.program import ARGUMENTS, Constants, HostCall, Program, Ref, Require

LIMIT = 1 << 18  # computed elements: for more, machine code is sooner done, its compilation included
GIVEN = ("constant", "parameter", "fill")  # these cost no more than the memory that they fill


def is_small(function: Function) -> bool:
    """Return True if a function, which is done once, is sooner computed by NumPy than compiled."""
    nodes = [node for node in function.nodes if node.op.name != "parameter"]
    computed = sum(v.size for node in nodes if node.op.name not in GIVEN for v in node.outputs)
    by_meaning = (node.op.meaning is not None and not is_control(node) for node in nodes)
    return computed <= LIMIT and all(by_meaning)


def by_meaning(function: Function, checked: bool = False) -> Program:
    """The program that computes `function` by one call into NumPy. `checked`: the last result is a truth
    value without which the run ends.
    """
    from staticgraph.compiler.graph.interpret import interpret  # compiled steps do without

    params, results = function.params, function.results

    def run(*arguments: Any) -> tuple[Any, ...]:
        return tuple(interpret(function, dict(zip(params, arguments, strict=True))))

    first_result = ARGUMENTS + len(params)
    inputs = tuple((Ref(slot), p.type) for slot, p in enumerate(params, ARGUMENTS))
    outputs = tuple((Ref(slot), r.type) for slot, r in enumerate(results, first_result))
    call = HostCall(run, {}, inputs, outputs, results[0].node)
    types = tuple(p.type for p in params), tuple(r.type for r in results)
    test = (Require(Ref(first_result + len(results) - 1)),) if checked else ()
    return Program((call, *test), *types, 0, frozenset(), arena=0, constants=Constants(), fullest=())
