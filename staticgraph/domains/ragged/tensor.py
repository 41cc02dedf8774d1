"""Ragged tensors: rows that may differ in length, as a tensor of all their values and one of their splits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from staticgraph.building.framework import checked, control_dependencies, name_scope
from staticgraph.building.inputs import convert_to_tensor, identity
from staticgraph.building.read_only import read_only
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, as_dtype, int32, int64
from staticgraph.compiler.graph.errors import misuse, require, shown
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import COMPOSITES
from staticgraph.compiler.graph.operators import Operators
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.debugging.comparisons import assert_non_negative
from staticgraph.domains.ragged.dense_and_sparse import partition_of_sparse, partition_of_tensor
from staticgraph.domains.ragged.elementwise import Elementwise
from staticgraph.domains.ragged.partitions import (
    checked_splits,
    lengths_of,
    lengths_of_ids,
    partition,
    row_count,
    row_ids,
    splits_of_lengths,
)
from staticgraph.domains.ragged.values import RaggedTensorValue
from staticgraph.sparse.tensor import SparseTensor


def convert(value: Any, name: str | None = None) -> Any:
    """Return a ragged tensor as it is, one for a RaggedTensorValue, and else a tensor."""
    if isinstance(value, RaggedTensor):
        return value
    if isinstance(value, RaggedTensorValue):
        return RaggedTensor.from_row_splits(convert(value.values), value.row_splits, validate=False)
    return convert_to_tensor(value, name=name)


class RaggedTensor(Operators):
    """Rows that may differ in length: row i is `values[row_splits[i]:row_splits[i + 1]]`.

    `values` may be a ragged tensor itself; then rows have rows. Ragged tensors are made by the methods
    `from_...` and by the functions of `sg.ragged`. Operations on elements, such as `sg.add` and `sg.exp`,
    take them, with tensors that broadcast; so do `concat`, `stack`, `gather`, `expand_dims`, `where`,
    `one_hot`, `size`, `rank` and the sums and other reductions. `run` takes one among the fetches, and as
    a key of `feed_dict`, with a `RaggedTensorValue` for its value.

    >>> import staticgraph as sg
    >>> x = sg.RaggedTensor.from_row_lengths([3.0, 1.0, 4.0, 1.0, 5.0], [3, 0, 2])
    >>> with sg.Session() as sess:
    ...     sess.run(x * 2).to_list(), sess.run(sg.reduce_sum(x, axis=1)).tolist()
    ([[6.0, 2.0, 8.0], [], [2.0, 10.0]], [8.0, 0.0, 6.0])
    """

    CURE = "x.to_tensor() pads the rows; ragged.map_flat_values(function, x) works on all values at once"
    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    """The forms of functions that take ragged tensors, by name."""

    def __init__(self, values: Any, row_splits: Any, *, internal: bool = False) -> None:
        if not internal:
            hint = "use one of its methods from_..., such as RaggedTensor.from_row_lengths"
            raise misuse(ValueError, "RaggedTensor is not made by its class", hint)
        self._values, self._row_splits = values, row_splits

    @classmethod
    def _made(cls, values: Any, splits: Any, name: str, validate: bool) -> RaggedTensor:
        with checked(name):
            require(_rank(values) != 0, "values is a number, and must have an axis")
        if validate:
            splits = checked_splits(splits, _row_number(values), name)
        return cls(values, splits, internal=True)

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows from where each of them begins, and the end of the last one.

        Args:
            values: The values of all rows, a tensor with one axis or more, or a ragged tensor.
            row_splits: An int32 or int64 vector of one number more than there are rows: from 0 to the number
                of values, in ascending order.
            name: The name scope.
            validate: If a run refuses splits that are not such.

        Raises:
            ValueError: For another rank or dtype; InvalidArgumentError for splits that do not fit.

        >>> import staticgraph as sg
        >>> with sg.Session() as sess:
        ...     sess.run(sg.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 2, 3])).to_list()
        [[1, 2], [], [3]]
        """
        with name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
            splits = partition(row_splits, "row_splits")
            with checked("from_row_splits"):
                require(splits.type.shape != (0,), "row_splits is empty, and must have a number at least")
            return cls._made(convert(values, "values"), splits, "from_row_splits", validate)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows from the length of each of them; as `from_row_splits` else."""
        with name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
            lengths = partition(row_lengths, "row_lengths")
            return cls._made(
                convert(values, "values"), splits_of_lengths(lengths), "from_row_lengths", validate
            )

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows from where each of them begins; as `from_row_splits` else."""
        with name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
            values, starts = convert(values, "values"), partition(row_starts, "row_starts")
            end = ops.reshape(ops.cast(_row_number(values), dtype=starts.dtype), shape=(1,))
            return cls._made(values, ops.concat([starts, end], axis=0), "from_row_starts", validate)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows from where each of them ends; as `from_row_splits` else."""
        with name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
            limits = partition(row_limits, "row_limits")
            begin = convert_to_tensor(np.zeros(1, limits.dtype.numpy))
            splits = ops.concat([begin, limits], axis=0)
            return cls._made(convert(values, "values"), splits, "from_row_limits", validate)

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Rows from the number of the row of each value, in ascending order.

        `nrows` is the number of rows, by default one more than the last number; as `from_row_splits` else.
        """
        with name_scope(name, "RaggedFromValueRowIds", [values, value_rowids]):
            values, ids = convert(values, "values"), partition(value_rowids, "value_rowids")
            if validate:
                steps = assert_non_negative(ids[1:] - ids[:-1], message="value_rowids must be in order")
                with control_dependencies([steps] if steps is not None else []):
                    ids = identity(ids)
            count = row_count(ids) if nrows is None else convert_to_tensor(nrows)
            splits = splits_of_lengths(lengths_of_ids(ids, count))
            return cls._made(values, splits, "from_value_rowids", validate)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Rows of rows from the splits of each level, outermost first."""
        return cls._nested(cls.from_row_splits, flat_values, nested_row_splits, name, validate)

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Rows of rows from the lengths at each level, outermost first."""
        return cls._nested(cls.from_row_lengths, flat_values, nested_row_lengths, name, validate)

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Sequence[Any],
        nested_nrows: Sequence[Any] | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Rows of rows from the numbers of rows at each level, outermost first."""
        counts = list(nested_nrows or [None] * len(nested_value_rowids))
        with name_scope(name, "RaggedFromNestedValueRowIds"):
            made = convert(flat_values)
            for ids, count in zip(reversed(nested_value_rowids), reversed(counts), strict=True):
                made = cls.from_value_rowids(made, ids, count, validate=validate)
            return made

    @staticmethod
    def _nested(
        make: Callable[..., Any], flat_values: Any, levels: Sequence[Any], name: str | None, validate: bool
    ) -> Any:
        if isinstance(levels, Tensor):
            raise misuse(TypeError, "the levels of rows are a list of tensors, not one tensor")
        with name_scope(name, "RaggedFromNested"):
            made = convert(flat_values)
            for level in reversed(levels):
                made = make(made, level, validate=validate)
            return made

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = int64,
    ) -> Any:
        """Rows of a tensor: as long as `lengths` tells, without the `padding` at their ends, or whole.

        Args:
            tensor: A tensor of two axes or more.
            lengths: The length of each row.
            padding: The value at the end of rows that is no part of them.
            ragged_rank: The number of levels of rows.
            name: The name scope.
            row_splits_dtype: The dtype of the splits.

        Raises:
            ValueError: If both `lengths` and `padding` are given, or for another rank.
        """
        if lengths is not None and padding is not None:
            raise misuse(ValueError, "from_tensor: give lengths or padding, not both")
        with name_scope(name, "RaggedFromTensor", [tensor]):
            x, dtype = convert_to_tensor(tensor), as_dtype(row_splits_dtype)
            values, *splits = partition_of_tensor(x, lengths, padding, ragged_rank, dtype)
            made: Any = values
            for each in splits:
                made = cls(made, each, internal=True)
            return made

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = int64
    ) -> RaggedTensor:
        """The rows of a SparseTensor of two axes, each of which begins at its first column without gaps.

        Raises:
            TypeError: If `st_input` is not sparse. ValueError for another rank; InvalidArgumentError in a run
                for gaps.
        """
        if not isinstance(st_input, SparseTensor):
            raise misuse(TypeError, f"from_sparse takes a SparseTensor, not {shown(st_input)}")
        with name_scope(name, "RaggedFromSparse"):
            values, splits = partition_of_sparse(st_input, as_dtype(row_splits_dtype))
            return cls(values, splits, internal=True)

    # Parts

    values: Any = read_only("values")
    row_splits: Tensor = read_only("row_splits")
    dtype: DType = read_only("values.dtype")
    graph: Graph = read_only("row_splits.graph")
    op: Operation = read_only("flat_values.op", "The operation that makes the innermost values.")
    name: str = read_only("flat_values.name")

    @property
    def flat_values(self) -> Tensor:
        """The innermost values: a tensor."""
        flat: Tensor = self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values
        return flat

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The splits of all levels, outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()
        return self._row_splits, *inner

    @property
    def ragged_rank(self) -> int:
        """The number of levels of rows."""
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensor) else 0)

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known: None for each axis that is ragged."""
        splits = self._row_splits.type.shape
        rows = None if splits is None or splits[0] is None else splits[0] - 1
        inner = self._values.shape
        return TensorShape(None) if inner.ndims is None else TensorShape([rows, None, *inner.as_list()[1:]])

    def get_shape(self) -> TensorShape:
        """`shape` under its older name."""
        return self.shape

    def consumers(self) -> list[Operation]:
        """The operations that have the values or the splits as an input."""
        return list(dict.fromkeys([*self._values.consumers(), *self._row_splits.consumers()]))

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """The number of rows, in the dtype of the splits or in `out_type`."""
        with name_scope(name, "RaggedNRows"):
            dtype = self._row_splits.dtype if out_type is None else as_dtype(out_type)
            return ops.size_of(self._row_splits, out_type=dtype) - ops.cast(1, dtype=dtype)

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """The length of each row; with `axis` > 1 those of rows of rows, a ragged tensor."""
        with name_scope(name, "RaggedRowLengths"):
            if axis == 0:
                return self.nrows()
            if axis == 1:
                return lengths_of(self._row_splits)
            if isinstance(self._values, RaggedTensor):
                return self.with_values(self._values.row_lengths(axis - 1))
            sizes = ops.shape_of(self._values, out_type=self._row_splits.dtype)
            return self.with_values(ops.fill(sizes[axis - 1], dims=sizes[: axis - 1]))

    def value_rowids(self, name: str | None = None) -> Tensor:
        """The number of the row of each value."""
        with name_scope(name, "RaggedValueRowIds"):
            return row_ids(self._row_splits, _row_number(self._values))

    def row_starts(self, name: str | None = None) -> Tensor:
        """The place at which each row begins."""
        with name_scope(name, "RaggedRowStarts"):
            return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """The place at which each row ends."""
        with name_scope(name, "RaggedRowLimits"):
            return self._row_splits[1:]

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The lengths of rows at each level, outermost first."""
        with name_scope(name, "RaggedNestedRowLengths"):
            return tuple(map(lengths_of, self.nested_row_splits))

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The numbers of the rows of values at each level, outermost first."""
        with name_scope(name, "RaggedNestedValueRowIds"):
            inner = self._values.nested_value_rowids() if isinstance(self._values, RaggedTensor) else ()
            return self.value_rowids(), *inner

    def bounding_shape(self, axis: Any = None, name: str | None = None, out_type: Any = None) -> Tensor:
        """The sizes of a tensor that all rows fit into; only those of `axis`, if it is given."""
        dtype = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        with name_scope(name, "RaggedBoundingBox"):
            longest = ops.reduce_max(ops.concat([ops.cast([0], dtype=self._row_splits.dtype),
                                                 lengths_of(self._row_splits)], axis=0))  # fmt: skip
            if isinstance(self._values, RaggedTensor):
                inner = self._values.bounding_shape()
            else:
                inner = ops.shape_of(self._values, out_type=self._row_splits.dtype)
            sizes = ops.cast(
                ops.concat([ops.stack([self.nrows(), longest], axis=0), inner[1:]], axis=0), dtype=dtype
            )
            return sizes if axis is None else ops.gather(sizes, axis, axis=0)

    # Other forms

    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other values."""
        return RaggedTensor(convert(new_values), self._row_splits, internal=True)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """The same rows, at all levels, of other innermost values."""
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """The same with splits of another dtype."""
        wanted, inner = as_dtype(dtype), self._values
        if wanted not in (int32, int64):
            raise misuse(ValueError, f"row_splits cannot be {wanted.name}", "they are int32 or int64")
        if isinstance(inner, RaggedTensor):
            inner = inner.with_row_splits_dtype(wanted)
        return RaggedTensor(inner, ops.cast(self._row_splits, dtype=wanted), internal=True)

    def to_tensor(self, default_value: Any = None, name: str | None = None) -> Tensor:
        """The tensor whose rows are filled up to the length of the longest with `default_value` (0)."""
        with name_scope(name, "RaggedToTensor"):
            inner = self._values
            if isinstance(inner, RaggedTensor):
                inner = inner.to_tensor(default_value)
            if default_value is None:
                default_value = "" if self.dtype.kind == "string" else self.dtype.numpy.type(0)
            default = convert_to_tensor(default_value, dtype=self.dtype)
            rows = ops.shape_of(inner)[1:]
            filling = ops.expand_dims(ops.fill(default, dims=rows), axis=0)
            columns = ops.range(0, self.bounding_shape()[1], 1, dtype=self._row_splits.dtype)
            lengths, starts = (ops.expand_dims(x, axis=1) for x in (self.row_lengths(), self.row_starts()))
            end = ops.cast(_row_number(inner), dtype=columns.dtype)  # where the filling is
            places = ops.select(columns < lengths, starts + columns, ops.zeros_like(starts + columns) + end)
            made: Tensor = ops.gather(ops.concat([inner, filling], axis=0), places, axis=0)
            return made

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """The SparseTensor that has all values, of one level of rows."""
        with name_scope(name, "RaggedToSparse"):
            if isinstance(self._values, RaggedTensor) or self._values.type.rank != 1:
                text = f"to_sparse: the shape is {self.shape}"
                raise misuse(ValueError, text, "rows of numbers can be sparse; to_tensor() pads others")
            rows = self.value_rowids()
            places = ops.cast(ops.stack([rows, self._offsets(rows)], axis=1), dtype=int64)
            return SparseTensor(places, self._values, ops.cast(self.bounding_shape(), dtype=int64))

    def _offsets(self, rows: Tensor) -> Tensor:
        """Return the place of each value in its row."""
        numbers = ops.range(0, ops.size_of(rows, out_type=rows.dtype), 1, dtype=rows.dtype)
        return numbers - ops.gather(self._row_splits, rows, axis=0)

    def to_list(self) -> list[Any]:
        """RuntimeError: a run gives the value, whose `to_list` has the rows."""
        raise misuse(RuntimeError, "a graph knows no values", "sess.run(x).to_list() has the rows")

    def eval(self, feed_dict: Any = None, session: Any = None) -> RaggedTensorValue:
        """The value, computed in `session` or in the default session."""
        found: RaggedTensorValue = self.graph.session_for(session).run(self, feed_dict)
        return found

    def fetch_parts(self) -> tuple[list[Any], Any]:
        """For `run`: what is fetched, and what is made of the values."""
        return [self._values, self._row_splits], lambda parts: RaggedTensorValue(*parts)

    def feed_parts(self, value: Any) -> Iterator[tuple[Tensor, Any]]:
        """For `run`: the tensors that are fed, each with its part of `value`."""
        if value is not None and not isinstance(value, RaggedTensorValue):
            hint = "feed ragged.constant_value(rows)"
            raise misuse(TypeError, f"a RaggedTensor cannot be fed {shown(value)}", hint)
        inner = None if value is None else value.values
        if isinstance(self._values, RaggedTensor):
            yield from self._values.feed_parts(inner)
        else:
            yield self._values, inner
        yield self._row_splits, None if value is None else value.row_splits

    # Operations

    @property
    def recorder(self) -> Any:
        """Record operations that are called with this tensor."""
        return Elementwise(self)

    def __getitem__(self, key: Any) -> Any:
        return self.functions["getitem"](self, key)

    def __len__(self) -> int:
        raise misuse(TypeError, "a RaggedTensor has no length while the graph is built", "use x.nrows()")

    def __bool__(self) -> bool:
        raise misuse(TypeError, "a RaggedTensor has no truth value while the graph is built")

    def __iter__(self) -> Iterator[Any]:
        rows = self.shape[0].value
        if rows is None:
            raise misuse(TypeError, "only a RaggedTensor of known length can be iterated")
        return iter([self[at] for at in range(rows)])

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"


def _rank(values: Any) -> int | None:
    rank: int | None = values.shape.ndims
    return rank


def _row_number(values: Any) -> Any:
    """Return the number of rows of values of any kind."""
    return values.nrows() if isinstance(values, RaggedTensor) else ops.shape_of(values, out_type=int64)[0]


COMPOSITES.append(RaggedTensor)
