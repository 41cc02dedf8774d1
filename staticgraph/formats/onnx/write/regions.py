"""Loops and branches in ONNX, and the arrays of rows that loops write.

ONNX's graphs inside others may use the values around them, as ours may: what a region captures is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from staticgraph.compiler.graph.dtypes import bool_, int64
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import Shape, TensorType
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.compiler.ops.control.control_flow import taken
from staticgraph.formats.onnx.proto import GraphProto
from staticgraph.formats.onnx.write.nodes import inner_graph
from staticgraph.formats.onnx.write.operations import Operations, named
from staticgraph.formats.onnx.write.value import Held, NoForm

_WRITES = ("tensor_array_write", "tensor_array_scatter")


@named("tensor_array")
def _array(at: Operations, op: Operation) -> Held:
    """Rows of zeros, as large as those that are written; of one where that depends on what is fed."""
    shape = _row_shape(op)
    size = at.writer.scalar(at.value(op.operands["size"]))
    dtype = op.outputs[0].dtype
    rows = tuple(1 if n is None else n for n in shape)
    zeros = at.writer.constant(0, dtype)
    made = ops.fill(zeros, dims=(size if size.constant is None else int(size.constant), *rows))
    if rows == shape:
        return made
    type = TensorType(dtype, (made.type.shape[0], *shape))
    name = at.writer.node("Identity", [made], [type], {})[0].name
    return at.writer.value(name, type)


def _row_shape(op: Operation) -> Shape:
    """The shape of the rows of an array: that of what is written, where the array was made without."""
    shape: Shape | None = op.attrs["element_shape"]
    if shape is None or None in shape:
        writes = [o for o in op.graph.get_operations() if o.definition.name in _WRITES]
        for each in (o for o in writes if o.attrs["number"] == op.attrs["number"]):
            written = each.tensors[2].type.shape
            if written is not None:
                return written if each.definition.name == _WRITES[0] else written[1:]
    if shape is None:
        raise NoForm("the shape of its rows must be known")
    return shape


def _is_array(tensor: Tensor) -> bool:
    """Return True if a tensor is an array of rows.

    The graph may not tell the shape of such an array, but the shape stays the same.
    """
    op = tensor.op
    while op.definition.name in _WRITES:
        op = op.tensors[0].op
    if op.definition.name == "while_region" and tensor.value_index < len(op.attrs["body"].params):
        return _is_array(op.tensors[tensor.value_index])
    if op.definition.name == "region_parameter" and op.region is not None and op.region.owner is not None:
        return _is_array(op.region.owner.tensors[op.region.params.index(op.outputs[0])])
    return op.definition.name == "tensor_array"


@named("while_region")
def _loop(at: Operations, op: Operation) -> list[Held]:
    """ONNX's loop computes its condition behind its body, for the next round, and before the first one."""
    writer, body, cond = at.writer, op.attrs["body"], op.attrs["cond"]
    given = op.tensors[: len(body.params)]
    inits = [at.value(t) for t in given]
    types = [v.type if _is_array(t) else p.type for t, v, p in zip(given, inits, body.params, strict=True)]
    first = _region(at, cond, inits)[0]
    writer.nodes.open()
    names = [
        writer.nodes.unique(name)
        for name in (f"{op.name}/round", f"{op.name}/again", *(p.op.name for p in body.params))
    ]
    inputs = list(zip(names, (TensorType(int64, ()), TensorType(bool_, ()), *types), strict=True))
    results = _region(at, body, [writer.value(*each) for each in inputs[2:]])
    results = [*_region(at, cond, results), *results]
    outputs = [(_own(at, r), type) for r, (_, type) in zip(results, inputs[1:], strict=True)]
    graph = inner_graph(op.name, writer.nodes.close(), inputs, outputs)
    return writer.node("Loop", [None, first, *inits], types, {"body": graph})


def _taken_captures(at: Operations, op: Operation) -> Sequence[Tensor]:
    """Return the tensors that a branch needs before it is written.

    First the predicate alone. Once that has a value, all inputs, or only the captures of the side that is
    known to be taken.
    """
    pred = at.values.get(op.tensors[0])
    if pred is None:
        return op.tensors[:1]
    return op.tensors if pred.constant is None else _chosen(op, pred).captures()[0]


def _chosen(op: Operation, pred: Held) -> Region:
    assert pred.constant is not None
    number = int(not pred.constant) if pred.dtype is bool_ else int(pred.constant)
    return taken(op.attrs["branches"], number)


@named("branch_region", _taken_captures)
def _branch(at: Operations, op: Operation) -> list[Held]:
    pred = at.value(op.tensors[0])
    if pred.constant is not None:
        return _region(at, _chosen(op, pred))
    return _choice(at, op, pred, 0)


def _choice(at: Operations, op: Operation, pred: Held, number: int) -> list[Held]:
    """The results of the branch of this number, or else of those behind it."""
    branches = op.attrs["branches"]
    if number == len(branches) - 1:
        return _region(at, branches[-1])
    condition = pred if pred.dtype is bool_ else ops.equal(pred, number)
    graphs = {
        "then_branch": _inner(at, op, lambda: _region(at, branches[number])),
        "else_branch": _inner(at, op, lambda: _choice(at, op, pred, number + 1)),
    }
    return at.writer.node("If", [condition], [t.type for t in op.outputs], graphs)


def _inner(at: Operations, op: Operation, inside: Callable[[], list[Held]]) -> GraphProto:
    """The graph of a branch."""
    at.writer.nodes.open()
    outputs = [(_own(at, r), t.type) for r, t in zip(inside(), op.outputs, strict=True)]
    return inner_graph(op.name, at.writer.nodes.close(), (), outputs)


def _region(at: Operations, region: Region, params: Sequence[Held] = ()) -> list[Held]:
    """The results of a region, which is written anew."""
    at.forget(op for op in region.operations() if op.definition.name != "region_parameter")
    at.values.update(zip(region.params, params, strict=True))
    at.perform(region.results)
    return [at.value(t) for t in region.results]


def _own(at: Operations, held: Held) -> str:
    """A name for a value in the graph that is being written, which the values around it do not have."""
    return at.writer.node("Identity", [held], [at.writer.plain(held).type], {})[0].name
