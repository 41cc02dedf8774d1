"""Operations that TensorFlow has in another form: what they are written as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.graph.dtypes import DType, bool_, int32, string
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.formats.tf.graph_def.attributes import attr_value
from staticgraph.formats.tf.graph_def.correspondence import GRADIENT, pairs
from staticgraph.formats.tf.graph_def.export import EXCEPTIONS, Writer, bound_attrs, full_attrs

_Written = Callable[[Writer, Operation], bool]


def _exception(*names: str) -> Callable[[_Written], _Written]:
    def declare(written: _Written) -> _Written:
        EXCEPTIONS.update(dict.fromkeys(names, written))
        return written

    return declare


@_exception("softmax", "log_softmax")
def _along_another_axis(writer: Writer, op: Operation) -> bool:
    """TensorFlow's take the last axis: others are moved there and back."""
    [x], axis = op.tensors, op.attrs["axis"]
    rank = x.type.rank
    if axis == -1 or (rank is not None and axis == rank - 1):
        writer.node(op.type, op.name, [writer.port(x, op)], {"T": x.dtype}, op)
        return True
    if rank is None:
        return False
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    perm = writer.constant(order, int32, f"{op.name}/perm", op)
    types = {"T": x.dtype, "Tperm": int32}
    moved = writer.helper("Transpose", f"{op.name}/moved", [writer.port(x, op), perm], types, op)
    made = writer.helper(op.type, f"{op.name}/last", [moved], {"T": x.dtype}, op)
    writer.node("Transpose", op.name, [made, perm], types, op)
    return True


@_exception("pseudo_inverse")
def _pseudo_inverse(writer: Writer, op: Operation) -> bool:
    """From singular values, as TensorFlow computes it."""
    (x, rcond), name = op.tensors, op.name
    real, last = x.dtype.real_dtype, writer.constant(-1, int32, f"{name}/last", op)

    def node(type: str, inputs: list[str], dtype: DType, **attrs: Any) -> str:
        return writer.helper(type, f"{name}/{type}", inputs, {"T": dtype, **attrs}, op)

    svd = node("Svd", [writer.port(x, op)], x.dtype, compute_uv=True, full_matrices=False)
    largest = node("Max", [svd, last], real, Tidx=int32, keep_dims=True)
    share = node("ExpandDims", [writer.port(rcond, op), last], real, Tdim=int32)
    counts = node("Greater", [svd, node("Mul", [share, largest], real)], real)
    inverted = node("Xdivy", [writer.cast(counts, bool_, real, f"{name}/counts", op), svd], real)
    before = writer.constant(-2, int32, f"{name}/before", op)
    row = node("ExpandDims", [inverted, before], real, Tdim=int32)
    scaled = node("Mul", [f"{svd}:2", writer.cast(row, real, x.dtype, f"{name}/row", op)], x.dtype)
    writer.node("BatchMatMulV2", name, [scaled, f"{svd}:1"], {"T": x.dtype, "adj_y": True}, op)
    return True


@_exception("seed")
def _seed(writer: Writer, op: Operation) -> bool:
    """A number in the shape of what is differentiated; a tensor is there already."""
    y, weight = op.tensors
    port = writer.port(weight, op)
    if weight.type.rank != 0:
        writer.node("Identity", op.name, [port], {"T": weight.dtype}, op)
        return True
    scope = op.name.rpartition("/")[0]
    shape = writer.helper("Shape", f"{scope}/Shape", [writer.port(y, op)], {"T": y.dtype}, op)
    writer.node("Fill", op.name, [shape, port], {"T": weight.dtype}, op)
    return True


@_exception("custom_gradient")
def _custom_gradient(writer: Writer, op: Operation) -> bool:
    """TensorFlow's is an IdentityN, and its gradient function has a name in the program that made it."""
    if op.attrs["derivative"] is not None or len(op.tensors) != op.attrs["ys"] + op.attrs["xs"]:
        return False
    types = tuple(t.dtype for t in op.tensors)
    attrs = full_attrs("IdentityN", {"T": types}) | {GRADIENT: attr_value("string", op.type)}
    writer.add("IdentityN", op.name, [writer.port(t, op) for t in op.tensors], attrs, op)
    return True


@_exception("initialized_value")
def _initialized_value(writer: Writer, op: Operation) -> bool:
    """A branch in the manner of dataflow: only one side of the switch lets a value through."""
    variable, initial = op.tensors
    types = {"T": variable.dtype}
    ready = writer.helper(
        "IsVariableInitialized",
        f"{op.name}/ready",
        [writer.port(variable, op)],
        {"dtype": variable.dtype},
        op,
    )
    kept = writer.helper("RefSwitch", f"{op.name}/kept", [writer.port(variable, op), ready], types, op)
    first = writer.helper("Switch", f"{op.name}/initial", [writer.port(initial, op), ready], types, op)
    writer.node("Merge", op.name, [first, f"{kept}:1"], {"T": variable.dtype, "N": 2}, op)
    return True


@_exception("assert_true")
def _assert(writer: Writer, op: Operation) -> bool:
    condition, *data = op.tensors
    shown = op.attrs["shown"] or ((None,) * len(data) if data else (op.attrs["text"] or "assertion failed",))
    ports, types = _parts(writer, op, shown, data)
    whole = writer.port(condition, op)
    if condition.type.rank != 0:
        whole = _all(writer, op)
    attrs = {"T": types, "summarize": op.attrs["summarize"]}
    writer.node("Assert", op.name, [whole, *ports], attrs, op)
    return True


def _all(writer: Writer, op: Operation) -> str:
    condition = op.tensors[0]
    name = f"{op.name}/all"
    if condition.type.rank is not None:
        axes = writer.constant(range(condition.type.rank), int32, f"{name}/axes", op)
    else:
        count = writer.helper("Rank", f"{name}/rank", [writer.port(condition, op)], {"T": bool_}, op)
        ends = [writer.constant(n, int32, f"{name}/{word}", op) for n, word in enumerate(("zero", "one"))]
        axes = writer.helper("Range", f"{name}/axes", [ends[0], count, ends[1]], {"Tidx": int32}, op)
    return writer.helper("All", name, [writer.port(condition, op), axes], {"Tidx": int32}, op)


def _parts(writer: Writer, op: Operation, shown: Any, data: Any) -> tuple[list[str], tuple[Any, ...]]:
    """Texts, as constants, between the tensors that are shown: their ports and dtypes."""
    tensors = iter(data)
    ports, types = [], []
    for number, text in enumerate(shown):
        if text is None:
            tensor = next(tensors)
            ports.append(writer.port(tensor, op))
            types.append(tensor.dtype)
        else:
            ports.append(writer.constant(text.encode(), string, f"{op.name}/data_{number}", op))
            types.append(string)
    return ports, tuple(types)


@_exception("print_values")
def _print(writer: Writer, op: Operation) -> bool:
    given, *data = op.tensors
    ports, types = _parts(writer, op, op.attrs["shown"] or (None,) * len(data), data)
    attrs = {"T": given.dtype, "U": types, "message": op.attrs["text"], "summarize": op.attrs["summarize"]}
    writer.node("Print", op.name, [writer.port(given, op), *ports], attrs, op)
    return True


@_exception("print_line")
def _print_line(writer: Writer, op: Operation) -> bool:
    """TensorFlow formats the line with one op, and writes it with another."""
    stream = op.attrs["stream"]
    if not isinstance(stream, str):
        return False
    template = "".join("{}" if part is None else part for part in op.attrs["shown"])
    attrs = {
        "T": tuple(tensor.dtype for tensor in op.tensors),
        "template": template,
        "placeholder": "{}",
        "summarize": op.attrs["summarize"],
    }
    line = writer.helper(
        "StringFormat", f"{op.name}/format", [writer.port(t, op) for t in op.tensors], attrs, op
    )
    where = stream if stream in ("stdout", "stderr") else f"file://{stream}"
    writer.node("PrintV2", op.name, [line], {"output_stream": where, "end": op.attrs["end"]}, op)
    return True


@_exception("softmax_cross_entropy", "sparse_softmax_cross_entropy")
def _cross_entropy(writer: Writer, op: Operation) -> bool:
    """TensorFlow's take a matrix: other tensors become one, and the results are of their shape again."""
    features, labels = op.tensors
    dense = op.definition.name == "softmax_cross_entropy"
    if features.type.rank == 2 or (dense and features.type.shape != labels.type.shape):
        return False
    types, name = {"T": features.dtype, "Tshape": int32}, op.name
    told = {"T": features.dtype, "out_type": int32}
    shape = writer.helper("Shape", f"{name}/shape", [writer.port(features, op)], told, op)
    last = _sliced(writer, op, shape, -1, 0, {"end_mask": 1})
    rest, zero = (writer.constant(n, int32, f"{name}/const", op) for n in ([-1], 0))
    flat = writer.helper("ConcatV2", f"{name}/flat", [rest, last, zero], {"T": int32, "N": 2}, op)
    given = [
        writer.helper("Reshape", f"{name}/rows", [writer.port(t, op), to], {**types, "T": t.dtype}, op)
        for t, to in zip(op.tensors, (flat, flat if dense else rest), strict=True)
    ]
    attrs = {"T": features.dtype} if dense else {"T": features.dtype, "Tlabels": labels.dtype}
    made = writer.helper(op.type, f"{name}/loss", given, attrs, op)
    losses = _sliced(writer, op, shape, 0, -1, {"begin_mask": 1})
    results = [
        writer.helper("Reshape", f"{name}/result", [port, to], types, op)
        for port, to in ((made, losses), (f"{made}:1", shape))
    ]
    writer.node("IdentityN", name, results, {"T": (features.dtype, features.dtype)}, op)
    return True


def _sliced(writer: Writer, op: Operation, shape: str, begin: int, end: int, masks: dict[str, int]) -> str:
    ends = [writer.constant([n], int32, f"{op.name}/const", op) for n in (begin, end, 1)]
    types = {"T": int32, "Index": int32, **masks}
    return writer.helper("StridedSlice", f"{op.name}/slice", [shape, *ends], types, op)


@_exception(
    "sparse_apply_adadelta", "sparse_apply_adagrad", "sparse_apply_adagrad_da",
    "sparse_apply_centered_rms_prop", "sparse_apply_ftrl", "sparse_apply_ftrl_v2", "sparse_apply_momentum",
    "sparse_apply_proximal_adagrad", "sparse_apply_proximal_gradient_descent", "sparse_apply_rms_prop",
)  # fmt: skip
def _step_of_rows(writer: Writer, op: Operation) -> bool:
    """TensorFlow's takes each row once: the slices of a row are added up before, as its optimizers do."""
    together = pairs(op.definition)
    assert together is not None, op
    names, name = [param.name for param in op.definition.params], op.name
    place = names.index("indices")
    grad, indices = op.tensors[place - 1 : place + 1]
    unique = writer.helper(
        "Unique", f"{name}/Unique", [writer.port(indices, op)], {"T": indices.dtype, "out_idx": int32}, op
    )
    count = writer.helper("Size", f"{name}/Size", [unique], {"T": indices.dtype, "out_type": int32}, op)
    dtypes = {"T": grad.dtype, "Tindices": int32, "Tnumsegments": int32}
    slices = [writer.port(grad, op), f"{unique}:1", count]
    summed = writer.helper("UnsortedSegmentSum", f"{name}/UnsortedSegmentSum", slices, dtypes, op)
    ports = [writer.port(tensor, op) for tensor in op.tensors]
    ports[place - 1 : place + 1] = [summed, unique]
    writer.node(op.type, name, ports, bound_attrs(together, op), op)
    return True


@_exception("segment_sum", "segment_prod")
def _known_segments(writer: Writer, op: Operation) -> bool:
    """TensorFlow's op of sorted ids is not told how many segments there are, that of unsorted ones is."""
    count = op.operands.get("num_segments")
    if count is None:
        return False
    data, ids = op.tensors
    dtypes = {"T": data.dtype, "Tindices": ids.dtype, "Tnumsegments": count.dtype}
    writer.node(f"Unsorted{op.type}", op.name, [writer.port(t, op) for t in (data, ids, count)], dtypes, op)
    return True


@_exception("pick")
def _pick(writer: Writer, op: Operation) -> bool:
    """A slice at one index, which takes the other axes as a whole."""
    (x, index), axis = op.tensors, op.attrs["axis"]
    if axis < 0:
        if x.type.rank is None:
            return False
        axis += x.type.rank
    types = {"T": index.dtype, "N": axis + 1}
    one = writer.constant(1, index.dtype, f"{op.name}/one", op)
    after = writer.helper("Add", f"{op.name}/after", [writer.port(index, op), one], types, op)
    zero = [writer.constant(0, index.dtype, f"{op.name}/zero", op)] * axis
    begin = writer.helper("Pack", f"{op.name}/begin", [*zero, writer.port(index, op)], types, op)
    end = writer.helper("Pack", f"{op.name}/end", [*zero, after], types, op)
    strides = writer.constant([1] * (axis + 1), index.dtype, f"{op.name}/strides", op)
    whole = (1 << axis) - 1
    attrs = {
        "T": x.dtype,
        "Index": index.dtype,
        "begin_mask": whole,
        "end_mask": whole,
        "shrink_axis_mask": 1 << axis,
    }
    writer.node("StridedSlice", op.name, [writer.port(x, op), begin, end, strides], attrs, op)
    return True


@_exception("foreign", "foreign_handle")
def _foreign(writer: Writer, op: Operation) -> bool:
    """A node that was read and is not carried out: as it was, where it needs no function of its GraphDef."""
    given = op.attrs["given"]
    values = sum(not text.startswith("^") for text in given.input)
    if values != len(op.tensors) or any(attr.WhichOneof("value") == "func" for attr in given.attr.values()):
        writer.reasons[op.name] = f"a node of type {given.op} needs what was not read with it"
        return False
    writer.add(given.op, op.name, [writer.port(each, op) for each in op.tensors], given.attr, op)
    return True
