"""`TensorArray`: rows of equal shape that loops write and read one at a time.

What the graph carries is its *flow*, a tensor with all rows. Writing makes a new flow, in the memory of the
old one where nothing else reads that.
"""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import concat, reshape, shape
from staticgraph.building.framework import control_dependencies, name_scope
from staticgraph.building.inputs import convert_to_tensor, identity, no_op
from staticgraph.building.read_only import read_only
from staticgraph.building.sizes import Size, is_known, larger, size_of, whole
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, as_dtype
from staticgraph.compiler.graph.errors import InvalidArgumentError, ShapeError, UnlikeDtypeError, misuse
from staticgraph.compiler.graph.recording.op_count import count_handle, count_more, counted_as
from staticgraph.compiler.graph.shapes import Shape, TensorShape, as_shape, compatible, shape_text
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.control_flow.assertions import Assert


class TensorArray:
    """`size` rows of one shape and `dtype`, each written once and read as often as one likes.

    The shape of a row is `element_shape`, or becomes known with the first write. An operation that changes
    the array returns a new one: `array = array.write(i, row)`. Gradients flow from what is read to what was
    written. `dynamic_size` lets writes outside of loops make it longer. `clear_after_read`, `handle` and
    `tensor_array_name` are accepted and change nothing. ShapeError for a row of another shape, and
    InvalidArgumentError for reading an array that was not written to, whose row shape is not known.

    >>> import staticgraph as sg
    >>> squares = sg.TensorArray(sg.float32, size=4)
    >>> _, squares = sg.while_loop(
    ...     lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, sg.to_float(i * i))), [0, squares]
    ... )
    >>> with sg.Session() as sess:
    ...     sess.run(squares.stack())
    array([0., 1., 4., 9.], dtype=float32)
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if flow is None and size is None:
            raise misuse(ValueError, "TensorArray(size): how many rows there are must be given")
        self._dtype = as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._infer = infer_shape
        self._rows = _Rows(as_shape(element_shape))
        self._counting = False
        if flow is not None:
            self._flow: Tensor = flow
            return
        with name_scope(name, "TensorArray", [size]) as scope:
            size = convert_to_tensor(0 if size is None else size, name="size")
            self._rows.number = size.graph.version
            self._rows.region = size.graph.region
            self._rows.written = False
            self._flow = ops.tensor_array(
                dtype=self._dtype,
                size=size,
                element_shape=self._rows.shape,
                number=self._rows.number,
                name=scope,
            )

    def with_flow(self, flow: Tensor, dynamic_size: bool | None = None) -> TensorArray:
        """Return the array after changes: its rows are in `flow`. `dynamic_size`: if it may grow."""
        dynamic = self._dynamic if dynamic_size is None else dynamic_size
        made = TensorArray(self._dtype, dynamic_size=dynamic, flow=flow, infer_shape=self._infer)
        made._rows, made._counting = self._rows, self._counting
        return made

    def for_counting(self) -> TensorArray:
        """Return the array for a loop that only counts its iterations: what is after the last row is that."""
        made = self.with_flow(self._flow)
        made._counting = True
        return made

    dtype: DType = read_only("dtype", "The dtype of its rows.")
    flow: Tensor = read_only("flow", "The tensor that stands for it in the graph.")
    handle: Tensor = read_only("flow")

    @property
    def number(self) -> int:
        """The number in the graph, shared with the arrays that it was made from and those made from it."""
        return self._rows.number

    dynamic_size: bool = read_only("dynamic")

    @property
    def element_shape(self) -> TensorShape:
        """The shape of a row, as far as it is known."""
        return TensorShape(self._rows.shape)

    # Rows

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with `value` as the row at `index`."""
        with name_scope(name, "TensorArrayWrite", [index, value]) as scope:
            value = self._row(convert_to_tensor(value, name="value"), "write")
            flow, at = self._long_enough(index, value), self._index(index)
            self._use()
            return self.with_flow(
                ops.tensor_array_write(flow, at, value, number=self._rows.number, name=scope)
            )

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The row at `index`."""
        with name_scope(name, "TensorArrayRead", [index]) as scope:
            at = self._index(index)
            self._use(-1)
            return self._shaped(ops.gather(self._to_read("read"), at, axis=0, name=scope))

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The rows at a vector of `indices`, stacked."""
        with name_scope(name, "TensorArrayGather", [indices]) as scope:
            at = self._index(indices, "indices")
            self._use(-1)
            made = ops.gather(self._to_read("gather"), at, axis=0, name=scope)
            return self._shaped(made, rows=True)

    def stack(self, name: str | None = None) -> Tensor:
        """All rows in one tensor."""
        with name_scope(name, "TensorArrayStack", [self._flow]) as scope:
            self._use(4)  # TensorFlow gathers a range of its size
            return self._shaped(identity(self._to_read("stack"), name=scope), rows=True)

    def concat(self, name: str | None = None) -> Tensor:
        """All rows, one after the other along their first axis."""
        with name_scope(name, "TensorArrayConcat", [self._flow]) as scope, counted_as(self._flow.graph, 1):
            self._use()
            stacked = self._shaped(identity(self._to_read("concat")), rows=True)
            rest = concat([[-1], shape(stacked)[2:]], 0)
            return reshape(stacked, rest, name=scope)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The array whose rows are those of `value`, and zeros after them if it has more."""
        return self._of(value, name, exactly=False)

    def unstack_all(self, value: Any) -> TensorArray:
        """`unstack` of a value that is known to have as many rows as the array."""
        return self._of(value, None, exactly=True)

    def _of(self, value: Any, name: str | None, exactly: bool) -> TensorArray:
        with name_scope(name, "TensorArrayUnstack", [value]) as scope:
            value = convert_to_tensor(value, dtype=self._dtype, name="value")
            if value.type.shape == ():
                raise misuse(ShapeError, "TensorArray.unstack: the value is a number, it has no rows")
            self._merge(None if value.type.shape is None else value.type.shape[1:], "unstack")
            self._use(8)  # TensorFlow scatters to a range of the size of `value`
            if not exactly:
                with counted_as(value.graph, 0):
                    value = self._filled(value)
            return self.with_flow(identity(value, name=scope))

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with the rows of `value` at `indices`."""
        with name_scope(name, "TensorArrayScatter", [indices, value]) as scope:
            value = convert_to_tensor(value, dtype=self._dtype, name="value")
            self._merge(None if value.type.shape is None else value.type.shape[1:], "scatter")
            with counted_as(value.graph, 0):
                last = ops.reduce_max(convert_to_tensor(indices)) if self._dynamic else 0
            flow = self._long_enough(last, value, rows=True)
            at = convert_to_tensor(indices, name="indices")
            self._use()
            return self.with_flow(
                ops.tensor_array_scatter(flow, at, value, number=self._rows.number, name=scope)
            )

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """The array whose rows are consecutive parts of `value`, all of the same length."""
        with name_scope(name, "TensorArraySplit", [value]) as scope:
            value = convert_to_tensor(value, dtype=self._dtype, name="value")
            parts = convert_to_tensor(lengths, name="lengths")
            known = static_value(parts)
            if known is not None and len(set(known)) > 1:
                text = f"TensorArray.split: rows have one shape, and the lengths are {list(known)}"
                raise misuse(ShapeError, text, "pad them to the same length")
            value = self._in_parts(value, parts)
            count = shape(parts)[:1]
            rest = shape(value)[1:]
            rows = reshape(value, concat([count, [-1], rest], 0), name=scope)
            tail = None if value.type.shape is None else value.type.shape[1:]
            length = known[0] if known else None
            self._merge(None if tail is None else (length, *tail), "split")
            return self.with_flow(rows)

    def _in_parts(self, value: Tensor, lengths: Tensor) -> Tensor:
        """`value`, in runs in which the lengths are equal, add up to its own, and are as many as the rows."""
        given, rows, size = static_value(lengths), size_of(value, 0), self._length()
        if given is not None and is_known(rows, size):
            if sum(given) == rows and (self._dynamic or size == len(given)):
                return value
            text = f"TensorArray.split: {rows} rows are no parts {list(given)} of an array of {size}"
            raise misuse(ShapeError, text)
        with counted_as(value.graph, 0):
            length = ops.cast(ops.shape_of(value)[0], dtype=lengths.dtype)
            total = ops.reduce_sum(lengths, axis=None)
            equal = ops.reduce_all(ops.equal(lengths, ops.reduce_max(lengths, axis=None)), axis=None)
            checks = [
                (equal, "TensorArray.split: rows have one shape, and the lengths are", [lengths]),
                (ops.equal(total, length), "TensorArray.split: the lengths do not add up:", [total, length]),
            ]
            if not self._dynamic:
                sizes = [ops.shape_of(self._flow)[0], ops.size_of(lengths)]
                text = "TensorArray.split: there must be a length for each row of the array:"
                checks.append((ops.equal(*sizes), text, sizes))
            with control_dependencies([Assert(holds, [text, *data]) for holds, text, data in checks]):
                return identity(value)

    def size(self, name: str | None = None) -> Tensor:
        """The number of rows."""
        self._use()
        with counted_as(self._flow.graph, 1):
            return identity(shape(self._flow)[0], name=name or "TensorArraySize")

    def identity(self) -> TensorArray:
        """The same array, after what new operations have to wait for."""
        return self.with_flow(identity(self._flow))

    def grad(self, source: str, flow: Any = None, name: str | None = None) -> TensorArray:
        """Derivatives are taken by `gradients`: this exists for the sake of old names."""
        raise misuse(
            NotImplementedError, "TensorArray.grad: take the derivative of what was read, with gradients()"
        )

    def close(self, name: str | None = None) -> Operation:
        """An operation that does nothing: memory is managed by the compiler."""
        return no_op(name=name)

    def _length(self) -> Size:
        """The number of rows, without an operation if the array was made with a size that is known."""
        op = self._flow.op
        return whole(op.operands["size"]) if op.type == "TensorArrayV3" else size_of(self._flow, 0)

    def _filled(self, value: Tensor) -> Tensor:
        """The rows of `value`, and zeros up to the size of the array.

        Raises:
            ShapeError: If `value` has more rows than an array that may not grow. If they are not counted
                yet, an InvalidArgumentError comes when it is run.
        """
        size, rows = self._length(), size_of(value, 0)
        if rows is size or _counts_rows_of(size, value) or (self._dynamic and is_known(size) and size == 0):
            return value
        text = "TensorArray.unstack: more rows than the array has"
        if is_known(rows, size):
            if rows > size and not self._dynamic:
                made = [("the value", value.op.where)]
                hint = "give the array that size, or dynamic_size=True"
                raise misuse(ShapeError, f"{text}: {rows}, and it has {size}", hint, made=made)
            return value if rows >= size else ops.tensor_array_grow(value, size=size)
        if self._dynamic:
            return ops.tensor_array_grow(value, size=larger(rows, size))
        with control_dependencies([Assert(ops.less_equal(rows, size), [f"{text}:", rows, size])]):
            return ops.tensor_array_grow(identity(value), size=size)

    # What is known

    def _use(self, more: int = 0) -> None:
        """Count what TensorFlow captures for a use of the array, and `more` operations."""
        count_handle(self._flow.graph, self._rows, self._rows.region)
        count_more(self._flow.graph, more)

    def _row(self, value: Tensor, what: str) -> Tensor:
        if value.dtype is not self._dtype:
            text = f"TensorArray.{what}: the array is of {self._dtype.name}, the row is {value.type}"
            made, hint = [("the row", value.op.where)], "cast the row; map_fn takes a dtype for its results"
            raise misuse(UnlikeDtypeError, text, hint, made=made)
        self._merge(value.type.shape, what)
        return value

    def _index(self, index: Any, name: str = "index") -> Tensor:
        """Return the number of a row as a tensor."""
        at = convert_to_tensor(index, name=name)
        if not self._counting:
            return at
        last = shape(self._flow)[0] - 1
        return ops.minimum(at, ops.cast(last, dtype=at.dtype) if at.dtype is not last.dtype else last)

    def _to_read(self, what: str) -> Tensor:
        """Return the rows for an operation that reads them, which must exist or have a known shape.

        In a loop or branch this cannot be told: what writes may be recorded after what reads.

        Raises:
            InvalidArgumentError: If nothing was written, and nothing is known of the shape of a row. If a
                part of the shape is known, the error comes when it is run.
        """
        rows = self._rows
        if rows.written or rows.declared or self._flow.graph.region is not rows.region:
            return self._flow
        text = f"TensorArray.{what}: no row was written, and the shape of rows is {shape_text(rows.shape)}"
        if rows.shape is None:
            hint = "write to the array first, and go on with what write() returns; or give element_shape"
            raise misuse(InvalidArgumentError, text, hint)
        with control_dependencies([Assert(False, [text])]):
            return identity(self._flow)

    def _merge(self, found: Shape | None, what: str) -> None:
        self._rows.written = True
        if not self._infer:
            return
        if not compatible(self._rows.shape, found):
            known, new = shape_text(self._rows.shape), shape_text(found)
            text = f"TensorArray.{what}: the rows have shape {known}, this one has {new}"
            hint = "rows of other shapes are for TensorArray(infer_shape=False), which cannot be stacked"
            raise misuse(ShapeError, text, hint)
        self._rows.learn(found)

    def _shaped(self, tensor: Tensor, rows: bool = False) -> Tensor:
        """`tensor`, a row or with `rows` several, with what is known of its shape."""
        if self._infer and self._rows.shape is not None:
            lead = (tensor.type.shape[0] if tensor.type.shape else None,) if rows else ()
            tensor.set_shape(TensorShape((*lead, *self._rows.shape)))
        return tensor

    def _long_enough(self, index: Any, value: Tensor, rows: bool = False) -> Tensor:
        """The flow, with zeros after it if `index` is outside and it may grow. The first are of the shape of
        `value`, or with `rows` of its rows.
        """
        if not self._dynamic:
            return self._flow
        with counted_as(self._flow.graph, 0):  # TensorFlow's grow when they are written
            row = None
            if not self._rows.declared:
                row = shape(value)[1:] if rows else shape(value)
            size = ops.maximum(shape(self._flow)[0], convert_to_tensor(index) + 1)
            return ops.tensor_array_grow(self._flow, size=size, row=row)


def _counts_rows_of(size: Size, value: Tensor) -> bool:
    """Return True if `size` is `shape(value)[0]`."""
    if is_known(size) or size.op.type != "StridedSlice":
        return False
    (of,) = size.op.tensors
    bounds = [static_value(size.op.operands[name]) for name in ("begin", "end", "strides")]
    return of.op.type == "Shape" and of.op.tensors[0] is value and bounds == [(0,), (1,), (1,)]


class _Rows:
    """Known row shape of an array and of all arrays made from it, and their number in the graph."""

    def __init__(self, shape: Shape | None) -> None:
        self.shape = shape
        self.declared = shape is not None and None not in shape  # from the beginning
        self.number = 0
        self.written = True  # or it goes on from a given flow, which may have been written to
        self.region: Region | None = None  # in which the array was made

    def learn(self, found: Shape | None) -> None:
        if self.shape is None or found is None:
            self.shape = found if self.shape is None else self.shape
        else:
            self.shape = tuple(n if n is not None else m for n, m in zip(self.shape, found, strict=True))
