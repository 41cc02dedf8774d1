"""The stages of a run: which operations are called in Python, and whether before or after the compiled step.

A compiled step has numbers in fixed shapes. What it cannot do are the *host ops*: ops of strings, ops whose
results have as many elements as the data say, and ops with state outside of the session. In a run of

    mask = x > mean;  kept = gather(x, where(mask));  loss = f(kept);  note = summary(loss)

`where` is *leading*: the step needs its value. So an earlier compiled stage computes `mask`, `where` is
called, and its result is given to the step as if it were fed. `summary` is *trailing*: the step gives it what
it takes, and it is called when the step is done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set

from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.opdef import OPS, Effect, Kind
from staticgraph.compiler.graph.tensor import (
    WITH_REGIONS,
    Operation,
    Region,
    Tensor,
    is_loop,
    is_rounds,
    outermost,
    regions_of,
    with_inner,
)
from staticgraph.compiler.ops.structural import changed_variables, variable_of
from staticgraph.compiler.support.dataclass import dataclass

_STATELESS = (Effect.PURE, Effect.SOURCE, Effect.CONTROL, Effect.MARK)


def written(op: Operation) -> set[Operation]:
    """Return the variables that an operation, or something in its regions, assigns to."""
    changed = [t for each in with_inner([op]) for t in changed_variables(each)]
    found = {variable_of(t, through_writes=True) for t in changed}
    return {owner for owner in found if owner is not None}


def taken(op: Operation) -> set[Operation]:
    """Return the variables that an operation takes as operands, to read or to change them."""
    found = {variable_of(t, through_writes=op.definition.effect is Effect.WRITE) for t in op.all_inputs}
    return {owner for owner in found if owner is not None}


def is_cut(op: Operation, needed: Iterable[Operation]) -> bool:
    """Return True if a host op of the run of the operations `needed` is a cut."""
    if not regions_of(op):
        return False
    shared = taken(op)
    return bool(written(op)) or any(each.id < op.id and shared & written(each) for each in needed)


def crossing(
    cut: Operation, needed: Sequence[Operation], fetches: Iterable[Tensor], region: Region | None
) -> list[Tensor]:
    """Return the tensors computed before a cut, from state, that something after it takes.

    Args:
        cut: the operation at which the run is cut.
        needed: the operations of the run that are not done in Python, in order of construction.
        fetches: what the run fetches.
        region: the region that the run is about.
    """
    before = [op for op in needed if op.id < cut.id]
    from_state: set[Operation] = set()
    for op in before:
        stateful = any(each.definition.effect not in _STATELESS for each in with_inner([op]))
        if stateful or taken(op) or any(t.op in from_state for t in op.all_inputs):
            from_state.add(op)
    used = [t for op in (*needed, cut) if op.id >= cut.id for t in op.all_inputs]
    used += fetches
    found = (t for t in used if outermost(t, region) in from_state and variable_of(t) is None)
    return list(dict.fromkeys(found))


def string_variables(op: Operation) -> Collection[Operation]:
    """Return the variables of strings that an operation takes."""
    return [owner for owner in taken(op) if owner.outputs[0].dtype.name == "string"]


@dataclass(frozen=True, slots=True)
class Segments:
    """The host ops of a run, and what its compiled step does beside computing, in order of construction."""

    leading: tuple[Operation, ...]
    trailing: tuple[Operation, ...]
    writes: tuple[Operation, ...]  # assignments; loops and branches with assignments in them
    effects: tuple[Operation, ...]  # prints and the like; loops and branches with such operations in them
    cuts: tuple[Operation, ...]  # leading ops before which the assignments made so far are committed
    native: tuple[Operation, ...]  # all operations that compiled stages do

    def seen(self, op: Operation, fed: Set[Tensor]) -> set[Operation]:
        """Return all that an operation needs, itself included.

        Assignments to a variable before it is read are needed, too.
        """
        found = above([op], fed)
        while True:
            read: dict[Operation, int] = {}  # the number of the last read of each variable
            for each in found:
                read.update((owner, max(each.id, read.get(owner, 0))) for owner in taken(each))
            new = [w for w in self.writes if w not in found]
            more = [w for w in new if any(w.id < read.get(owner, 0) for owner in written(w))]
            if not more:
                return found
            found |= above(more, fed)

    def assigned(self, owner: Operation, op: Operation) -> bool:
        """Return True if a variable is assigned before `op`."""
        return any(w.id < op.id and owner in written(w) for w in self.writes)


def is_host(op: Operation) -> bool:
    """Return True if an operation is called in Python, outside of compiled steps.

    Loops and branches that contain such operations are called in Python, too.
    """
    if op.on_host is None:
        op.on_host = op.definition.kind is Kind.HOST
        for tensor in (*op.all_inputs, *op.outputs):
            if tensor.type.dtype is string:
                op.on_host = True
    return op.on_host or (op.definition.name in WITH_REGIONS and any(map(_hosted, regions_of(op))))


def is_padded(op: Operation) -> bool:
    """Return True if a stage can compute all of a host op but the sizes of its results."""
    return op.definition.padded is not None and all(t.type.dtype is not string for t in op.all_inputs)


def is_replayed(op: Operation) -> bool:
    """Return True if a derivative can flow through `op` although Python runs it.

    That is a loop that only changes shapes. The compiler does its rounds one after the other, since their
    number is known when it has run. What they draw is drawn again (`HostRunState.rewind`).
    """
    if not is_loop(op) or not is_host(op):
        return False
    inner = with_inner([op])[1:]
    return all(each.definition.effect in _COMPUTING and not is_host(each) for each in inner)


_COMPUTING = {Effect.PURE, Effect.SOURCE, Effect.RANDOM, Effect.READ, Effect.CONTROL, Effect.MARK}


def _hosted(region: Region) -> bool:
    if region.hosted is None:
        region.hosted = any(map(is_host, region.operations()))
    return region.hosted


def inputs_read(op: Operation) -> tuple[Tensor, ...]:
    """The inputs whose values a host op takes; some only ask whether variables have any."""
    asks = op.definition.name in ("report_uninitialized", "is_variable_initialized")
    return () if asks else op.all_inputs


def crosses(tensor: Tensor) -> bool:
    """Return True if a host op that takes `tensor` needs a compiled stage to compute it."""
    return tensor.op.definition.name != "constant" and not is_host(tensor.op)


def needs_segments(
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    feeds: Sequence[Tensor],
    region: Region | None = None,
) -> bool:
    """Return True if a run has host ops, or feeds or fetches strings, as far as known before a compile."""
    for tensor in (*feeds, *fetches):
        if tensor.type.dtype is string:
            return True
    fed = frozenset(feeds)
    roots = [*(outermost(t, region) for t in fetches if t not in fed), *targets]
    if not any(map(is_host, above(roots, fed))):
        return False
    needed = stages(fetches, targets, fed, region=region)
    return bool(needed.leading or needed.trailing)


def stages(
    fetches: Iterable[Tensor],
    targets: Iterable[Operation],
    fed: Set[Tensor],
    forced: Collection[Operation] = (),
    region: Region | None = None,
) -> Segments:
    """The stages of a run, of the graph or of a region of it. `forced`: host ops that are called first in any
    case.
    """
    roots = [*(outermost(t, region) for t in fetches if t not in fed), *targets, *forced]
    needed = sorted(above(roots, fed), key=lambda op: op.id)
    hosts = [op for op in needed if is_host(op)]
    folded = {op for op in _constant(needed) if op not in forced}
    wanted = set(roots)
    for op in reversed(hosts):
        if op in wanted or op not in folded:
            wanted.add(op)
            wanted.update(_producers(op, fed))
    called = [op for op in hosts if op in wanted]
    native = [op for op in needed if not is_host(op)]
    cuts = [op for op in called if is_cut(op, needed)]
    first = [p for op in native for p in _producers(op, fed) if is_host(p) and p not in folded]
    before = _with_earlier(above([*first, *forced, *cuts], fed), called, cuts, fed)
    writes = [op for op in native if written(op)]
    return Segments(
        tuple(op for op in called if op in before),
        tuple(op for op in called if op not in before),
        tuple(writes),
        tuple(op for op in native if op not in writes and _has_effect(op)),
        tuple(cuts),
        tuple(native),
    )


def _with_earlier(
    leading: set[Operation], called: Sequence[Operation], cuts: Sequence[Operation], fed: Set[Tensor]
) -> set[Operation]:
    """Return the leading ops, and those host ops that must be called before one of them.

    These were made before a cut, or take a variable of strings before a leading op does.
    """
    last = max((cut.id for cut in cuts), default=0)
    while True:
        ends: dict[Operation, int] = {}
        for op in called:
            if op in leading:
                ends.update((owner, op.id) for owner in string_variables(op))
        late = [op for op in called if op not in leading]
        more = [
            op
            for op in late
            if op.id < last or any(op.id < ends.get(owner, 0) for owner in string_variables(op))
        ]
        if not more:
            return leading
        leading = leading | above(more, fed)


def reaches(
    roots: Iterable[Operation], tensors: Iterable[Tensor], cut: Collection[Operation]
) -> list[Tensor]:
    """Return those of `tensors` that `roots` may depend on. Does not look above the operations in `cut`, but
    for those through which derivatives flow.
    """
    seen: set[Operation] = set()
    used: set[Tensor] = set()
    stack = list(roots)
    while stack:
        op = stack.pop()
        if op not in seen and (op not in cut or is_replayed(op)):
            seen.add(op)
            used.update(op.all_inputs)
            used.update(t for inner in with_inner([op]) for t in _sizes_of(inner))
            stack += [*(t.op for t in op.all_inputs), *op.controls]
    return [t for t in tensors if t in used]


def _sizes_of(op: Operation) -> Iterable[Tensor]:
    """The tensors that an earlier stage may compute for an operation: a trip count, or a size in its data."""
    if op.definition.counted is not None and (found := op.graph.attached.get(_count_key(op))) is not None:
        yield found
    yield from filter(is_rounds, op.outputs)


def _has_effect(op: Operation) -> bool:
    """Return True if an operation does something that the user sees."""
    return any(inner.definition.effect is Effect.EFFECT for inner in with_inner([op]))


def _producers(op: Operation, fed: Set[Tensor]) -> list[Operation]:
    return [t.op for t in op.all_inputs if t not in fed]


def above(roots: Iterable[Operation], fed: Set[Tensor]) -> set[Operation]:
    """The operations that `roots` need, themselves included."""
    seen: set[Operation] = set()
    stack = list(roots)
    while stack:
        op = stack.pop()
        if op not in seen:
            seen.add(op)
            stack += [
                each
                for each in op.controls
                if not each.outputs or not all(map(fed.__contains__, each.outputs))
            ]
            for tensor in op.all_inputs:
                if tensor not in fed:
                    stack.append(tensor.op)
    return seen


def _constant(ordered: Sequence[Operation]) -> set[Operation]:
    """The operations that depend on constants only: a compile computes them, unless they are too large."""
    found: set[Operation] = set()
    for op in ordered:
        definition = op.definition
        pure = definition.effect is Effect.PURE and definition.reference is not None
        if pure and all(t.op in found for t in op.all_inputs):
            found.add(op)
    return found


def _count_key(op: Operation) -> tuple[object, ...]:
    """Return the key of the tensor that `count_of` has made, which operations share as far as they can."""
    given = _deciding(op)
    shared = len(given) == 1 and variable_of(given[0]) is None
    return "the size that data decide", op.definition.counted, given if shared else op


def _deciding(op: Operation) -> tuple[Tensor, ...]:
    """Return the tensors that decide a size of an operation."""
    assert op.definition.counted is not None, op
    return (*op.tensors, *op.operands.values())[-len(OPS[op.definition.counted].params) :]


def count_of(op: Operation) -> Tensor:
    """Return the tensor of the size that the data of an operation decide: see `counted` of `OpDef`.

        segment_sum(x, ids)       ->       count = segment_count(ids)
                                           unsorted_segment_sum(x, ids, num_segments=count)

    If the data are not known when a step is captured, an earlier stage computes this tensor, and the step
    takes it as the value of a feed: an open size.

    The operation that makes it is no part of the graph's list, so that users see the graph that they built.
    Operations with the same last input share it, unless that is a variable, which may change between them.
    """
    name = op.definition.counted
    assert name is not None, op
    key, kept = _count_key(op), op.graph.attached
    if (found := kept.get(key)) is None:
        counting, given, shared = OPS[name], _deciding(op), key[-1] is not op
        made, controls = (counting.type(*(t.type for t in given)),), () if shared else op.controls
        region = given[0].op.region if shared else op.region
        place = controls, op.device, op.where, op.id, region
        counter = Operation(op.graph, counting, f"{op.name}/{name}", given, {}, {}, made, *place)
        found = kept.setdefault(key, counter.outputs[0])
    tensor: Tensor = found
    return tensor
