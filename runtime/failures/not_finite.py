"""The error of a session with `check_nan` for a step that has made something that is not finite."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from staticgraph.compiler.capture.segments import is_host
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.graph.errors import InvalidArgumentError, layout, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.graph.world import MEMBERSHIP
from staticgraph.compiler.passes.pipeline import PIPELINE
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.failures.nan_locator import STATE, Finding, culprit
from staticgraph.runtime.failures.owner import operation_at
from staticgraph.runtime.reports.compile_log import Progress

_CURES = {
    "acos": "its argument must lie in [-1, 1]: clip_by_value helps",
    "asin": "its argument must lie in [-1, 1]: clip_by_value helps",
    "realdiv": "math.divide_no_nan gives 0 where the divisor is 0; or add a small number to the divisor",
    "exp": "subtract the greatest element before, as nn.softmax and reduce_logsumexp do",
    "log": "its argument must be above 0: add a small number, or use a loss that takes logits",
    "log1p": "its argument must be above -1",
    "pow": "a negative number only has whole powers, and 0 none below 0",
    "reciprocal": "add a small number to what may be 0",
    "rsqrt": "its argument must be above 0: add a small number",
    "sqrt": "its argument must not be below 0, and its derivative at 0 is infinite: add a small number",
}


def not_finite(graph: Graph, step: Step, values: Sequence[np.ndarray]) -> InvalidArgumentError:
    """Return the error for a run of a step with these values of its params, which made NaN or infinity.

    Args:
        graph: The user's graph.
        step: The step as the compiler was given it, checks included.
        values: Those of its params, in NumPy's carriers.
    """
    with Progress("check_nan: looking for the op at fault") as progress:
        found = culprit(step.function, values, progress)
        if found is None:  # the compiler's rules change in which order numbers are rounded
            found = culprit(PIPELINE(step.function), values, progress)
    return _Told(graph, step).error(found)


@dataclass(frozen=True, slots=True)
class _Told:
    """Words for what was found in a step."""

    graph: Graph
    step: Step

    def error(self, found: Finding | None) -> InvalidArgumentError:
        if found is None and MEMBERSHIP.world.size > 1:
            text = "the run made numbers that are not finite, of what another process gave"
            return misuse(InvalidArgumentError, text, "the error of that process names the op")
        if found is None:
            text = "the run made numbers that are not finite, which its ops do not if NumPy performs them"
            hint = "fused kernels round a little differently: some number is at the limit of its dtype"
            return misuse(InvalidArgumentError, text, hint)
        match found.node.op.name:
            case "parameter":
                op, what, hint = self._given(found)
                return InvalidArgumentError(layout(f"{what} is {_extent(found)}", op.where, hint=hint), op)
            case "constant":
                text = f"a constant ({found.node.outputs[0].type}) is {_extent(found)}"
                hint = "it was so when the graph was made"
                return InvalidArgumentError(layout(text, found.node.where, hint=hint))
        owner = operation_at(self.graph, found.node.where, found.node.op.name)
        what, hint = "the result", _CURES.get(found.node.op.name) or _general_cure(found)
        if owner is not None and owner.definition is not found.node.op:
            what = f"a part of {owner.name}, or of its derivative,"
            hint = _CURES.get(owner.definition.name, hint)
        text = f"{_call(found)}: {_moment(found)}{what} is {_extent(found)}{_because(found)}"
        loops = [("the loop", loop.where) for loop, _ in found.rounds]
        return InvalidArgumentError(layout(text, found.node.where, loops, hint), owner)

    def _given(self, found: Finding) -> tuple[Operation, str, str]:
        """The feed or variable that was not finite before the run, how it is called, and what may help."""
        number, type = self.step.function.params.index(found.node.outputs[0]), found.node.outputs[0].type
        feeds, reads = self.step.feeds, self.step.reads
        if number >= len(feeds):
            op = reads[number - len(feeds)]
            hint = "restore a checkpoint from before, or run its initializer"
            return op, f"the variable {op.name} ({type})", hint
        op = feeds[number].op
        if is_host(op):
            return op, f"what Python gives as {op.name} ({type})", "look at what the function is given"
        hint = "look at the data: np.isfinite tells which elements are good"
        return op, f"the feed {op.name} ({type})", hint


def _call(found: Finding) -> str:
    """The op with the types of what it is given."""
    typed = (f"{name}: {value.type}" for value, name, _ in found.operands if name != STATE)
    return f"{found.node.op.name}({', '.join(typed)})"


def _general_cure(found: Finding) -> str:
    """Return what may help if nothing special is known of the op."""
    if found.nans:
        return "NaN comes of 0 / 0, of 0 times infinity, and of infinity less infinity"
    dtype = found.node.outputs[found.output].dtype
    return f"{dtype.name} ends at {float(dtype.max):.2g}: smaller steps, or clip_by_global_norm, may help"


def _moment(found: Finding) -> str:
    """The rounds of the loops around it, outermost first."""
    match [number for _, number in found.rounds]:
        case []:
            return ""
        case [number]:
            return f"in round {number} of its loop, "
        case numbers:
            return f"in rounds {', '.join(map(str, numbers))} of the loops around it, "


def _extent(found: Finding) -> str:
    """Return how many elements are not finite, and which is the first."""
    kinds = {"NaN": found.nans, "Inf": found.infinities}
    size = found.node.outputs[found.output].size
    if size == 1:
        return next(kind for kind, count in kinds.items() if count)
    counts = " and ".join(f"{kind} in {count}" for kind, count in kinds.items() if count)
    return f"{counts} of {size} elements, the first at {list(found.index)}"


def _because(found: Finding) -> str:
    """Return what the op was given there."""
    parts = []
    for _, name, values in found.operands:
        if name == STATE:
            continue
        if len(values) == 1:
            parts.append(f"{name} is {values[0]:.6g}")
        elif values:
            parts.append(f"{name} is between {values[0] + 0:.6g} and {values[1] + 0:.6g}")
    return f", where {' and '.join(parts)}" if parts else ""
