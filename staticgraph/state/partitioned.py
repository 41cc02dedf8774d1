"""`PartitionedVariable`: variables that are slices of a larger one, made by `get_variable(partitioner=)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from staticgraph.arrays.array_ops import concat, split
from staticgraph.building.framework import control_dependencies, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, as_dtype
from staticgraph.compiler.graph.errors import DuplicateNameError, ShapeError, misuse, shown
from staticgraph.compiler.graph.shapes import TensorShape, as_shape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.state.store import AUTO_REUSE, find_or_make
from staticgraph.state.variables import SaveSliceInfo, Variable


class PartitionedVariable:
    """Variables that together are one larger variable, cut along one axis.

    Iterating gives the variables in order. Where an operation takes a tensor, it stands for their
    concatenation. A `Saver` saves it under its own name, whole, so that any other partition restores it.

    Args:
        name: The name of the larger variable; its parts are `name/part_0` and so on.
        shape: Its static shape.
        dtype: Its dtype.
        variable_list: The variables, each with a `SaveSliceInfo`.
        partitions: The number of parts along each axis.

    >>> import staticgraph as sg
    >>> table = sg.get_variable("table", [10, 3], partitioner=sg.fixed_size_partitioner(4))
    >>> len(table), [part.shape.as_list() for part in table]
    (4, [[3, 3], [3, 3], [2, 3], [2, 3]])
    >>> sg.matmul(table, sg.ones([3, 1])).shape.as_list()
    [10, 1]
    """

    def __init__(
        self,
        name: str,
        shape: TensorShape,
        dtype: DType,
        variable_list: Sequence[Variable],
        partitions: Sequence[int],
    ) -> None:
        self._name, self._shape, self._dtype, self._partitions = name, shape, dtype, list(partitions)
        self._variable_list = list(variable_list)

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._variable_list)

    def __len__(self) -> int:
        return len(self._variable_list)

    @property
    def name(self) -> str:
        """The name, without a number of an output."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype of all parts."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Return the static shape of the whole."""
        return self._shape

    def _get_variable_list(self) -> list[Variable]:
        return self._variable_list

    def _get_partitions(self) -> list[int]:
        return self._partitions

    @property
    def _axis(self) -> int:
        return next((axis for axis, count in enumerate(self._partitions) if count > 1), 0)

    def to_tensor(self) -> Tensor:
        """Return the tensor that operations take in place of this variable: a read that is made here."""
        return self.as_tensor()

    def as_tensor(self) -> Tensor:
        """Return the whole value as a tensor, outside of control dependencies."""
        with control_dependencies(None):
            return self._concat()

    def _concat(self) -> Tensor:
        """Return the whole value as a tensor, after the present control dependencies."""
        whole: Any = self._variable_list[0]
        if len(self) > 1:
            with name_scope(f"{self._name}/ConcatPartitions/"):
                whole = concat(self._variable_list, self._axis)
        with name_scope(None):
            return ops.identity(whole, name=self._name)

    # Changing it

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Assign to all parts.

        Args:
            value: A value of the whole shape, a list with one for each part, or a partitioned variable.
            use_locking: Changes nothing.
            name: The name of the operations.
            read_value: False for operations instead of the new values.

        Returns:
            A list with the new value of each part.
        """
        return self._changed("assign", value, name, read_value)

    def assign_add(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Add to all parts; see `assign`."""
        return self._changed("assign_add", value, name, read_value)

    def assign_sub(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Subtract from all parts; see `assign`."""
        return self._changed("assign_sub", value, name, read_value)

    def _changed(self, method: str, value: Any, name: str | None, read_value: bool) -> list[Any]:
        if isinstance(value, list | PartitionedVariable):
            values = list(value)
        else:
            sizes = [part.shape.as_list()[self._axis] for part in self]
            values = split(value, sizes, axis=self._axis)
        return [
            getattr(part, method)(given, name=name, read_value=read_value)
            for part, given in zip(self, values, strict=True)
        ]

    def __repr__(self) -> str:
        return f"<sg.PartitionedVariable {self._name!r} shape={self._shape} partitions={self._partitions}>"


class PartitionInfo(NamedTuple):
    """The place of a part in its variable, as an initializer is told it."""

    full_shape: list[int]
    var_offset: list[int]


def find_or_make_parts(
    known: dict[str, Variable],
    partitioned: dict[str, PartitionedVariable],
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    reuse: Any = None,
    partitioner: Callable[..., Any] | None = None,
    **options: Any,
) -> PartitionedVariable:
    """Return the partitioned variable of that full name, or make it, as `reuse` allows.

    Args:
        known: The variables that `get_variable` has made, by their names.
        partitioned: The partitioned variables that it has made.
        name, shape, dtype, initializer, reuse, options: See `find_or_make`.
        partitioner: A function of shape and dtype that gives the number of parts along each axis. None finds
            a variable that exists.

    Raises:
        ValueError: The variable exists in another way, or the partitioner gives something else.
    """
    if name in known:
        text = f"variable {name} exists, and is not partitioned"
        raise misuse(ValueError, text, made=[("it", known[name].where)])
    wanted = TensorShape(as_shape(shape))
    value = initializer if initializer is None or callable(initializer) else convert_to_tensor(initializer)
    if isinstance(value, Tensor):
        wanted, dtype = wanted.merge_with(value.shape), value.dtype
    dtype = as_dtype(dtype)
    partitions = None if partitioner is None else _partitions(name, partitioner, wanted, dtype)
    if (found := partitioned.get(name)) is not None:
        _check_reuse(found, wanted, dtype, partitions, reuse)
        return found
    if reuse is True or partitions is None:
        text = f"there is no partitioned variable {name} to reuse that get_variable made"
        raise misuse(ValueError, text, "reuse=sg.AUTO_REUSE makes it where it does not exist")
    axis = next((axis for axis, count in enumerate(partitions) if count > 1), 0)
    full = [size for size in wanted.as_list() if size is not None]
    parts = []
    for at, (offset, sizes) in enumerate(_slices(full, axis, partitions[axis])):
        part_name, sliced = f"{name}/part_{at}", value
        if isinstance(value, Tensor):
            with name_scope(f"{part_name}/PartitionedInitializer/"):
                sliced = ops.slice(value, tuple(offset), tuple(sizes))
        part = find_or_make(
            known,
            part_name,
            None if isinstance(value, Tensor) else sizes,
            dtype,
            sliced,
            reuse=reuse,
            partition_info=PartitionInfo(full, offset),
            **options,
        )
        part._set_save_slice_info(SaveSliceInfo(name, full, offset, sizes))
        parts.append(part)
    partitioned[name] = PartitionedVariable(name, wanted, dtype, parts, partitions)
    return partitioned[name]


def _check_reuse(
    found: PartitionedVariable, shape: TensorShape, dtype: DType, partitions: Any, reuse: Any
) -> None:
    """Raise an error if a variable may not be shared, or is not as it is asked for."""
    if reuse is not True and reuse is not AUTO_REUSE:
        hint = "to share it, open its variable_scope with reuse=True or reuse=sg.AUTO_REUSE"
        raise misuse(DuplicateNameError, f"there already is a partitioned variable {found.name}", hint)
    told = (f"shape {shape}" if not shape.is_compatible_with(found.shape) else "") or (
        f"dtype {dtype}" if dtype is not found.dtype else ""
    )
    if told or partitions not in (None, found._get_partitions()):
        told = told or f"partitions {partitions}"
        raise misuse(ValueError, f"{found!r} of dtype {found.dtype} is there, and {told} is asked for")


def _slices(sizes: Sequence[int], axis: int, count: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield offset and sizes of each of `count` slices along `axis`; the first ones may be longer by one."""
    shortest, longer = divmod(sizes[axis], count)
    offset = [0] * len(sizes)
    for at in range(count):
        part = list(sizes)
        part[axis] = shortest + (at < longer)
        yield list(offset), part
        offset[axis] += part[axis]


def _partitions(name: str, partitioner: Any, shape: TensorShape, dtype: DType) -> list[int]:
    """Return the number of parts along each axis that a partitioner asks for."""
    if not callable(partitioner):
        raise misuse(ValueError, f"variable {name}: partitioner={shown(partitioner)} is not a function")
    if not shape.is_fully_defined() or not shape.ndims:
        text = f"variable {name} is partitioned, and has shape {shape}: it needs a known shape, with an axis"
        raise misuse(ShapeError, text)
    told = partitioner(shape=shape, dtype=dtype)
    if not isinstance(told, Sequence) or len(told) != shape.ndims or any(count < 1 for count in told):
        text = f"variable {name}: the partitioner gave {shown(told)} for shape {shape}"
        raise misuse(ValueError, text, "it gives a list with a positive number of parts for each axis")
    cut = [axis for axis, count in enumerate(told) if count > 1]
    if len(cut) > 1:
        text = f"variable {name} of shape {shape} is cut by {list(told)}, along more than one axis"
        raise misuse(ValueError, text)
    sizes = shape.as_list()
    if any(told[axis] > (sizes[axis] or 0) for axis in cut):
        text = f"variable {name}: the partitioner gave {list(told)} parts, and the shape is {shape}"
        raise misuse(ValueError, text, "no part may be empty")
    return [int(count) for count in told]
