"""The way back from ys to xs through operations whose gradient a script gives.

    y -> g -> u -> x      u has a gradient function, g and what is below u are differentiated by the compiler

Cotangents are made at u by a `symbolic_gradients` of y that stops there. The gradient function makes those of
its inputs, which then stand for y in what is left: the derivative of y by x is that of the inputs of u,
weighted so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import GradientError, layout
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.tensor import Operation, Tensor, may_use
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.differentiation.gradient_functions import GradientFunction, call, gradient_function
from staticgraph.differentiation.reachability import Uses, source


@dataclass
class Way:
    """Tensors whose weighted sum is to be differentiated, and what needs no more differentiation."""

    ys: list[Tensor]
    seeds: list[Tensor]  # one per y, or none for ones
    stops: list[Tensor]
    uses: Uses
    rows: dict[Tensor, list[IndexedSlices]] = field(default_factory=dict)  # by `source` of an x

    def derivatives(self, at: Sequence[Tensor], name: str | None = None) -> list[Tensor]:
        """Return the derivative by each tensor in `at`, which `ys` depend on."""
        made = ops.symbolic_gradients(
            [*self.ys, *self.seeds, *at, *self.stops],
            ys=len(self.ys),
            seeds=len(self.seeds),
            xs=len(at),
            name=name,
        )
        return list(made) if isinstance(made, tuple) else [made]


def pull_back(
    ys: Sequence[Tensor], seeds: Sequence[Tensor], xs: Sequence[Tensor], stops: Sequence[Tensor]
) -> Way:
    """Call the gradient functions on the way from `ys` to `xs`, the last ones first.

    Args:
        ys: What derivatives are taken of.
        seeds: One weight per y, or none for ones.
        xs: What derivatives are taken by.
        stops: Tensors that count as constants.

    Returns:
        The same derivatives without gradient functions on the way.

    Raises:
        GradientError: The way leads through an operation without gradient, or with one that is not known.
    """
    uses = Uses(ys, stops)
    if found := uses.lacking(xs):
        raise lacking_error(*found)
    given = _given(uses.between(xs))
    stops = [*stops, *(y for op in uses.blocked for y in op.outputs)]
    way = Way([*ys], [*seeds], stops, uses)
    if not given:
        return way
    cut = [y for op in given for y in op.outputs if y.dtype.is_differentiable]
    wanted = {source(x) for x in xs}
    pairs = list(zip(ys, seeds or map(ops.ones_like, ys), strict=True))
    reach = [Uses([y], [*stops, *cut]) for y in ys]
    for op in sorted(given, key=lambda op: op.id, reverse=True):
        outputs = [y for y in op.outputs if y.dtype.is_differentiable]
        into = [n for n, each in enumerate(reach) if any(map(each.reaches, outputs))]
        if not into:
            continue
        made = _cotangents(outputs, [pairs[n] for n in into], [reach[n] for n in into], [*stops, *cut])
        for x, g in zip(op.tensors, call(op, given[op], [made.get(y) for y in op.outputs]), strict=True):
            if isinstance(g, IndexedSlices) and source(x) in wanted:
                way.rows.setdefault(source(x), []).append(g)
            elif g is not None:
                pairs.append((x, g.to_tensor() if isinstance(g, IndexedSlices) else g))
                reach.append(Uses([x], [*stops, *cut]))
    left = [pair for pair, each in zip(pairs, reach, strict=True) if any(map(each.reaches, xs))]
    way.ys, way.seeds = [y for y, _ in left], [seed for _, seed in left]
    way.stops = [*stops, *cut]
    way.uses = Uses(way.ys, way.stops)
    return way


def _cotangents(
    outputs: Sequence[Tensor],
    pairs: Sequence[tuple[Tensor, Tensor]],
    reach: Sequence[Uses],
    stops: Sequence[Tensor],
) -> dict[Tensor, Tensor]:
    """Return the derivative of a sum of weighted tensors by each of `outputs`, at which all paths stop."""
    direct = {y: [seed for t, seed in pairs if t is y] for y in outputs}
    rest = [n for n, (t, _) in enumerate(pairs) if t not in direct]
    if rest:
        there = [t for t in stops if any(reach[n].reaches(t) for n in rest)]
        way = Way([pairs[n][0] for n in rest], [pairs[n][1] for n in rest], there, reach[0])
        for y, g in zip(outputs, way.derivatives(outputs), strict=True):
            direct[y].append(g)
    return {y: sum(gs[1:], gs[0]) if gs else ops.zeros_like(y) for y, gs in direct.items()}


def _given(operations: set[Operation]) -> dict[Operation, GradientFunction]:
    """Return those of `operations` whose gradient is called here, each with its gradient function."""
    found = {}
    for op in operations:
        if may_use(op.graph.region, op.region):
            function = gradient_function(op)
            if function is not None:
                found[op] = function
    return found


def lacking_error(op: Operation, x: Tensor) -> GradientError:
    """Return the error of a derivative by `x` through `op`, which has no gradient."""
    text = f"gradients(): {op.name} ({op.type}) has no gradient, and {x.name} is differentiated through it"
    hint = "stop_gradient() of its result takes it as a constant; or give it a gradient: custom_gradient"
    return GradientError(layout(text, user_frame(), [(op.name, op.where)], hint))
