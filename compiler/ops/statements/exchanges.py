"""Numbers that are exchanged one pair after the other, as many threads can do it.

Step i exchanges what is at place i with what is at a place t(i) that is not before it. So place i gets, for
good, what is at t(i) just then: what the last step before it with the same target has put there, or else the
number t(i) itself. That step s has put there what was at place s before: again what the last step with target
s has put there, or the number s. To follow these steps back takes few rounds; to find the last steps, the
steps are brought in order of their targets.
"""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import int32, int64, uint32
from staticgraph.compiler.graph.sizes import bounds
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local, substitute
from staticgraph.compiler.kernel.form import Selection, StagedForm
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Store, Update, While
from staticgraph.compiler.ops.kinds import Out

_NONE = Const(-1, int32)


def exchanged(out: Out, step: Index, target: Expr) -> StagedForm:
    """The numbers of all places after the steps: at each `step`, exchanged with that at `target`.

    There is one place more than there are steps.
    """
    steps, size = step.extent, out.shape[0]
    targets, order, before = (
        Out(name, (steps,), int32) for name in ("step_targets", "step_order", "step_before")
    )
    last = Out("step_last", (size,), int32)
    kept = (targets, order, before, last)
    item, key = scalar.cast(target, int32), scalar.cast(target, uint32)
    bits = max(1, (bounds(size)[1] - 1).bit_length())
    in_order = Selection(targets.buffer, order.buffer, (), step, item, key, steps, bits)
    place = Index("place", size)
    begin = Loop(place, (Store(last.buffer, (place,), _NONE),), LoopKind.PARALLEL)
    return StagedForm(
        (
            in_order,
            (begin,),
            (_neighbours(targets, order, before, last),),
            (_followed(out, step, target, before, last),),
        ),
        {each.buffer: Buffer(each.dtype, each.shape, written=True) for each in kept},
    )


def _neighbours(targets: Out, order: Out, before: Out, last: Out) -> Loop:
    """For each step, the one before it with the same target; for each target, its last step."""
    at = Index("at", order.shape[0])
    mine, goal = Local("mine", int32), Local("goal", int32)
    previous, following = scalar.maximum(at - 1, 0), scalar.minimum(at + 1, at.extent - 1)
    is_same = (at > 0) & scalar.eq(targets[previous], goal)
    is_last = scalar.eq(at, at.extent - 1) | scalar.ne(targets[following], goal)
    body = (
        Let(mine, order[at]), Let(goal, targets[at]),
        Store(before.buffer, (scalar.cast(mine, int64),), scalar.select(is_same, order[previous], _NONE)),
        If(is_last, (Store(last.buffer, (scalar.cast(goal, int64),), mine),)),
    )
    return Loop(at, body, LoopKind.PARALLEL)


def _followed(out: Out, step: Index, target: Expr, before: Out, last: Out) -> Loop:
    """The number that comes to each place. The last one has no step: what is put there stays."""
    place = Index("place", out.shape[0])
    own, number = scalar.minimum(place, step.extent - 1), Local("number", int64)
    has_step = place < step.extent
    source, further = Local("source", int32), Local("further", int32)
    at = scalar.cast(source, int64)
    body = (
        Let(number, scalar.select(has_step, substitute(target, {step: own}), place)),
        Let(source, scalar.select(has_step, before[own], last[step.extent])),
        While(
            source >= 0,
            (
                Update(number, at),
                Let(further, last[at]),
                # What a step puts at its own place, it has found there.
                Update(source, scalar.select(scalar.eq(further, source), before[at], further)),
            ),
        ),
        Store(out.buffer, (place,), number),
    )
    return Loop(place, body, LoopKind.PARALLEL)
