"""`gradients`: derivatives as tensors of the graph.

A walk from ys to xs adds the operations (`backward.py`). What is decided here is what it begins with, and
which derivatives only touch some rows.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence, ValuesView
from functools import partial
from typing import Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.framework import get_default_graph, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.errors import DtypeError, GradientError, ShapeError, layout, misuse
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.recording.op_count import count_later, uncounted
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.differentiation import backward
from staticgraph.differentiation.reachability import Uses, differentiable_inputs, path, source


class UnconnectedGradients(enum.Enum):
    """Result of `gradients` for an x that y does not depend on: None or zeros."""

    NONE = "none"
    ZERO = "zero"

    @classmethod
    def _missing_(cls, value: object) -> Any:
        hint = f"it is one of {', '.join(repr(each.value) for each in cls)}"
        raise misuse(ValueError, f"unconnected_gradients is {value!r}", hint)


class AggregationMethod:
    """TF1's choice of how derivatives along several paths
    are added. They are always added in one kernel here.
    """

    ADD_N = DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """The derivatives of the sum of `ys` by each of `xs`, tensors or variables: a list as long as `xs`.

    `grad_ys` weights the ys, one tensor per y (or None for ones). A complex y without a weight is an error of
    type. What is in `stop_gradients` counts as constant. A derivative that does not exist is None, or zeros
    with `unconnected_gradients="zero"`; `why_no_gradient` says where the way from x to y is cut. Where a
    variable is used by `gather` alone the derivative is an `IndexedSlices`. Gradients are tensors, so
    gradients of gradients work.
    `colocate_gradients_with_ops` puts backward operations into the colocation groups of their operations.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [3], name="x")
    >>> sg.gradients(sg.reduce_sum(x * x), [x])
    [<sg.Tensor 'gradients/AddN:0' shape=(3,) dtype=float32>]
    """
    targets = [convert_to_tensor(y) for y in _listed(ys)]
    wanted = [_by(convert_to_tensor(x)) for x in _listed(xs)]
    stops = [convert_to_tensor(t) for t in _listed(stop_gradients)] if stop_gradients is not None else []
    zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
    with name_scope(name, "gradients", [*targets, *wanted]):
        given = _seeds(targets, grad_ys)
        walk = backward.Backward(
            targets,
            lambda: _cotangents(targets, given),
            wanted,
            stops,
            gate_gradients,
            bool(colocate_gradients_with_ops),
        )
        count_later(
            get_default_graph(), partial(_operations, targets, wanted, stops, gate_gradients, bool(given))
        )
        return [_received(x, walk, zero) for x in wanted]


def _operations(*asked: Any) -> int:
    """Return how many operations TensorFlow makes for a call of `gradients`."""
    from staticgraph.differentiation.operation_counts import operations_of_gradients  # only seeds need it

    return operations_of_gradients(*asked)


def _by(x: Tensor) -> Tensor:
    """Return what a derivative by `x` is taken by: the variable for the result of an assignment to it."""
    return source(x) if x.op.definition.effect is Effect.WRITE else x


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | ValuesView) else [value]


def _seeds(ys: Sequence[Tensor], grad_ys: Any) -> list[Tensor]:
    """One weight per y, or none at all where all of them are ones."""
    given = [None] * len(ys) if grad_ys is None else _listed(grad_ys)
    if len(given) != len(ys):
        raise misuse(ValueError, f"gradients(): {len(given)} grad_ys for {len(ys)} ys")
    for y, g in zip(ys, given, strict=True):
        if g is None and y.dtype.is_complex:
            text = f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype})"
            hint = "differentiate a real number, such as sg.real(y) or sg.abs(y), or weight y by grad_ys"
            raise misuse(DtypeError, text, hint, made=[(y.name, y.op.where)])
    if all(g is None for g in given):
        return []
    seeds = []
    for i, (y, g) in enumerate(zip(ys, given, strict=True)):
        seed = ops.ones_like(y) if g is None else convert_to_tensor(g, name=f"grad_ys_{i}")
        if seed.dtype is not y.dtype:
            text = f"gradients(): grad_ys[{i}] is {seed.dtype} and ys[{i}] is {y.dtype}"
            raise misuse(DtypeError, text, f"cast grad_ys[{i}]", made=[(y.name, y.op.where)])
        sizes = seed.shape.num_elements(), y.shape.num_elements()
        if seed.shape.ndims and None not in sizes and sizes[0] != sizes[1]:
            text = f"gradients(): grad_ys[{i}] has shape {seed.shape} and ys[{i}] has {y.shape}"
            hint = "a weight has the shape of what it weights, or is one number"
            raise misuse(ShapeError, text, hint, made=[(y.name, y.op.where)])
        seeds.append(seed)
    return seeds


def _cotangents(ys: Sequence[Tensor], given: Sequence[Tensor]) -> list[Tensor]:
    """Return the cotangent of each y: what is given for it, or ones."""
    with uncounted(ys[0].graph):
        weights = given or [_ones(y, f"grad_ys_{i}") for i, y in enumerate(ys)]
        return [ops.seed(y, g, name="Fill") for y, g in zip(ys, weights, strict=True)]


def _ones(y: Tensor, name: str) -> Tensor:
    return convert_to_tensor(1, y.dtype, name=name) if y.dtype.is_differentiable else ops.ones_like(y)


def _received(x: Tensor, walk: backward.Backward, zero: bool) -> Any:
    """Return the derivative by `x`: IndexedSlices if nothing but rows of `x` received any."""
    found = walk.by(x)
    if found is None:
        if zero:
            return ops.zeros_like(x)
        with uncounted(x.graph):  # TensorFlow's zeros are those of an operation on the way
            return ops.zeros_like(x) if walk.uses.is_zero(x) else None
    if found.tensors or not x.shape.ndims:
        with uncounted(x.graph):
            return found.total(walk.spread)
    with uncounted(x.graph):
        return _rows(x, found, walk)


def _rows(x: Tensor, found: backward.Received, walk: backward.Backward) -> IndexedSlices:
    """Return the derivative by `x`, of which only rows received something."""
    order = [op for op, _ in walk.uses.of(x) or ()]
    gathers = sorted(found.gathers, key=lambda pair: order.index(pair[0]))
    rows = [(g, op.tensors[1]) for op, g in gathers]
    return _slices(x, [*rows, *((each.values, each.indices) for each in found.slices)])


def _slices(x: Tensor, rows: Sequence[tuple[Tensor, Tensor]]) -> IndexedSlices:
    """Return the derivative by `x` that consists of rows: values, each with the indices of the rows."""
    row = x.shape.as_list()[1:]
    slices = [ops.reshape(values, shape=_as_rows(indices, row, values)) for values, indices in rows]
    numbers = [ops.reshape(indices, shape=[-1]) for _, indices in rows]
    if len({n.dtype for n in numbers}) > 1:
        numbers = [ops.cast(n, dtype=int64) for n in numbers]
    return IndexedSlices(_joined(slices), _joined(numbers), ops.shape_of(x))


def _as_rows(indices: Tensor, row: list[Any], values: Tensor) -> Any:
    """Return the shape of `values` as rows, one for each index.

    One size follows from the others, unless rows have no elements or several sizes are open.
    """
    if all(row):
        return [-1, *row]
    sizes = ops.shape_of(values)[-len(row) :]
    return ops.concat([ops.reshape(ops.size_of(indices), shape=[1]), sizes], axis=0)


def _joined(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else ops.concat(parts, axis=0)


def why_no_gradient(ys: Any, x: Any) -> str:
    """Say in one sentence why the derivative of `ys` by `x` is None: where the way from x to y is cut.

    The empty string where the derivative exists.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [], name="x")
    >>> print(sg.why_no_gradient(sg.floor(x, name="y"), x).splitlines()[0])
    y (Floor) has no gradient
    """
    targets = [convert_to_tensor(y) for y in _listed(ys)]
    start = convert_to_tensor(x)
    uses = Uses(targets)
    if found := uses.lacking([start]):
        return layout(f"{found[0].name} ({found[0].type}) has no gradient", found[0].where)
    if uses.reaches(start):
        return ""
    wrong = next((y for y in targets if not y.dtype.is_differentiable), None)
    if wrong is not None and len(targets) == 1:
        return layout(f"{wrong.name} is {wrong.dtype}: only floating tensors have gradients", wrong.op.where)
    for tensor, op in path(start, targets):
        if not tensor.dtype.is_differentiable:
            text = f"{op.name} ({op.type}) is reached through {tensor.name}, which is {tensor.dtype}"
            return layout(f"{text}: only floating tensors have gradients", tensor.op.where or op.where)
        reached = [op.tensors[p] for p in differentiable_inputs(op)]
        if all(_same(tensor, t) is False for t in reached):
            what = "stops gradients" if op.definition.name == "stop_gradient" else "has no gradient"
            if reached:
                what = f"has no gradient by its input {tensor.name}"
            return layout(f"{op.name} ({op.type}) {what}", op.where)
    names = ", ".join(y.name for y in targets)
    return layout(f"{names} does not depend on {source(start).op.name}", targets[0].op.where)


def _same(tensor: Tensor, used: Tensor) -> bool:
    return used is tensor or (used.op.definition.name == "read_variable" and used.op.tensors[0] is tensor)


def no_gradients_error(loss: Tensor, variables: Sequence[Any]) -> GradientError:
    """The error of an optimizer that found no variable which `loss` depends on."""
    names = ", ".join(v.op.name for v in variables[:5]) + (", ..." if len(variables) > 5 else "")
    why = why_no_gradient(loss, variables[0])
    text = f"No gradients provided for any variable: {loss.name} has none by {names}\n{why}"
    return misuse(GradientError, text, "check the way from the variables to the loss")


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:
    """The second derivatives of the sum of `ys`: for each x of static shape s, a tensor of shape s + s.

    ValueError if a shape is not fully known, or there is no gradient.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [2])
    >>> sg.hessians(sg.reduce_sum(x * x), x)[0].shape.as_list()
    [2, 2]
    """
    return [_hessian(ys, convert_to_tensor(x), name) for x in _listed(xs)]


def _hessian(ys: Any, x: Tensor, name: str) -> Tensor:
    with name_scope(name, "hessians", [x]):
        size = x.shape.num_elements()
        if size is None:
            raise misuse(GradientError, f"hessians(): {x.name} has shape {x.shape}, not fully known")
        (first,) = gradients(ys, [x])
        if first is None:
            raise misuse(GradientError, f"hessians(): {why_no_gradient(ys, x)}")
        flat = ops.reshape(convert_to_tensor(first), shape=[-1])
        rows = [gradients(flat[i], [x], unconnected_gradients="zero")[0] for i in range(size)]
        return ops.reshape(
            ops.concat([ops.reshape(r, shape=[-1]) for r in rows], axis=0), shape=[*x.shape.as_list()] * 2
        )
