"""From the user's graph to a Function: prune to the fetches, fix shapes, make state explicit, differentiate.

A graph with a variable and an assignment

    w = Variable(...);  y = matmul(x, w);  step = assign_sub(w, 0.1 * gradients(y, w))

becomes, for fetches (y, step) and a feed x of shape [4, 3], a Function

    (x: float32[4, 3], w: float32[3, 2]) -> (y, w', w')

whose last result is the new value of the variable. Operations take effect in the order in which they were
made: a read sees the assignments of this run that were made before it. Control dependencies always point
backwards in that order, so it honours them. `walk.py` says how each operation is captured
and when a variable is read. If something must be known first, `step.py` says what.
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler import stages
from staticgraph.compiler.capture.prune import Wanted, wanted_of
from staticgraph.compiler.capture.step import CaptureRequest, Needs, NeedsRows, Step, Stop
from staticgraph.compiler.capture.walk import Reads, RunState, Walk, feeds_of
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import bool_, int32
from staticgraph.compiler.graph.function import Function, Value, toposort
from staticgraph.compiler.graph.opdef import recording
from staticgraph.compiler.graph.shapes import Shape
from staticgraph.compiler.graph.size_contexts import current_answer
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.support.dataclass import replace
from staticgraph.compiler.support.gc_pause import collector_paused


def capture(request: CaptureRequest) -> Step | Needs:
    """Return the step of a run, or what must be known before: `step.py` tells how to answer that.

    Raises FeedError for a placeholder that is not fed.
    """
    rows: dict[int, Shape | None] = {}
    reports: list[stages.Report] = []
    may_guess = True
    with collector_paused(), stages.observing(lambda *report: reports.append(report)):
        wanted = wanted_of(request)
        while True:
            made = _walked(request, wanted, rows, may_guess)
            if isinstance(made, Step):
                return replace(made, reports=tuple(reports))
            if made is None:
                may_guess = False
            elif isinstance(made, NeedsRows):
                rows |= made.shapes
            else:
                return made


def _walked(
    request: CaptureRequest, wanted: Wanted, rows: dict[int, Shape | None], may_guess: bool
) -> Step | Stop | None:
    """Walk through the operations once.

    Args:
        request: What the capture is asked for.
        wanted: The operations to perform.
        rows: The shapes of rows of arrays, as far as they are known.
        may_guess: If types of branches may be guessed to find more of these.

    Returns:
        The step, or what is lacking; None if types were guessed, and no rows were found.
    """
    build = Builder()
    state = RunState(build.constant(0, int32), build.constant(True, bool_))
    feeds = feeds_of(build, request.feeds, request.static)
    reads = Reads(set(map(variable_of, wanted.differentiated)), bool(wanted.differentiated))
    walk = Walk(request, wanted, build, feeds, state, reads, rows, may_guess=may_guess)
    with recording(build):
        stop = walk.perform(wanted.needed) or walk.lacking(request.fetches)
        if current_answer() is not None:
            from staticgraph.compiler.capture.guards import settle  # only for open sizes

            settle()
        if stop is not None:
            return stop
        if walk.guessed:
            return None
        fetched = [*(walk.value(t) for t in request.fetches), *walk.captured.values()]
    return _step(walk, fetched)


def _step(walk: Walk, fetched: Sequence[Value]) -> Step:
    """Return the step of a walk that came to its end."""
    request, state = walk.request, walk.state
    calls = request.calls
    writes = [v for v in state.variables if state.assigned(v)] if calls.final else []
    losses = [*walk.losses] if request.losses else []
    results = [*fetched, *(state.variables[v] for v in writes), *state.draws.values()]
    results += [state.order] if state.order.constant is None else []
    results += losses
    results += [state.sound] if state.sound.constant is None else []
    used = {node.outputs[0] for node in toposort(results) if node.outputs}
    drawing = {op: param for op, param in state.counters.items() if param in used}
    params = (*walk.feeds.params.values(), *state.initial.values(), *drawing.values())
    captured = Function(params, tuple(results))
    stages.report("capture", walk.wanted.needed, captured)
    function = captured
    if "loop" in captured.op_names:
        from staticgraph.compiler.passes.loops import merge_loops

        function = merge_loops(captured)
    stages.report("merge_loops", captured, function)
    checked = state.sound.constant is None
    if checked:
        from staticgraph.compiler.passes.prove_requirements import proven

        merged, function = function, proven(function)
        stages.report("prove_requirements", merged, function)
        checked = function.results[-1].constant is None
        function = function if checked else function.with_results(function.results[:-1])
    return Step(
        function,
        feeds=tuple(walk.feeds.params),
        reads=tuple(state.initial),
        counters=tuple(drawing),
        advances=tuple(map(state.advances.__getitem__, drawing)),
        fetches=len(fetched),
        writes=tuple(writes),
        draws=tuple(state.draws),
        captured=tuple(walk.captured),
        may_overwrite=not calls.may_fail,
        losses=len(losses),
        checked=checked,
    )
