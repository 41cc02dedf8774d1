"""Tensors that are zero almost everywhere: the places and the values of what is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from staticgraph.building.framework import checked, control_dependencies, get_default_graph, name_scope
from staticgraph.building.inputs import convert_to_tensor, placeholder, placeholder_with_default
from staticgraph.building.operation_counts import counts_as
from staticgraph.building.read_only import read_only
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, as_dtype, int64
from staticgraph.compiler.graph.errors import DtypeError, ShapeError, misuse, require, shown
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import OpDef
from staticgraph.compiler.graph.recording.calls import snapshot
from staticgraph.compiler.graph.recording.op_count import counted_as, uncounted
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Tensor


class SparseTensorValue(NamedTuple):
    """The value of a `SparseTensor`: what `run` returns for one, and what is fed for one."""

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor:
    """A tensor of shape `dense_shape` that is zero but for `values[i]` at the place `indices[i]`.

    `indices` is int64 [n, rank], `values` a vector of n elements, `dense_shape` int64 [rank]. Places are
    expected in row-major order and no two equal. `run` takes one among the fetches, and as a key of
    `feed_dict`, with a `SparseTensorValue` or a tuple (indices, values, dense_shape) for its value.

    >>> import staticgraph as sg
    >>> x = sg.SparseTensor(indices=[[0, 0], [1, 2]], values=[1.0, 2.0], dense_shape=[3, 4])
    >>> with sg.Session() as sess:
    ...     sess.run(sg.sparse_tensor_to_dense(x)).tolist()
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            self._indices = convert_to_tensor(indices, dtype=int64, name="indices")
            self._values = convert_to_tensor(values, name="values")
            self._dense_shape = convert_to_tensor(dense_shape, dtype=int64, name="dense_shape")
        with checked("SparseTensor"):
            for name, part, rank in zip(
                self._NAMES, (self._indices, self._values, self._dense_shape), (2, 1, 1), strict=True
            ):
                require(
                    part.type.rank in (None, rank),
                    f"{name} has shape {part.shape}, and must have {rank} {'axis' if rank == 1 else 'axes'}",
                )
            count, other = self._indices.shape.with_rank(2)[0].value, self._values.shape.with_rank(1)[0].value
            require(None in (count, other) or count == other, f"there are {count} indices and {other} values")
            axes, rank = (
                self._indices.shape.with_rank(2)[1].value,
                self._dense_shape.shape.with_rank(1)[0].value,
            )
            require(None in (axes, rank) or axes == rank, f"indices have {axes} axes, and dense_shape {rank}")

    _NAMES = ("indices", "values", "dense_shape")
    _expected: TensorShape | None = None  # what a placeholder was told of the shapes that it is fed

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """A constant, from a `SparseTensorValue` or another object with the same three attributes."""
        value = sparse_tensor_value
        return cls(value.indices, value.values, value.dense_shape)

    indices: Tensor = read_only("indices")
    values: Tensor = read_only("values")
    dense_shape: Tensor = read_only("dense_shape")
    dtype: DType = read_only("values.dtype")
    graph: Graph = read_only("values.graph")
    op: Operation = read_only("values.op", "The operation that makes the values.")
    name: str = read_only("values.name")

    @property
    def control_op(self) -> Operation:
        """The operation that a control dependency on this tensor waits for."""
        return self._values.op

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known. For a placeholder it is the shape that the program gave."""
        return self._expected if self._expected is not None else inferred_shape(self)

    @property
    def rank(self) -> int | None:
        """The number of axes, where it is known."""
        for sizes in (self._dense_shape.type.shape, (self._indices.type.shape or ())[1:]):
            if sizes and sizes[0] is not None:
                return sizes[0]
        return None

    def get_shape(self) -> TensorShape:
        """`shape` under its older name."""
        return self.shape

    def consumers(self) -> list[Operation]:
        """The operations that have the values as an input."""
        return self._values.consumers()

    def eval(self, feed_dict: Any = None, session: Any = None) -> SparseTensorValue:
        """The value, computed in `session` or in the default session."""
        return self.graph.session_for(session).run(self, feed_dict)

    def components(self) -> list[Tensor]:
        """The tensors that this one consists of."""
        return [self._indices, self._values, self._dense_shape]

    def with_components(self, tensors: Sequence[Tensor]) -> SparseTensor:
        """A SparseTensor of other tensors, in the order of `components`."""
        return SparseTensor(*tensors)

    def invariants_of_components(self, shape: Any) -> list[Any]:
        """The shapes of the components in each iteration of a loop.

        Args:
            shape: The shape of `dense_shape`, from `shape_invariants`; False for the rank of this tensor.

        Raises:
            ShapeError: `shape` has more than one axis, or another rank than this tensor.
        """
        if shape is False:
            shape = (self.rank,)
        known = shape is not None and len(shape) == 1
        rank = shape[0] if known else None
        if (shape is not None and not known) or (None not in (rank, self.rank) and rank != self.rank):
            text = (
                f"the shape invariant {list(shape)} is not compatible with [{self.rank}], that of dense_shape"
            )
            raise misuse(ShapeError, text, "for a SparseTensor, give the shape of its dense_shape: [rank]")
        return [(None, rank), (None,), (rank,)]

    def fetch_parts(self) -> tuple[list[Tensor], Any]:
        """For `run`: what is fetched, and what is made of the values."""
        return self.components(), SparseTensorValue._make

    def feed_parts(self, value: Any) -> Iterator[tuple[Tensor, Any]]:
        """For `run`: the tensors that are fed, each with its part of `value`."""
        parts = self.components()
        if hasattr(value, "dense_shape"):
            value = (value.indices, value.values, value.dense_shape)
        if value is None:  # only which tensors are fed is asked for
            value = (None,) * len(parts)
        if not isinstance(value, tuple | list) or len(value) != len(parts):
            hint = "feed a SparseTensorValue, or (indices, values, dense_shape)"
            raise misuse(TypeError, f"a SparseTensor cannot be fed {shown(value)}", hint)
        return zip(parts, value, strict=True)

    @property
    def recorder(self) -> _Recorder:
        """Record operations that are called with this tensor."""
        return _Recorder(self)

    def with_values(self, values: Any) -> SparseTensor:
        """Other values at the same places."""
        return SparseTensor(self._indices, values, self._dense_shape)

    @counts_as(1, "other")
    def __mul__(self, other: Any) -> SparseTensor:
        """Each value times the element of `other`, which is dense and broadcasts, at its place."""
        x = _fitting_together(self)
        return x.with_values(x.values * x._picked(other))

    def __rmul__(self, other: Any) -> SparseTensor:
        return self * other

    @counts_as(1, "other")
    def __truediv__(self, other: Any) -> SparseTensor:
        x = _fitting_together(self)
        return x.with_values(x.values / x._picked(other))

    def _picked(self, dense: Any) -> Tensor:
        dense = convert_to_tensor(dense, dtype=self.dtype)
        return ops.gather_nd(ops.broadcast_to(dense, shape=self._dense_shape), self._indices)

    def __repr__(self) -> str:
        return f"<sg.SparseTensor indices={self._indices!r} values={self._values!r} shape={self.shape}>"


# As in TensorFlow: operations that keep zeros zero, and so are those of the values alone.
_OF_VALUES = {
    "abs",
    "bessel_i0e",
    "bessel_i1e",
    "complex_abs",
    "erf",
    "negative",
    "sign",
    "sqrt",
    "square",
    "tanh",
}


class _Recorder:
    """Records operations that are called with a SparseTensor: those of its values alone, and no others."""

    def __init__(self, sparse: SparseTensor) -> None:
        self._sparse = sparse

    def record(self, op: OpDef, values: dict[str, Any], name: str | None) -> SparseTensor:
        """Return the SparseTensor of what `op` makes of the values. DtypeError for another operation."""
        (first, x), *rest = values.items()
        if op.name in _OF_VALUES and x is self._sparse and all(v is not x for _, v in rest):
            return self._sparse.with_values(op(**(values | {first: x.values}), name=name))
        hint = "sparse_tensor_to_dense(x) is dense; x.values are the elements that are given"
        raise misuse(DtypeError, f"{op.name}: a SparseTensor cannot be an operand", hint)


def as_sparse(x: Any) -> SparseTensor:
    """`x`, a SparseTensor or the value of one, as a SparseTensor. TypeError for anything else.

    A run in which its parts do not fit together is an InvalidArgumentError.
    """
    if isinstance(x, SparseTensor):
        return _fitting_together(x)
    if isinstance(x, SparseTensorValue):
        return SparseTensor.from_value(x)
    raise misuse(TypeError, f"{x!r} is a {type(x).__name__}, and a SparseTensor is needed")


def _fitting_together(x: SparseTensor) -> SparseTensor:
    """`x`, of which a run demands what its constructor could not know.

    There must be a place for each value, and each place must have a number for each axis.
    """
    parts = [part.type.shape for part in x.components()]
    if not any(shape is None or None in shape for shape in parts):
        return x
    from staticgraph.arrays.equal_sizes import same_sizes  # few sizes are unknown

    with uncounted(x.graph):
        sizes = ops.concat((ops.shape_of(x.values), ops.shape_of(x.dense_shape)), axis=0)
        text = "indices of a sparse tensor must have the shape [number of values, number of axes]"
        with control_dependencies([same_sizes(text, ops.shape_of(x.indices), [sizes])]):
            made = SparseTensor(ops.identity(x.indices), ops.identity(x.values), x.dense_shape)
    made._expected = x._expected
    return made


def inferred_shape(x: SparseTensor) -> TensorShape:
    """Return what the graph tells of the shape; of a placeholder, which may be fed any, only the rank."""
    known = static_value(x.dense_shape, partial=True)
    if known is None:
        return TensorShape(None if x.rank is None else [None] * x.rank)
    return TensorShape([None if n is None or n < 0 else int(n) for n in known])


def convert_to_tensor_or_sparse_tensor(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """`value` as a SparseTensor if it is one, or the value of one; as a Tensor else."""
    if isinstance(value, SparseTensor | SparseTensorValue):
        found = as_sparse(value)
        if dtype is not None and as_dtype(dtype) is not found.dtype:
            raise misuse(
                RuntimeError, f"the SparseTensor has dtype {found.dtype}, and {as_dtype(dtype)} is wanted"
            )
        return found
    return snapshot(convert_to_tensor(value, dtype=dtype, name=name))


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """A SparseTensor whose value each run is told.

    `shape` may have None for unknown sizes; without it the rank is not known either.

    >>> import staticgraph as sg
    >>> x = sg.sparse_placeholder(sg.float32, [None, 10])
    >>> with sg.Session() as sess:
    ...     sess.run(sg.sparse_reduce_sum(x), {x: ([[0, 3], [2, 1]], [4.0, 5.0], [3, 10])}).item()
    9.0
    """
    base = name if name is not None else get_default_graph().unique_name("SparsePlaceholder")
    sizes: Any
    if shape is None:
        rank, sizes = None, placeholder(int64, [None], name=f"{base}/shape")
    elif isinstance(shape, Tensor):
        rank = shape.shape[0].value
        with counted_as(get_default_graph(), 0):  # TensorFlow takes the tensor itself
            sizes = placeholder_with_default(ops.cast(shape, dtype=int64), [rank], name=f"{base}/shape")
    else:
        known = TensorShape(shape).as_list()
        rank, given = len(known), [-1 if n is None else n for n in known]
        with counted_as(get_default_graph(), 1):  # a constant, or a placeholder without a default
            default = convert_to_tensor(given, dtype=int64, name=f"{base}/shape_default")
            sizes = placeholder_with_default(default, [rank], name=f"{base}/shape")
    values = placeholder(dtype, [None], name=f"{base}/values")
    made = SparseTensor(placeholder(int64, [None, rank], name=f"{base}/indices"), values, sizes)
    if isinstance(shape, Tensor):
        if rank is not None:
            known = static_value(shape, partial=True)
            made._expected = TensorShape([None] * rank if known is None else known)
    elif shape is not None:  # as in TensorFlow, one None leaves all sizes open, and -1 only its own
        is_open = any(getattr(n, "value", n) is None for n in shape)
        made._expected = TensorShape([None] * (rank or 0) if is_open else shape)
    return made
