"""Capture of random ops: each takes a state and moves it by as many numbers as it draws.

Outside of loops and branches, the session moves the state by an amount that is known. In them, the step
itself counts and returns the new state.
"""

from __future__ import annotations

from staticgraph.compiler.capture.rules.operations import applied
from staticgraph.compiler.capture.step import Stop
from staticgraph.compiler.capture.walk import RULES, CaptureRule, Made, Walk
from staticgraph.compiler.graph.dtypes import uint64
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.tensor import Operation


def capture_random(walk: Walk, op: Operation) -> Made:
    """Return the numbers that a random op draws."""
    inputs = [counter(walk, op), *(walk.value(t) for t in op.tensors)]
    made = applied(walk, op, inputs)
    if isinstance(made, Stop):
        return made
    first = made[0] if isinstance(made, tuple) else made
    assert op.definition.advance is not None
    advance = op.definition.advance([v.type for v in inputs], first.shape, **op.attrs)
    if op in walk.state.draws:
        walk.state.draws[op] = inputs[0] + walk.build.constant([advance, 0, 0], uint64)
    else:
        walk.state.advances[op] = advance
    return made


def counter(walk: Walk, op: Operation) -> Value:
    """Return the present state of a random op."""
    state = walk.state
    if op in state.draws:
        return state.draws[op]
    if op not in state.counters:
        state.counters[op] = walk.build.parameter(f"random state of {op.name}", uint64, (3,))
        state.advances[op] = 0
    return state.counters[op]


RULES["*random"] = CaptureRule(capture_random)
