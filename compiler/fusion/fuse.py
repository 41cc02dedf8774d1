"""Partition a Function into groups of nodes that are computed by one kernel each.

Nodes are visited from the results to the params. A node whose element is needed at positions that its users'
kernel can compute without repeating work is merged into that kernel; otherwise it becomes the root of a
group of its own, and its value a buffer.

    y = matmul(x, w);  h = relu(y + b);  s = reduce_sum(h * h, axis=1)

becomes two groups: `h` with the matrix product and the bias in it, and `s` with the square in it. The
decision is `obstacle`, by the prices in `cost`, and nothing else here decides anything: what would be
computed twice in a row is a group of its own, since a row is near. Afterwards `join` makes one kernel of
groups that run over the same elements or rows.
"""

from __future__ import annotations

from collections.abc import Container

from staticgraph.compiler import stages
from staticgraph.compiler.fusion.group import (
    MEMBER_LIMIT,
    WIDE,
    Demand,
    Demands,
    Fusion,
    Group,
    amount,
    cheap_nodes,
    cost,
    depth,
    goes_down,
    is_alias,
    is_whole,
    reduces,
    shared_rows,
    work,
    worth_rows,
)
from staticgraph.compiler.fusion.inline_element import (
    Position,
    Template,
    domain_of,
    instantiate,
    pieces,
    reads,
    streams,
    template,
)
from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.opdef import Kind
from staticgraph.compiler.graph.sizes import estimate, same_shape
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Reduce, free_indices, walk
from staticgraph.compiler.support.dataclass import replace

_new = tuple.__new__  # `Demand(...)` is a function of Python


def fuse(function: Function, without: Container[str] = ()) -> Fusion:
    """The partition of `function` into kernels. `without`: what is left out, "fuse" or "join"."""
    groups, demands, apart = partition(function, "fuse" not in without)
    fusion = Fusion(function, tuple(groups), apart)
    stages.report("fuse", function, fusion)
    if "join" in without:
        return fusion
    joined = fusion
    wide = any(group.summed and estimate(group.root.outputs[0].size) >= WIDE for group in groups)
    if wide or len(groups) > 1:  # few columns that are added up alone stay as they are
        from staticgraph.compiler.fusion.horizontal_fusion import join

        joined = replace(fusion, groups=tuple(join(groups, demands, frozenset(function.results))))
    stages.report("join", fusion, joined)
    return joined


def partition(function: Function, merging: bool) -> tuple[list[Group], Demands, dict[Node, str]]:
    """Groups in an order in which they can run, each with one root, what they read of each other, and why
    each root is not computed by those that read it.
    """
    demands: Demands = {}
    apart: dict[Node, str] = {}
    cheap = cheap_nodes(function)
    results = set(function.results)
    groups: list[Group] = []
    for node in reversed(function.nodes):
        if node.op.name in ("constant", "parameter", "unset"):
            continue
        wanted = demands.get(node.outputs[0], {})
        is_result = not results.isdisjoint(node.outputs)
        if is_result:
            why = "it is a result of the run"
        else:
            why = obstacle(node, wanted, node in cheap) if merging else "the pass fuse is left out"
        if not why:
            for group, at in wanted.items():
                _merge(node, group, list(at), demands)
            continue
        whole = is_result or is_whole(node)
        in_pieces = node.op.pieces is not None and not whole and merging
        user = _user_of_pieces(node, wanted) if in_pieces else None
        if user is not None:
            user.members.add(node)
            user.assembly = node
            _demand_pieces(node, user, demands)
            continue
        group = Group(node)
        groups.append(group)
        apart[node] = why
        _start(group, demands)
    return groups[::-1], demands, apart


def obstacle(node: Node, wanted: dict[Group, dict[Demand, None]], cheap: bool) -> str:
    """Return why the groups that want elements of `node` cannot compute these themselves; empty if they can.

    `cheap`: in each of these groups, computing an element is cheaper than loading it (`cheap_nodes`).
    """
    if node.op.element is None or is_whole(node):
        return "it is no formula of single elements"
    if not wanted:
        return "nothing reads its elements"
    formula = template(node)
    if is_alias(node) and not formula.is_copy and not _keeps_rows(formula, wanted):
        return "it is the same memory under another shape"  # free, where positions would be divided
    wide = amount([node]) > 1
    for group, at in wanted.items():
        full = wide and amount((node, group.root, *group.members)) > MEMBER_LIMIT
        if full or len(group.members) >= MEMBER_LIMIT:
            return f"a kernel that reads it has about {MEMBER_LIMIT} operations in it already"
        if None in [d.at for d in at]:
            return "what reads it takes whole tensors"
        if not formula.is_copy and True in [d.operand for d in at]:
            return "a product reads its operands from memory"
        if group.root.op.statements is not None and not _streams_into(node, formula, group.root):
            return f"{group.root.op.name} cannot compute it where it reads it"
        if node.op.kind is Kind.CONTRACTION:
            # The product becomes the inner part of its consumer's loops:
            # once, at the consumer's own position.
            if len(wanted) > 1 or len(at) > 1:
                return "it is a product that is read more than once"
            if group.contraction or group.reduces or group.in_pieces:
                return "it is a product, and what reads it is more than arithmetic on its tiles"
            if next(iter(at)).at != group.position:
                return "it is a product that is read in another order"
        elif group.contraction is not None and not (node.op.kind is Kind.ELEMENTWISE or formula.on_tiles):
            return "a kernel with a product only does arithmetic on whole tiles"
        elif node.op.kind is Kind.MOVEMENT or cheap:
            continue
        elif len(wanted) > 1:
            return "several kernels read it, and to compute it in each costs more than to keep it"
        elif not _repeats_little(node, formula, group, at):
            return "the kernel that reads it would compute it again and again"
    return ""


def _streams_into(node: Node, formula: Template, routine: Node) -> bool:
    """Return True if a routine can compute elements of `node` at the point of use.

    A routine has no loops for a reduction. It may be working in the buffer of an input that it takes whole.
    """
    taken = {_buffer(v) for v in routine.inputs if v.type == routine.outputs[0].type and v.node is not node}
    return not any(isinstance(e, Reduce) for e in formula.order) and not any(
        _buffer(v) in taken for v in node.inputs
    )


def _buffer(value: Value) -> Value:
    while is_alias(value.node):
        value = value.node.inputs[0]
    return value


def _keeps_rows(formula: Template, wanted: dict[Group, dict[Demand, None]]) -> bool:
    """Return True if only routines want the reshaped value, and its rows stay whole.

    A division per row is little work.
    """
    assert isinstance(formula.value, Load)
    whole = formula.at[-1:] == formula.value.at[-1:]
    return whole and all(group.root.op.statements is not None for group in wanted)


def _repeats_little(node: Node, formula: Template, group: Group, at: dict[Demand, None]) -> bool:
    """Return True if computing elements at all these positions costs little more than computing each once."""
    size = max(estimate(node.outputs[0].size), 1)
    positions = [d.at for d in at if d.at is not None]
    times = sum(work(p, group.domain) for p in positions)
    if reduces(formula):
        # Inside another sum it would be out of reach for others that share its rows, and few elements remain.
        once = len(at) == 1 and times <= size and _outside_sums(positions[0], group)
        return once and not (group.summed and _sums_columns(formula))
    rows = shared_rows(group.domain, group.position, positions)
    if times > size and worth_rows(node.outputs[0].shape, rows):
        return False
    return cost(formula) <= 2 or times <= 2 * size


def _sums_columns(formula: Template) -> bool:
    """Return True if sums go from row to row. Such sums should be free to share the rows with others."""
    summed = [e.axes for e in formula.order if isinstance(e, Reduce)]
    return any(isinstance(e, Load) and goes_down(e.at, axes) for e in formula.order for axes in summed)


def _outside_sums(at: Position, group: Group) -> bool:
    return all(free_indices(e) <= frozenset(group.domain) for e in at)


def _start(group: Group, demands: Demands) -> None:
    """Begin a kernel with its root: demand what the root reads."""
    node = group.root
    if is_alias(node) or is_whole(node):
        for value in node.inputs:  # these read whole buffers
            demands.setdefault(value, {}).setdefault(group, {})[Demand(None)] = None
    elif node.op.statements is not None:
        for value, sites in zip(node.inputs, streams(node), strict=True):
            for at in sites or (None,):
                demands.setdefault(value, {}).setdefault(group, {})[Demand(at)] = None
    elif node.op.element is not None:
        group.domain = domain_of(node.outputs[0])
        _merge(node, group, [Demand(group.position)], demands)
        group.members.discard(node)
    else:
        _demand_pieces(node, group, demands)


def _user_of_pieces(node: Node, wanted: dict[Group, dict[Demand, None]]) -> Group | None:
    """The only user of an assembly, if it can do its work on one piece after the other."""
    if len(wanted) != 1:
        return None
    group, at = next(iter(wanted.items()))
    busy = group.contraction or group.reduces or group.in_pieces or len(group.members) >= MEMBER_LIMIT
    if busy or not group.is_loops or list(at) != [Demand(group.position)]:
        return None
    # A slice from the start asks for elements at its own positions too, but not for all of them.
    return group if same_shape(group.root.outputs[0].shape, node.outputs[0].shape) else None


def _demand_pieces(node: Node, group: Group, demands: Demands) -> None:
    """Note what the pieces of an assembly read. Those of one shape share loops, and what they read there."""
    places: dict[tuple[int, ...], Position] = {}
    for piece, formula in pieces(node):
        at = places.get(piece.shape)
        if at is None:
            number = len(places)
            at = places[piece.shape] = tuple([Index(f"p{number}_{d}", n) for d, n in enumerate(piece.shape)])
        _demand(node, group, formula, at, False, demands)


def _merge(node: Node, group: Group, wanted: list[Demand], demands: Demands) -> None:
    formula = template(node)
    group.members.add(node)
    if node.op.kind is Kind.CONTRACTION:
        group.contraction = node
    for demand in wanted:
        assert demand.at is not None
        _demand(node, group, formula, demand.at, demand.operand or node.op.kind is Kind.CONTRACTION, demands)


def _demand(
    node: Node,
    group: Group,
    formula: Template,
    at: Position,
    operand: bool,
    demands: Demands,
) -> None:
    """Note which elements of its inputs the formula of `node` reads at the position `at`."""

    def note(position: int, where: Position) -> None:
        wanted = _new(Demand, (where, operand))
        demands.setdefault(node.inputs[position], {}).setdefault(group, {})[wanted] = None

    def element(position: int, where: Position) -> Expr:
        note(position, where)
        return Load(f"?{position}", where, node.inputs[position].dtype)

    places = reads(formula, at)
    if places is not None:
        for position, where in places:
            note(position, where)
        return
    value = instantiate(formula, at, group.fresh, element)
    if reduces(formula) and node.op.kind is not Kind.CONTRACTION:
        found = [e.axes for e in walk(value) if isinstance(e, Reduce)]
        group.summed += found
        group.depths += [depth(at, group.domain)] * len(found)
