"""Reverse-mode differentiation of values: walk the nodes backwards and add up cotangents.

Before, for `y = exp(x) * x`:

    y0 = exp(x);  y = multiply(y0, x)

after `vjp(build, [y], [g], [x])`, the result is

    add(multiply(multiply(g, x), y0), multiply(g, y0))
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from staticgraph.compiler.autodiff.cotangents import Cotangents, Unbounded
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.errors import GradientError
from staticgraph.compiler.graph.function import Node, Value, as_outputs
from staticgraph.compiler.graph.opdef import Kind, ops, recording
from staticgraph.compiler.graph.provenance import of_derivative
from staticgraph.compiler.graph.sizes import same, same_shape

_keys = itertools.count()


def vjp(
    build: Builder,
    ys: Sequence[Value],
    seeds: Sequence[Value | None],
    xs: Sequence[Value],
    stops: Iterable[Value] = (),
) -> Cotangents | Unbounded:
    """The derivatives of sum(seed * y) by each x; None if no path leads from the x to a y.

    A seed of None means ones. Differentiation does not look below `stops`. Takes time linear in the nodes
    between xs and ys. Returns a loop on the way that has no bound, if there is one.
    """
    with recording(build):
        walk = _Walk(build, xs, stops)
        for y, seed in zip(ys, seeds, strict=True):
            walk.receive(y, ops.ones_like(y) if seed is None else seed)
        unbounded = walk.run(ys)
        return [walk.total(x) for x in xs] if unbounded is None else unbounded


class _Walk:
    """One backward walk: cotangents received so far, by value."""

    def __init__(self, build: Builder, xs: Sequence[Value], stops: Iterable[Value]) -> None:
        self.build = build
        self.xs = frozenset(xs)
        self.stops = frozenset(stops)
        self.received: dict[Value, Value] = {}
        self.fed: dict[Value, Value] = {}  # by result that is fed: what others use in its place

    def receive(self, value: Value, g: Value) -> None:
        if not same_shape(g.shape, value.shape):
            g = fit(g, value.shape)
        self.received[value] = self.received[value] + g if value in self.received else g

    def total(self, x: Value) -> Value | None:
        return self.received.get(x) if x in self.depends else None

    def run(self, ys: Sequence[Value]) -> Unbounded | None:
        nodes = self._between(ys)
        for node in reversed(nodes):
            gs = tuple(None if v in self.stops else self.received.get(v) for v in node.outputs)
            if any(g is not None for g in gs):
                with self.build.at(of_derivative(node.where)):
                    unbounded = self._propagate(node, gs)
                if unbounded is not None:
                    return unbounded
        return None

    def _between(self, ys: Sequence[Value]) -> list[Node]:
        """The nodes on paths from xs to ys, inputs before users; remembers which values depend on an x."""
        seen: set[Node] = set()
        stack = [y.node for y in ys if y not in self.stops]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                stack.extend(v.node for v in _on_paths(node) if v.node not in seen and v not in self.stops)
        self.depends: set[Value] = set(self.xs)
        between = []
        for node in sorted(seen, key=lambda n: n.serial):
            if any(v in self.depends for v in _on_paths(node)):
                self.depends.update(v for v in node.outputs if v not in self.stops)
                between.append(node)
        return between

    def _propagate(self, node: Node, gs: tuple[Value | None, ...]) -> Unbounded | None:
        if node.op.name == "override":
            self.fed[node.inputs[0]] = node.outputs[0]
        known = [(i, v) for i, v in reached_inputs(node) if v in self.depends]
        results = [self.fed.get(v, v) for v in node.outputs]
        parts = cotangents(self.build, node, gs, results) if known else ()
        if isinstance(parts, Unbounded):
            return parts
        for position, value in known:
            g = parts[position]
            if g is not None:
                self.receive(value, g)
        for value in lacking_inputs(node):
            if value in self.depends:
                text = f"{node.op.name} ({node.op.tf}) has no gradient, and a derivative goes through it"
                self.receive(value, ops.undefined_gradient(value, text=text))
        return None


def reached_inputs(node: Node) -> list[tuple[int, Value]]:
    """Return the inputs to which gradients flow, with their positions."""
    positions = node.op.gradient_inputs(len(node.inputs), node.attrs)
    return [(i, node.inputs[i]) for i in positions if node.inputs[i].dtype.is_differentiable]


def lacking_inputs(node: Node) -> list[Value]:
    """Return the inputs to which gradients would flow if a formula were known."""
    positions = node.op.lacking_inputs(len(node.inputs))
    return [node.inputs[i] for i in positions if node.inputs[i].dtype.is_differentiable]


def _on_paths(node: Node) -> list[Value]:
    return [*(v for _, v in reached_inputs(node)), *lacking_inputs(node)]


def cotangents(
    build: Builder, node: Node, gs: tuple[Value | None, ...], results: Sequence[Value] | None
) -> Sequence[Value | None] | Unbounded:
    """Return what each input of `node` receives when its outputs receive `gs`.

    Args:
        build: Where the cotangents are recorded.
        node: The node.
        gs: The cotangents of its outputs.
        results: The values of its outputs if they are fed; by default the outputs.
    """
    op, results = node.op, node.outputs if results is None else results
    if op.name == "loop":
        from staticgraph.compiler.autodiff.loops import loop_cotangents  # most programs have none

        return loop_cotangents(build, node, gs, vjp)
    if op.name == "branch":
        from staticgraph.compiler.autodiff.branches import branch_cotangents

        return branch_cotangents(build, node, gs, vjp)
    if op.grad is not None:
        one = len(results) == 1
        y = results[0] if one else tuple(results)
        parts = op.grad(gs[0] if one else gs, y, *node.inputs, **node.attrs)
        return parts if isinstance(parts, tuple | list) else (parts,)
    formula = op.body if op.kind is Kind.ELEMENTWISE else op.expand
    if formula is None:
        raise GradientError(f"no gradient is defined for {op.name}")
    # No rule is given: read the definition as ops on stand-ins for the inputs, and differentiate those.
    stand_ins = [ops.watch(v, key=f"{op.name}.{next(_keys)}") for v in node.inputs]
    made = as_outputs(formula(*stand_ins, **node.attrs))
    pairs = [(y, g) for y, g in zip(made, gs, strict=True) if g is not None]
    wanted = [s for s in stand_ins if s.dtype.is_differentiable]
    derivatives = vjp(build, [y for y, _ in pairs], [g for _, g in pairs], wanted, stops=stand_ins)
    if isinstance(derivatives, Unbounded):
        return derivatives
    found = iter(derivatives)
    return [next(found) if s.dtype.is_differentiable else None for s in stand_ins]


def fit(g: Value, shape: tuple[int, ...]) -> Value:
    """`g` summed over the axes along which an operand of `shape` was broadcast."""
    extra = len(g.shape) - len(shape)
    axes = tuple(range(extra)) + tuple(
        extra + d for d, n in enumerate(shape) if same(n, 1) and not same(g.shape[extra + d], 1)
    )
    if axes:
        g = ops.reduce_sum(g, axis=axes)
    return g if same_shape(g.shape, shape) else ops.reshape(g, shape=shape)
