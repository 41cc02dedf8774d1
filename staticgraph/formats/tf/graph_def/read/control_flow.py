"""Loops and branches on their way into a graph: their nodes become the operations of regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from staticgraph.building.regions import captures, finish, own
from staticgraph.compiler import ops
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.shapes import Shape, TensorType, common_shape
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.control_flow.carrier import as_carried
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.formats.tf.graph_def.dataflow import Branch, Loop
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.graph_def.ordering import Edge, edge
from staticgraph.formats.tf.graph_def.read.stacks import Kept

_MOST_ATTEMPTS = 200  # to find the shapes of what loops carry

Part = Callable[..., Sequence[Any]]  # adds what a region does to the graph; what it gives


class Reading(Protocol):
    """A GraphDef that is being read."""

    graph: Graph
    attempts: int
    kept: Kept

    def value(self, each: Edge) -> Any:
        """Return the value at an edge."""

    def controls(self, texts: Sequence[str]) -> list[Operation]:
        """The operations that these inputs wait for."""

    def provide(self, node: str, outputs: tuple[Any, ...]) -> None:
        """Take these for the outputs of a node."""

    def full_name(self, node: str) -> str:
        """The name that a node gets."""

    def add_all(self, steps: Any) -> None:
        """Add nodes, loops and branches."""


def add_loop(reading: Reading, told: Loop) -> None:
    """Add a loop that TensorFlow took apart into nodes."""
    for node in told.constants:
        reading.provide(node.name, (reading.value(edge(node.input[0])),))
    names = [each.merge.name for each in told.carried]
    kept, keys = reading.kept, reading.kept.carried(told)

    def cond(*params: Any) -> list[Any]:
        for name, param in zip(names, params, strict=False):
            reading.provide(name, (param,))
        kept.change(keys, params[len(names) :])
        reading.add_all(told.cond)
        return [reading.value(told.pred)]

    def body(*params: Any) -> list[Any]:
        for each, param in zip(told.carried, params, strict=False):
            for name in filter(None, (each.switch, each.param)):
                reading.provide(name, (param, param))
        kept.change(keys, params[len(names) :])
        kept.begin_round(told)
        reading.add_all(told.body)
        kept.end_round(told)
        return [*(reading.value(each.next) for each in told.carried), *kept.values(keys)]

    given = [*(reading.value(each.given) for each in told.carried), *kept.values(keys)]
    scope = names[0].rpartition("/")[0]
    taken = [each.param or each.switch or f"{each.merge.name}/param" for each in told.carried]
    params = (
        [reading.full_name(name) for name in [*names, *(f"{names[0]}/kept" for _ in keys)]],
        [reading.full_name(name) for name in [*taken, *(f"{taken[0]}/kept" for _ in keys)]],
    )
    made = loop(reading, given, cond, body, reading.full_name(f"{scope}/While".lstrip("/")), params)
    kept.change(keys, made[len(names) :])
    kept.learn(told, made[0])
    for each, value in zip(told.carried, made, strict=False):
        if each.exit is not None:
            controls = reading.controls(each.exit.input)
            reading.provide(each.exit.name, (_named(reading, value, each.exit.name, controls),))


def loop(
    reading: Reading,
    given: Sequence[Any],
    cond: Part,
    body: Part,
    name: str,
    params: tuple[Sequence[str], Sequence[str]],
) -> list[Any]:
    """The values that a loop leaves. `params`: the names of what its condition and its body take.

    A value keeps the static shape that it comes with, as far as each round leaves it so: that is tried.
    """
    shapes = [as_carried(value).type.shape for value in given]
    while True:
        reading.attempts += 1
        if reading.attempts > _MOST_ATTEMPTS:
            raise GraphDefError("the shapes of what its loops carry cannot be found")
        with reading.graph.attempt() as forget:
            made = _built_loop(reading, given, cond, body, name, params, shapes)
            if not isinstance(made, _ChangedShapes):
                return made
            forget()
        shapes = made.shapes


@dataclass(frozen=True, slots=True)
class _ChangedShapes:
    """Shapes of the results of an iteration, which are less specific than those of its parameters."""

    shapes: list[Shape | None]


def _built_loop(
    reading: Reading,
    given: Sequence[Any],
    cond: Part,
    body: Part,
    name: str,
    params: tuple[Sequence[str], Sequence[str]],
    shapes: Sequence[Shape | None],
) -> list[Any] | _ChangedShapes:
    graph = reading.graph
    initial = [as_carried(value) for value in given]
    types = [TensorType(t.dtype, shape) for t, shape in zip(initial, shapes, strict=True)]
    regions = Region(graph.region), Region(graph.region)
    for region, part, names in zip(regions, (cond, body), params, strict=True):
        with graph.inside(region):
            taken = [
                ops.region_parameter(dtype=type.dtype, shape=type.shape, name=f"{each}/")
                for type, each in zip(types, names, strict=True)
            ]
            region.params = tuple(taken)
            made = part(*(_like(value, param) for value, param in zip(given, taken, strict=True)))
            finish(region, [as_carried(value) for value in made])
    results = regions[1].results
    left = [common_shape(shape, t.type.shape) for shape, t in zip(shapes, results, strict=True)]
    if left != list(shapes):
        return _ChangedShapes(left)
    tensors, controls = captures(regions)
    with graph.control_dependencies(controls):
        made = ops.while_region([*initial, *tensors], cond=regions[0], body=regions[1], name=f"{name}/")
    own(regions, made[0].op)
    return [_like(value, out) for value, out in zip(given, made, strict=False)]


def _like(value: Any, tensor: Tensor) -> Any:
    """`tensor`, as what a loop carries for `value`."""
    return value.with_flow(tensor) if isinstance(value, TensorArray) else tensor


def _named(reading: Reading, value: Any, name: str, controls: Sequence[Operation]) -> Any:
    """Return a result of a loop or a branch under the name of its node."""
    with reading.graph.control_dependencies(controls):
        made = ops.identity(as_carried(value), name=f"{reading.full_name(name)}/")
    return _like(value, made)


def add_branch(reading: Reading, told: Branch) -> None:
    """Add a branch that TensorFlow took apart into nodes."""
    kept, keys = reading.kept, reading.kept.carried(told)
    before = kept.values(keys)

    def side(at: int) -> Part:
        def add() -> list[Any]:
            kept.change(keys, before)
            reading.add_all(told.sides[at])
            return [*(reading.value(edges[at]) for _, edges in told.merges), *kept.values(keys)]

        return add

    scope = told.merges[0][0].name.rpartition("/")[0]
    name = reading.full_name(f"{scope}/If".lstrip("/"))
    made = branch(reading, reading.value(told.pred), [side(1), side(0)], name)
    kept.change(keys, made[len(told.merges) :])
    for (merge, _), value in zip(told.merges, made, strict=False):
        controls = reading.controls(merge.input)
        reading.provide(merge.name, (_named(reading, value, merge.name, controls),))


def branch(reading: Reading, pred: Tensor, sides: Sequence[Part], name: str) -> list[Any]:
    """Add a branch and return its results.

    A boolean `pred` selects the first of `sides` if it is true. A number selects the side of that number.
    """
    graph = reading.graph
    regions = [Region(graph.region) for _ in sides]
    given: Sequence[Any] = ()
    for region, side in zip(regions, sides, strict=True):
        with graph.inside(region):
            given = side()
            finish(region, [as_carried(value) for value in given])
    tensors, controls = captures(regions)
    with graph.control_dependencies(controls):
        made = ops.branch_region(pred, tensors, branches=tuple(regions), name=f"{name}/")
    outputs = made if isinstance(made, tuple) else (made,) if isinstance(made, Tensor) else ()
    own(regions, outputs[0].op if outputs else made)
    return [_like(value, out) for value, out in zip(given, outputs, strict=True)]
