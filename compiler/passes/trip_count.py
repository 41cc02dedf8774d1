"""Upper bound of the trip count of a loop, if it can be told before the loop runs.

A loop that counts is the usual case: its condition compares a carried number with a bound, and each iteration
adds a constant to that number. Conditions joined by `logical_and` hold no longer than each of them.

A counter that wraps around goes on: `i <= 127` holds for ever if `i` is an int8. So the number with which a
condition ends must be one of the counter's dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.graph.builder import number
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.sizes import AnySize, Size

# Comparisons of a counter with a bound, by which way the counter must go, and whether the bound is included.
_UP = {"less": 0, "less_equal": 1}
_DOWN = {"greater": 0, "greater_equal": 1}
_MIRRORED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}


def most_rounds(
    init: Sequence[Value], params: Sequence[Value], results: Sequence[Value]
) -> tuple[AnySize | None, bool]:
    """The number of rounds that a loop does not exceed, None if that depends on data; and whether there
    are always so many.

    `results`: the condition of the next round, then what it carries into it.
    """
    conditions = conjuncts(results[0])
    counts = [_counted(each, init, params, results[1:]) for each in conditions]
    return min((n for n in counts if n is not None), default=None), len(counts) == 1 and counts[0] is not None


def conjuncts(pred: Value) -> list[Value]:
    """Return the conditions that hold if `pred` does."""
    pred = pred.plain
    if pred.node.op.name == "logical_and":
        return [part for v in pred.node.inputs for part in conjuncts(v)]
    return [pred]


def _counted(
    condition: Value, init: Sequence[Value], params: Sequence[Value], results: Sequence[Value]
) -> AnySize | None:
    """Return how often `condition` holds if it compares a counter with a number, otherwise None."""
    name = condition.node.op.name
    if name not in _MIRRORED:
        return None
    left, right = (v.plain for v in condition.node.inputs)
    if _size(right) is None:
        left, right, name = right, left, _MIRRORED[name]
    bound = _size(right)
    counters = [i for i, result in enumerate(results) if result.plain is left]
    if bound is None or not counters:
        return None
    first, step = _size(init[counters[0]].plain), step_of(left, params[counters[0]])
    if first is None or not step:
        return None
    sign = -1 if name in _DOWN else 1
    step = int(sign * step)
    if step <= 0:
        return None
    inclusive = (_UP | _DOWN)[name]
    distance = sign * (bound - first)
    if isinstance(distance, Size):
        if sign < 0 and left.dtype.is_unsigned and (inclusive or step > 1):  # it ends below zero
            return None
        steps = distance // step + 1 if inclusive else (distance + step - 1) // step
        return steps if steps >= 0 else 0
    count = max(0, int(distance // step + 1 if inclusive else -(-distance // step)))
    end = first + sign * step * count
    return count if int(left.dtype.min) <= end <= int(left.dtype.max) else None


def _size(value: Value) -> Any:
    """The number that a constant holds, or the open size of which an integer consists; None for others."""
    node = value.node
    while node.op.name == "cast" and node.outputs[0].dtype.is_integer and node.outputs[0].dtype.size >= 4:
        node = node.inputs[0].node
    if node.op.name == "extents" and len(node.attrs["sizes"]) == 1:
        return node.attrs["sizes"][0]
    return number(value)


def step_of(value: Value, param: Value) -> float | None:
    """The constant that makes `value` of `param`."""
    if value.node.op.name not in ("add", "subtract") or not value.dtype.is_integer:
        return None
    left, right = (v.plain for v in value.node.inputs)
    if left is param and (step := number(right)) is not None:
        return step if value.node.op.name == "add" else -step
    if right is param and value.node.op.name == "add":
        return number(left)
    return None
