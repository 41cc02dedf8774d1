"""The requirement that a run did not meet, such as an index that there is: found by doing the run once more.

NumPy performs what the checks of the step depend on, and no more, up to the first requirement that is False.
An assertion of the user's that comes before it, and does not hold, is told instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.graph.errors import InvalidArgumentError, OpError, layout
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.interpret import failure
from staticgraph.compiler.passes.prove_requirements import has_requirements
from staticgraph.runtime.failures.owner import operation_at
from staticgraph.runtime.interpreter import Interpreter, Performed
from staticgraph.runtime.reports.compile_log import Progress

_CURES = {
    "nonzero": "where(y != 0, y, 1) gives another divisor in its place",
    "is_permutation": "argsort gives the inverse of what is not known to be a permutation",
    "rows_ascend": "sparse.reorder sorts the indices of a SparseTensor",
}
_DEPENDENT = "look for NaN, and for rows that depend on each other: adding 1e-6 * eye(n) may help"
_OF_ALGEBRA = {"factor_positive", "factor_nonzero"}  # which rounding may decide
_CURES |= dict.fromkeys(_OF_ALGEBRA, _DEPENDENT)
_GENERAL = "look at the data: clip_by_value(x, low, high) keeps numbers in range"


class _Found(Exception):
    """A requirement that is not met, or an assertion that fails."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


def unmet(graph: Graph, step: Step, values: Sequence[np.ndarray]) -> Exception | None:
    """Return the error for a run of a checked step with these values of its params.

    Returns:
        An InvalidArgumentError that names the op, the user's line, the position and the value; the user's own
        error if an assertion fails before; None if all requirements are met. NumPy may find factors of a
        matrix in double precision where the run found none: then the first op that needs some is told.
    """
    function = step.function
    if not has_requirements(function):  # its checks are others
        return None
    effects = function.results[step.fetches + len(step.writes) + len(step.draws) :]
    close: list[Exception] = []
    with Progress("check_bounds: looking for the op at fault") as progress:

        def look(done: Performed) -> None:
            progress()
            node = done.node
            if not done.outputs:
                return
            if node.op.name == "effect" and node.attrs["operation"].definition.name == "assert_true":
                _assert(done)
            elif node.op.violation is not None and not done.outputs[0]:
                raise _Found(_error(graph, done))
            elif node.op.name in _OF_ALGEBRA and not close:
                close.append(_error(graph, done))

        try:
            Interpreter(look, effects=False).results(function.with_results(effects), values)
        except _Found as found:
            return found.error
    return close[0] if close else None


def _assert(done: Performed) -> None:
    """Raise what an assertion of the user's says, if it fails."""
    assert done.node.op.meaning is not None
    try:
        done.node.op.meaning(*done.inputs, **done.node.attrs)
    except OpError as error:
        raise _Found(failure(error, done.node.op.name, done.node.where)) from None


def _error(graph: Graph, done: Performed) -> InvalidArgumentError:
    node = done.node
    assert node.op.violation is not None
    text = node.op.violation(*done.inputs, **node.attrs)
    if numbers := [str(number) for _, number in done.rounds]:
        text += f", in iteration {', '.join(numbers)} of the loop{'s around it' if len(numbers) > 1 else ''}"
    loops = [("the loop", loop.where) for loop, _ in done.rounds]
    hint = _CURES.get(node.op.name, _GENERAL)
    owner = operation_at(graph, node.where, node.attrs["of"])
    return InvalidArgumentError(layout(text, node.where, loops, hint), owner)
