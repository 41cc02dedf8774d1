"""Partition a Function into groups of nodes that are computed by one kernel each.

Nodes are visited from the results to the params. A node whose element is needed at positions that its users'
kernel can compute without repeating work is merged into that kernel; otherwise it becomes the root of a
group of its own, and its value a buffer.

    y = matmul(x, w);  h = relu(y + b);  s = reduce_sum(h * h, axis=1)

becomes two groups: `h` with the matrix product and the bias in it, and `s` with the square in it. The
decision is `may_merge`, and nothing else here decides anything. Afterwards `join` makes one kernel of groups
that run over the same elements.
"""

from __future__ import annotations

import math

from staticgraph.compiler.graph.function import Function, Node
from staticgraph.compiler.graph.opdef import Kind
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Reduce, Scalar, free_indices
from staticgraph.compiler.passes.group import MEMBER_LIMIT, Demand, Demands, Fusion, Group, is_alias, is_host
from staticgraph.compiler.passes.join import join
from staticgraph.compiler.passes.pull import (
    Position,
    Template,
    domain_of,
    instantiate,
    pieces,
    template,
)

_COSTLY = frozenset(
    [
        "exp",
        "expm1",
        "log",
        "log1p",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "erf",
        "erfc",
        "lgamma",
        "digamma",
        "pow",
        "div",
        "sqrt",
        "floordiv",
        "floormod",
        "truncdiv",
        "truncmod",
    ]
)


def fuse(function: Function) -> Fusion:
    """The partition of `function` into kernels."""
    return Fusion(function, tuple(join(*partition(function))))


def partition(function: Function) -> tuple[list[Group], Demands]:
    """Groups in an order in which they can run, each with one root, and what they read of each other."""
    demands: Demands = {}
    results = set(function.results)
    groups: list[Group] = []
    for node in reversed(function.nodes):
        if node.op.name in ("constant", "parameter"):
            continue
        wanted = demands.get(node.outputs[0], {})
        whole = any(v in results for v in node.outputs) or is_host(node)
        if not whole and node.op.element is not None and may_merge(node, wanted):
            for group, at in wanted.items():
                _merge(node, group, list(at), demands)
            continue
        group = Group(node)
        groups.append(group)
        _start(group, demands)
    return groups[::-1], demands


def may_merge(node: Node, wanted: dict[Group, dict[Demand, None]]) -> bool:
    """Whether all groups that want elements of `node` may compute them themselves."""
    if not wanted:
        return False
    formula = template(node)
    if is_alias(node) and not formula.is_copy:
        return False  # the same buffer, read by another shape: free, where positions would be divided
    cheap = _is_cheap(node, formula)
    for group, at in wanted.items():
        if len(group.members) >= MEMBER_LIMIT:
            return False
        if any(d.at is None for d in at):
            return False
        if any(d.operand for d in at) and not formula.is_copy:
            return False  # a contraction reads its operands from buffers
        if node.op.kind is Kind.CONTRACTION:
            # The product becomes the inner part of its consumer's loops:
            # once, at the consumer's own position.
            if len(wanted) > 1 or len(at) > 1 or group.contraction or group.reduces or group.root.op.pieces:
                return False
            if next(iter(at)).at != group.position:
                return False
        elif group.contraction is not None and not (node.op.kind is Kind.ELEMENTWISE or formula.is_copy):
            return False  # the epilogue of a product is arithmetic on whole tiles
        elif node.op.kind is Kind.MOVEMENT or cheap:
            continue
        elif len(wanted) > 1 or not _repeats_little(node, formula, group, at):
            return False
    return True


def _repeats_little(node: Node, formula: Template, group: Group, at: dict[Demand, None]) -> bool:
    """Whether computing elements at all these positions is
    little more work than computing each element once.
    """
    size = max(node.outputs[0].size, 1)
    if any(isinstance(e, Reduce) for e in formula.order):
        return len(at) == 1 and _work(next(iter(at)).at, group.domain) <= size
    if _cost(formula) <= 2:
        return True
    return sum(_work(d.at, group.domain) for d in at) <= 2 * size


def _work(at: Position | None, domain: tuple[Index, ...]) -> int:
    """How often a kernel computes an expression that reads
    these indices, kept in the outermost loop that it can.
    """
    assert at is not None
    free = frozenset().union(*(free_indices(e) for e in at)) if at else frozenset()
    depth = max((i + 1 for i, index in enumerate(domain) if index in free), default=0)
    bound = math.prod(index.extent for index in free if index not in domain)
    return math.prod(index.extent for index in domain[:depth]) * bound


def _cost(formula: Template) -> int:
    return sum(
        8 if e.op in _COSTLY else 1 for e in formula.order if isinstance(e, Scalar) and not _is_index(e)
    )


def _is_index(e: Expr) -> bool:
    return e.dtype.name == "int64" and not any(isinstance(c, Load) for c in e.children)


def _is_cheap(node: Node, formula: Template) -> bool:
    """Whether computing the element again costs no more than reading it from memory."""
    if any(isinstance(e, Reduce) for e in formula.order):
        return False
    varying = [v for v in node.inputs if v.size > 1]
    return len(varying) <= 1 and _cost(formula) <= 1


def _start(group: Group, demands: Demands) -> None:
    """Begin a kernel with its root: demand what the root reads."""
    node = group.root
    if is_alias(node) or is_host(node) or node.op.statements is not None:
        for value in node.inputs:  # these read whole buffers
            demands.setdefault(value, {}).setdefault(group, {})[Demand(None)] = None
    elif node.op.element is not None:
        group.domain = domain_of(node.outputs[0])
        _merge(node, group, [Demand(group.position)], demands)
        group.members.discard(node)
    else:
        for number, (piece, formula) in enumerate(pieces(node)):
            at = tuple(Index(f"p{number}_{d}", n) for d, n in enumerate(piece.shape))
            _demand(node, group, formula, at, False, demands)


def _merge(node: Node, group: Group, wanted: list[Demand], demands: Demands) -> None:
    formula = template(node)
    group.members.add(node)
    if node.op.kind is Kind.CONTRACTION:
        group.contraction = node
    elif any(isinstance(e, Reduce) for e in formula.order):
        group.reduces = True
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

    def note(position: int, where: Position) -> Expr:
        value = node.inputs[position]
        demands.setdefault(value, {}).setdefault(group, {})[Demand(where, operand)] = None
        return Load(f"?{position}", where, value.dtype)

    instantiate(formula, at, group.fresh, note)
