"""Functions applied to rows: `map_fn`, `scan`, `foldl` and `foldr`, as loops over TensorArrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.arrays.array_ops import shape
from staticgraph.arrays.equal_sizes import as_long
from staticgraph.building import nest
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.graph.errors import ShapeError, headline, misuse
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.shapes import compatible
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.control_flow.loops import row_loop
from staticgraph.control_flow.tensor_array import TensorArray


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """`fn` of each row of `elems`, stacked. Of several tensors, nested as one likes, `fn` gets their rows in
    the same structure; where it returns another structure, `dtype` must give the dtypes in that one.

    >>> import staticgraph as sg
    >>> y = sg.map_fn(lambda x: x * x, sg.constant([1, 2, 3]))
    >>> with sg.Session() as sess:
    ...     sess.run(y)
    array([1, 4, 9], dtype=int32)
    """
    _check_function("map_fn", fn)
    with name_scope(name, "map", nest.flatten(elems)):
        rows = _Rows(elems)
        outer = nest.flatten(dtype) if dtype is not None else [t.dtype for t in rows.tensors]
        arrays = [TensorArray(as_dtype(d), size=rows.count, infer_shape=infer_shape) for d in outer]
        wanted = elems if dtype is None else dtype

        def body(i: Tensor, *done: TensorArray) -> Any:
            made = fn(rows.at(i))
            like = "elems" if dtype is None else "dtype"
            _check_structure("map_fn", like, wanted, made, "dtype= has the dtypes of the results, so nested")
            return i + 1, *(a.write(i, v) for a, v in zip(done, nest.flatten(made), strict=True))

        start = convert_to_tensor(0)
        _, *done = row_loop(lambda i, *_: i < rows.count, body, (start, *arrays), rows.count, back_prop)
        return nest.pack_sequence_as(wanted, [rows.stacked(a) for a in done])


def scan(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All values of `state = fn(state, row)` over the rows of `elems`, stacked; with `reverse` from the last
    row. The first state is `initializer`, or else the first row, which is then the first result.

    >>> import staticgraph as sg
    >>> y = sg.scan(lambda total, x: total + x, sg.constant([1, 2, 3, 4]))
    >>> with sg.Session() as sess:
    ...     sess.run(y)
    array([ 1,  3,  6, 10], dtype=int32)
    """
    _check_function("scan", fn)
    with name_scope(name, "scan", nest.flatten(elems)):
        rows = _Rows(elems)
        first = _first(rows, initializer, reverse)
        state, taken = first
        arrays = [
            TensorArray(s.dtype, size=rows.count, element_shape=s.shape if infer_shape else None)
            for s in state
        ]
        packed = elems if initializer is None else initializer
        last = rows.count - 1 if reverse else 0
        if taken:
            arrays = [a.write(last if reverse else 0, s) for a, s in zip(arrays, state, strict=True)]

        def body(i: Tensor, *carried: Any) -> Any:
            before, done = carried[: len(state)], carried[len(state) :]
            at = last - i if reverse else i
            made = fn(nest.pack_sequence_as(packed, before), rows.at(at))
            _check_structure("scan", "the state", packed, made, "fn returns the next state")
            values = nest.flatten(made)
            for old, new in zip(state, map(convert_to_tensor, values), strict=True):
                if not compatible(old.type.shape, new.type.shape):
                    text = f"scan: the state is {old.type}, and fn makes {new.type} of it"
                    raise misuse(ShapeError, text, "a state keeps its shape: its values are stacked")
            return i + 1, *values, *(a.write(at, v) for a, v in zip(done, values, strict=True))

        start = convert_to_tensor(1 if taken else 0)
        carried = (start, *state, *arrays)
        _, *carried = row_loop(lambda i, *_: i < rows.count, body, carried, rows.count, back_prop)
        return nest.pack_sequence_as(packed, [rows.stacked(a) for a in carried[len(state) :]])


def foldl(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last value of `state = fn(state, row)` over the rows of `elems`, from the first on.

    The first state is `initializer`, or else the first row.

    >>> import staticgraph as sg
    >>> y = sg.foldl(lambda total, x: total - x, sg.constant([1, 2, 3]))
    >>> with sg.Session() as sess:
    ...     int(sess.run(y))
    -4
    """
    return _fold("foldl", fn, elems, initializer, back_prop, name, reverse=False)


def foldr(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last value of `state = fn(state, row)` over the rows of `elems`, from the last one back.

    The first state is `initializer`, or else the last row.

    >>> import staticgraph as sg
    >>> y = sg.foldr(lambda total, x: total - x, sg.constant([1, 2, 6]))
    >>> with sg.Session() as sess:
    ...     int(sess.run(y))
    3
    """
    return _fold("foldr", fn, elems, initializer, back_prop, name, reverse=True)


def _fold(
    what: str,
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any,
    back_prop: bool,
    name: str | None,
    reverse: bool,
) -> Any:
    _check_function(what, fn)
    with name_scope(name, what, nest.flatten(elems)):
        rows = _Rows(elems)
        state, taken = _first(rows, initializer, reverse)
        packed = elems if initializer is None else initializer
        last = rows.count - 1 if reverse else 0

        def body(i: Tensor, *before: Tensor) -> Any:
            made = fn(nest.pack_sequence_as(packed, before), rows.at(last - i if reverse else i))
            return i + 1, *nest.flatten(made)

        start = convert_to_tensor(1 if taken else 0)
        _, *final = row_loop(lambda i, *_: i < rows.count, body, (start, *state), rows.count, back_prop)
        return nest.pack_sequence_as(packed, final)


def _check_function(what: str, fn: Any) -> None:
    if not callable(fn):
        raise misuse(TypeError, f"{what}(fn): {fn!r} is not a function")


def _first(rows: _Rows, initializer: Any, reverse: bool) -> tuple[list[Tensor], bool]:
    """The state before the first round, and whether a row was taken for it."""
    if initializer is not None:
        return [convert_to_tensor(v) for v in nest.flatten(initializer)], False
    if reverse:
        with counted_as(rows.tensors[0].graph, 3 * len(rows.tensors)):
            return [t[rows.count - 1] for t in rows.tensors], True
    with counted_as(rows.tensors[0].graph, 2 * len(rows.tensors)):  # TensorFlow reads the arrays
        return [t[0] for t in rows.tensors], True


class _Rows:
    """The rows of a structure of tensors."""

    def __init__(self, elems: Any) -> None:
        self._structure = elems
        self.tensors = [convert_to_tensor(t, name="elem") for t in nest.flatten(elems)]
        if not self.tensors:
            raise misuse(ValueError, "elems: there is nothing to go through")
        for tensor in self.tensors:
            if tensor.shape.ndims == 0:
                text = f"elems: {tensor.name} is a number, it has no rows"
                raise misuse(ValueError, text, made=[(tensor.name, tensor.op.where)])
        first, *others = self.tensors
        known = first.type.shape
        self.count = shape(first)[0] if known is None or not known[0] else known[0]
        rows = [first, *(as_long("elems", other, 0, first, 0) for other in others)]
        self._arrays = [TensorArray(t.dtype, size=self.count).unstack_all(t) for t in rows]

    def at(self, index: Tensor) -> Any:
        """The rows at `index`, in the structure."""
        return nest.pack_sequence_as(self._structure, [a.read(index) for a in self._arrays])

    def stacked(self, array: TensorArray) -> Tensor:
        """All rows of a result, one for each row of what was given."""
        made = array.stack()
        length = self.tensors[0].type.shape[0] if self.tensors[0].type.shape else None
        if made.type.shape is not None:
            made.set_shape((length, *made.type.shape[1:]))
        return made


def _check_structure(call: str, like: str, wanted: Any, made: Any, hint: str) -> None:
    try:
        nest.assert_same_structure(wanted, made, check_types=False)
    except (TypeError, ValueError) as error:
        text = f"{call}: fn must return the structure of {like}: {headline(error)}"
        raise misuse(type(error), text, hint) from None
