"""`while_loop`: rounds of a body, compiled to a loop of machine code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.building import nest
from staticgraph.building.framework import check_takes, graph_of, name_scope
from staticgraph.building.inputs import convert_to_tensor, identity
from staticgraph.building.regions import call, captures, finish, own, parameters
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.errors import (
    DtypeError,
    ShapeError,
    UnlikeDtypeError,
    headline,
    misuse,
    shown,
)
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.recording.op_count import count_captures, count_more, share_captures
from staticgraph.compiler.graph.shapes import TensorType, as_shape, compatible, shape_text
from staticgraph.compiler.graph.tensor import Region, Tensor
from staticgraph.control_flow.carrier import Carrier
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.mathematics.math_ops import logical_and


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """The values of `loop_vars` when `cond` of them does not hold any more; each round makes them `body` of
    the old ones.

    `loop_vars` is a list or tuple, nested as one likes, of tensors and TensorArrays; `cond` and `body` take
    its items as arguments. What the body returns has the same structure, dtypes and shapes; a shape that
    changes from round to round needs an entry in `shape_invariants`, which are nested like `loop_vars`. With
    a single variable the result is that variable, unless `return_same_structure`.

    The loop has derivatives of any order, which need memory for each round; with `back_prop=False` it has
    none. TF1's hints about parallelism and memory are accepted, and not needed. ValueError and TypeError if
    structures, shapes or dtypes change.

    >>> import staticgraph as sg
    >>> total = sg.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + i), [0, 0])
    >>> with sg.Session() as sess:
    ...     [int(n) for n in sess.run(total)]
    [5, 10]
    """
    for function, role in ((cond, "cond"), (body, "body")):
        if not callable(function):
            hint = "write a function of the loop variables: lambda i: i < 10, lambda i: i + 1"
            raise misuse(TypeError, f"while_loop({role}): {shown(function)} is not a function", hint)
    if not nest.is_nested(loop_vars):
        loop_vars = [loop_vars]
    if not nest.flatten(loop_vars):
        raise misuse(ValueError, "while_loop(loop_vars): there is nothing to carry")
    with graph_of(nest.flatten(loop_vars)).as_default() as graph, name_scope(name, "while"):
        if maximum_iterations is None:
            packed = _Loop(graph, cond, body, loop_vars, shape_invariants, back_prop).build()
            alone = len(nest.flatten(packed)) == 1 and not return_same_structure
            return packed[0] if alone and isinstance(packed, list | tuple) else packed
        alone = isinstance(loop_vars, list | tuple) and len(loop_vars) == 1 and not return_same_structure
        limited = _Limited(cond, body, maximum_iterations, alone)
        return limited.build(graph, loop_vars, shape_invariants, back_prop)


def row_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, rows: Any, back_prop: bool
) -> Any:
    """`while_loop` over `rows` rows. TensorFlow's has a counter as well, whose operations count here too.

    Args:
        cond: A function of the loop variables.
        body: A function of the loop variables.
        loop_vars: A list or tuple of tensors and TensorArrays.
        rows: The number of rows, a number or a tensor.
        back_prop: If False, the loop has no derivative.

    Returns:
        The loop variables after the last iteration.
    """
    with graph_of(nest.flatten(loop_vars)).as_default() as graph, name_scope(None, "while"):
        return _Loop(graph, cond, body, loop_vars, None, back_prop, rows).build()


class _Limited:
    """A loop with a counter in front, for at most `limit` rounds. A loop variable `alone` is carried as it
    is.
    """

    def __init__(self, cond: Callable[..., Any], body: Callable[..., Any], limit: Any, alone: bool) -> None:
        self._cond, self._body, self._alone = cond, body, alone
        self._limit = convert_to_tensor(limit, name="maximum_iterations")
        if self._limit.shape.ndims not in (None, 0):
            text = f"maximum_iterations must be one number, not of shape {self._limit.shape}"
            raise misuse(ShapeError, text)

    def build(self, graph: Graph, loop_vars: Any, invariants: Any, back_prop: bool) -> Any:
        zero = convert_to_tensor(0, dtype=self._limit.dtype, name="iteration_counter")
        if self._alone:
            loop_vars = loop_vars[0]
            invariants = None if invariants is None else invariants[0]
        shapes = None if invariants is None else (as_shape([]), invariants)
        return _Loop(graph, self._test, self._round, (zero, loop_vars), shapes, back_prop).build()[1]

    def _test(self, count: Tensor, values: Any) -> Tensor:
        return logical_and(count < self._limit, self._call(self._cond, values))

    def _round(self, count: Tensor, values: Any) -> tuple[Tensor, Any]:
        made = self._call(self._body, values)
        if self._alone and not nest.is_nested(values):
            return count + 1, made[0] if nest.is_nested(made) and len(made) == 1 else made
        return count + 1, made if nest.is_nested(made) else [made]

    def _call(self, function: Callable[..., Any], values: Any) -> Any:
        return function(values) if self._alone else _apply("body", function, values)


def _apply(what: str, function: Callable[..., Any], values: Any) -> Any:
    args, named = ((), values) if isinstance(values, dict) else (values, {})
    check_takes(f"the {what} of a loop", function, *args, **named)
    return function(*args, **named)


class _Loop:
    """One loop while it is built."""

    def __init__(
        self,
        graph: Graph,
        cond: Callable[..., Any],
        body: Callable[..., Any],
        loop_vars: Any,
        invariants: Any,
        back_prop: bool,
        rows: Any = None,
    ) -> None:
        self.back_prop = bool(back_prop)
        self._limit, self._counter = rows, rows is not None
        self.graph, self.cond, self.body, self.loop_vars = graph, cond, body, loop_vars
        self.carrier = Carrier(loop_vars)
        self.init = self.carrier.tensors()
        self.types = self._types(invariants)

    def _types(self, invariants: Any) -> list[TensorType]:
        """Return the types of the carried values, as far as they hold in every iteration."""
        types = []
        said = None if invariants is None else _flat_shapes(self.loop_vars, invariants)
        shapes = zip(self.init, self.carrier.invariants(said), self.carrier.arrays(), strict=True)
        for tensor, shape, is_array in shapes:
            if shape is not False and not compatible(shape, tensor.type.shape):
                text = (
                    f"the shape invariant {shape_text(shape)} is not compatible with {tensor.name}, which "
                    f"enters the loop with shape {shape_text(tensor.type.shape)}"
                )
                raise misuse(ShapeError, text, made=[(tensor.name, tensor.op.where)])
            held = None if is_array else tensor.type.shape if shape is False else shape
            types.append(TensorType(tensor.dtype, held))
        return types

    def build(self) -> Any:
        graph = self.graph
        regions = [Region(graph.region), Region(graph.region)]
        share_captures(graph, *reversed(regions))
        count_captures(graph, self.init)
        carried = len(self.init) + self._counter
        if self._counter:  # the counter, its Merge, and the limit
            count_more(graph, 2 if isinstance(self._limit, Tensor) else 3)
        count_more(graph, carried)  # TensorFlow's Enter; Merge is a parameter here
        test = parameters(graph, regions[0], self.types, "Merge")
        pred = call(
            graph, regions[0], lambda: self._pred(_apply("cond", self.cond, self.carrier.restore(test)))
        )
        finish(regions[0], [pred])
        count_captures(graph, [pred], regions[0])
        if self._counter:  # less than the limit, and both conditions; Identity, and the next count
            count_more(graph, 5 if isinstance(self._limit, Tensor) else 6)
        count_more(graph, 1 + carried)  # LoopCond and Switch
        params = parameters(graph, regions[1], self.types, "Identity")
        made = call(graph, regions[1], lambda: self._round(params))
        finish(regions[1], made)
        count_captures(graph, made, regions[1])
        count_more(graph, carried + self._counter - 1)  # NextIteration; there is no operation for the whole
        tensors, controls = captures(regions)
        outer = [t for t in tensors if t not in params and t not in test]
        with graph.control_dependencies(controls):
            outputs = ops.while_region(
                [*self.init, *outer], cond=regions[0], body=regions[1], back_prop=self.back_prop
            )
        own(regions, outputs[0].op)
        # What is outside of the loop has no control dependency on what the loop waits for.
        exits = [identity(t, name="Exit") for t in outputs[:-1]]
        return self.after.restore(exits)

    def _pred(self, made: Any) -> Tensor:
        pred = convert_to_tensor(made)
        kind = (
            DtypeError if pred.dtype is not bool_ else None if pred.shape.ndims in (None, 0) else ShapeError
        )
        if kind is not None:
            text = f"cond must return one truth value, not {pred.type}"
            hint = "compare a number, i < 3; reduce_all and reduce_any make one of many"
            raise misuse(kind, text, hint, made=[("it", pred.op.where)])
        return pred

    def _round(self, params: Sequence[Tensor]) -> list[Tensor]:
        """Call the body with `params`, and check the structure, dtypes and shapes of its results."""
        made = _apply("body", self.body, self.carrier.restore(params))
        if not nest.is_nested(made):
            made = [made]
        try:
            nest.assert_same_structure(_listed(self.loop_vars), _listed(made))
        except (TypeError, ValueError) as error:
            text = f"the body of a loop must return the structure of the loop variables: {headline(error)}"
            raise misuse(type(error), text, "return one value for each loop variable, in order") from None
        self.after = Carrier(made)
        results = self.after.tensors()
        for leaf, left, before, after in zip(
            self.carrier.leaves, self.after.leaves, self.carrier.kinds(), self.after.kinds(), strict=True
        ):
            if before != after or isinstance(leaf, TensorArray) is not isinstance(left, TensorArray):
                text = f"a loop carries {leaf!r} and its body returns {left!r}"
                made = [] if not hasattr(left, "op") else [("it", left.op.where)]
                raise misuse(UnlikeDtypeError, text, made=made)
        for is_array, before, after in zip(self.carrier.arrays(), self.types, results, strict=True):
            if is_array:
                continue
            if before.dtype is not after.dtype:
                text = f"a loop carries {before} and its body returns {after.type}"
                hint = f"convert it in the body: cast(..., sg.{before.dtype.name})"
                raise misuse(UnlikeDtypeError, text, hint, made=[("it", after.op.where)])
            if not _within(after.type.shape, before.shape):
                text = (
                    f"the shape of a loop variable changes: it enters a round as {before} and leaves it as "
                    f"{after.type}"
                )
                hint = "where that is right, say what stays the same: shape_invariants"
                raise misuse(ShapeError, text, hint, made=[("it", after.op.where)])
        return results


def _listed(structure: Any) -> Any:
    """Loop variables, of which it does not matter whether they are a list or a tuple."""
    return list(structure) if isinstance(structure, list | tuple) else structure


def _within(shape: Any, declared: Any) -> bool:
    """Return True if `shape` is known to have every size that `declared` gives."""
    if declared is None:
        return True
    if shape is None or len(shape) != len(declared):
        return False
    return all(d is None or d == n for n, d in zip(shape, declared, strict=True))


def _flat_shapes(loop_vars: Any, invariants: Any) -> list[Any]:
    """The shapes in `invariants`, one for each leaf of `loop_vars`."""

    def walk(value: Any, shape: Any) -> list[Any]:
        if nest.is_nested(value) and nest.is_nested(shape) and len(value) == len(shape):
            values, shapes = nest.parts_of(value), nest.parts_of(shape)
            return [found for v, s in zip(values, shapes, strict=True) for found in walk(v, s)]
        if nest.is_nested(value):
            raise misuse(
                ValueError, f"shape_invariants must be nested like loop_vars: {shape!r} stands for {value!r}"
            )
        return [as_shape(shape)]

    return walk(loop_vars, invariants)
