"""Capture of host ops, and of loops that turn out to be for Python alone."""

from __future__ import annotations

from staticgraph.compiler.capture.segments import crosses, inputs_read, is_padded
from staticgraph.compiler.capture.step import NeedsHost
from staticgraph.compiler.capture.walk import RULES, CaptureRule, Made, Walk, no_inputs
from staticgraph.compiler.graph.errors import UnimplementedError, layout
from staticgraph.compiler.graph.interpret import perform
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.tensor import Operation, regions_of


def capture_host(walk: Walk, op: Operation) -> Made:
    """Return the values of a host op if constants tell them.

    The step computes the inputs of an op that Python calls after it, or else its padded results.
    """
    feeds = walk.feeds
    calls = walk.request.calls
    if op in calls.after and calls.pads and is_padded(op):
        if (needs := walk.lacking(op.tensors)) is not None:
            return needs
        padded = op.definition.padded
        assert padded is not None
        walk.captured |= {(op, i): v for i, v in enumerate(padded(*map(walk.value, op.tensors), **op.attrs))}
        return None
    if op in calls.after:
        taken = [t for t in inputs_read(op) if t not in feeds.params and crosses(t)]
        if (needs := walk.lacking(taken)) is not None:
            return needs
        walk.captured |= {(op, t): walk.value(t) for t in taken}
        return None
    found = [t for t in op.all_inputs if t in walk.values or t in feeds.params]
    known = {t: feeds.known(walk.value(t)).constant for t in found}
    if op.definition.effect is not Effect.PURE or any(known.get(t) is None for t in op.all_inputs):
        return None
    made = perform(op, known.__getitem__)
    return tuple(walk.build.constant(m, t.dtype) for m, t in zip(made, op.outputs, strict=True))


def left_to_python(walk: Walk, loop: Operation) -> NeedsHost:
    """Note that only Python can do a loop. Return the need of the operation that contains the loop.

    Raises UnimplementedError if a derivative flows through that operation.
    """
    op = loop
    while True:
        for each in regions_of(op):
            each.hosted = True
        if op.region is walk.request.calls.region or op.region is None or op.region.owner is None:
            break
        op = op.region.owner
    if walk.wanted.overridden.isdisjoint(op.outputs):
        return NeedsHost(op)
    text = f"no derivative flows through {op.name} ({op.type}): only Python can do {loop.name} ({loop.type})"
    hint = "not compiled: data decide the shapes, or how many rounds of changing shapes there are"
    raise UnimplementedError(layout(text, loop.where, hint=hint), op)


RULES["*host"] = CaptureRule(capture_host, no_inputs)
