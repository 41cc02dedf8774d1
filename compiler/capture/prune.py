"""Prune the user's graph to what a run needs: operations, and tensors inside of loops and branches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter

from staticgraph.compiler import stages
from staticgraph.compiler.capture.segments import is_host, is_replayed
from staticgraph.compiler.capture.step import CaptureRequest
from staticgraph.compiler.graph.errors import FeedError, UnimplementedError, layout
from staticgraph.compiler.graph.tensor import Operation, Tensor, is_branch, is_rounds, outermost, with_inner
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.support.dataclass import dataclass

GRADIENTS = "symbolic_gradients"  # the name of the operation that stands for derivatives


def prune(
    roots: Iterable[Operation], fed: Collection[Tensor], elsewhere: Collection[Operation]
) -> tuple[list[Operation], set[Tensor]]:
    """Return the operations that `roots` need, and the fed tensors that are computed too.

    The operations are in order of construction, without those in `elsewhere`. A fed tensor is computed if
    derivatives flow through it. Raises FeedError for a placeholder that is not fed.
    """
    overridden: set[Tensor] = set()
    reason: dict[Operation, Operation | None] = {}
    stack: list[tuple[Operation, Operation | None]] = [(op, None) for op in roots]
    while stack:
        op, user = stack.pop()
        if op in reason or (op in elsewhere and overridden.isdisjoint(op.outputs)):
            continue
        name = op.definition.name
        if name == "placeholder":
            if op.outputs[0] in fed:  # a target, or something to wait for
                continue
            reason[op] = user
            raise _missing(op, reason)
        reason[op] = user
        if name == GRADIENTS:
            through = _fed_between(op, fed)
            overridden.update(through)
            stack += [(t.op, op) for t in through]
        for tensor in op.all_inputs:
            if tensor not in fed and tensor.op not in reason:
                stack.append((tensor.op, op))
        for before in op.controls:
            if before not in reason:
                stack.append((before, op))
    return sorted(reason, key=attrgetter("id")), overridden


def is_gradients(op: Operation) -> bool:
    """Return True if an operation stands for derivatives."""
    return op.definition.name == GRADIENTS


def gradient_parts(
    op: Operation,
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return the inputs of a gradients operation: ys, seeds, xs, stops."""
    a, b, c = op.attrs["ys"], op.attrs["seeds"], op.attrs["xs"]
    inputs = op.tensors
    return inputs[:a], inputs[a : a + b], inputs[a + b : a + b + c], inputs[a + b + c :]


def is_of_one_operation(op: Operation) -> bool:
    """Return True if a gradients operation stands for the derivatives of one operation alone.

    Then it stops at the inputs of the operation that gradients flow to, and nowhere else.
    """
    ys, _, _, stops = gradient_parts(op)
    made = {y.op for y in ys}
    if len(made) > 1:
        return False
    inputs = [each.tensors[place] for each in made for place in gradient_places(each)]
    known = {variable_of(t, through_writes=True) or t for t in stops}
    return known == {variable_of(t, True) or t for t in inputs if t.dtype.is_differentiable}


def gradient_places(op: Operation) -> Sequence[int]:
    """Return the positions of the inputs that gradients flow to, as far as the op says.

    The ys of a gradients operation that is of one operation have no part in a second derivative: the compiler
    takes it by the inputs of that operation, which are the stops.
    """
    count = len(op.tensors)
    if not is_gradients(op) or not is_of_one_operation(op):
        return op.definition.gradient_inputs(count, op.attrs)
    ys, seeds, xs = op.attrs["ys"], op.attrs["seeds"], op.attrs["xs"]
    return [*range(ys, ys + seeds), *range(ys + seeds + xs, count)]


def _fed_between(gradients: Operation, fed: Collection[Tensor]) -> list[Tensor]:
    """Return the fed tensors through which derivatives flow, from the xs to the ys of an operation."""
    inner = {t for t in fed if t.op.tensors and t.dtype.is_differentiable and variable_of(t) is None}
    inner = {t for t in inner if t.op.definition.differentiable}
    if not inner:
        return []
    ys, _, xs, stopping = gradient_parts(gradients)
    stops = set(stopping)
    below: set[Operation] = set()
    stack = [y for y in ys if y not in stops]
    while stack:
        tensor = stack.pop()
        if tensor.op not in below:
            below.add(tensor.op)
            stack += [t for t in tensor.op.tensors if t not in stops]
    depends = {variable_of(x) or x for x in xs}  # the result of an assignment is the variable
    found = []
    for op in sorted(below, key=lambda op: op.id):
        differentiable = op.definition.differentiable is not False
        if differentiable and any((variable_of(t, True) or t) in depends for t in op.tensors):
            depends.update(t for t in op.outputs if t not in stops)
            through = [t for t in op.outputs if t in inner]
            if through and is_host(op) and not is_replayed(op):
                text = f"no derivative flows through {op.name} ({op.type}), which is done in Python"
                hint = "not compiled: what takes strings, calls Python, or changes its shape in each round"
                raise UnimplementedError(layout(text, op.where, hint=hint), op)
            found += through
    return found


def _missing(op: Operation, reason: dict[Operation, Operation | None]) -> FeedError:
    path, at = [], reason[op]
    while at is not None:
        path.append(at)
        at = reason[at]
    names = [p.name for p in path]
    if len(names) > 6:
        names = [*names[:3], "...", *names[-2:]]
    text = f"You must feed a value for placeholder tensor '{op.name}' ({op.outputs[0].type})"
    if path:
        text += f": the fetch {path[-1].name} needs it, by {' <- '.join(reversed([op.name, *names]))}"
    return FeedError(
        layout(text, op.where, hint=f"add it to the feed_dict: {{{op.name.rpartition('/')[2]}: value}}"),
        op,
    )


@dataclass(frozen=True, slots=True)
class Wanted:
    """Operations and tensors that a run takes of a graph.

    Attributes:
        needed: The operations outside of regions, in order of construction.
        overridden: The fed tensors that are computed too, since derivatives flow through them.
        differentiated: The tensors and variables that derivatives are taken by, or stop at.
        counted: The loops whose trip count is fetched.
        inner: The fetched tensors inside of loops and branches, by the operation that contains them. The walk
            adds those of the region that it is in.
        entered: The branches of which only tensors inside are wanted. The walk adds those inside of regions.
    """

    needed: list[Operation]
    overridden: set[Tensor]
    differentiated: set[Tensor]
    counted: set[Operation]
    inner: dict[Operation, list[Tensor]]
    entered: set[Operation]


def wanted_of(request: CaptureRequest) -> Wanted:
    """Return what a run takes of a graph. FeedError for a placeholder that is not fed."""
    calls = request.calls
    inner: dict[Operation, list[Tensor]] = {}
    for tensor in request.fetches:
        owner = outermost(tensor, calls.region)
        if owner is not tensor.op and tensor not in request.feeds:
            inner.setdefault(owner, []).append(tensor)
    computed = [t for t in request.fetches if t not in request.feeds]
    roots = [*(outermost(t, calls.region) for t in computed), *request.targets, *calls.after]
    needed, overridden = prune(roots, request.feeds, calls.elsewhere)
    stages.report("prune", request.graph, needed)
    for tensor in overridden & calls.settled:
        text = f"no derivative flows back through {tensor.name}, from after a loop or branch to before it"
        hint = "it is done in Python, as it calls Python, and shares variables with the rest of the run"
        raise UnimplementedError(layout(text, tensor.op.where, hint=hint), tensor.op)
    wanted = (*(t.op for t in computed if t.op.region is calls.region), *request.targets, *calls.after)
    entered = only_entered(filter(is_branch, inner), needed, wanted) if inner else set()
    counted = {t.op for t in request.fetches if is_rounds(t)}
    return Wanted(needed, overridden, _differentiated(with_inner(needed)), counted, inner, entered)


def only_entered(
    roots: Iterable[Operation], operations: Iterable[Operation], wanted: Iterable[Operation]
) -> set[Operation]:
    """Return those of `roots` of which nothing is wanted but tensors inside.

    Such an operation is neither `wanted` itself nor used by `operations`.
    """
    used = set(wanted)
    for op in operations:
        used.update(t.op for t in op.all_inputs)
        used.update(op.controls)
    return set(roots) - used


def _differentiated(operations: Iterable[Operation]) -> set[Tensor]:
    found: set[Tensor] = set()
    for op in operations:
        if op.definition.name == GRADIENTS:
            _, _, xs, stops = gradient_parts(op)
            found.update(xs, stops)
    return found
