"""The operations of lookup tables. A table belongs to the graph, its entries to a session."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, int64, string
from staticgraph.compiler.graph.errors import FailedPreconditionError, InvalidArgumentError
from staticgraph.compiler.graph.shapes import Shape, TensorType
from staticgraph.compiler.ops.kinds import host
from staticgraph.compiler.support.forks import brief
from staticgraph.runtime.state.resources import Resources, resources


class Table(Protocol):
    """A table, as far as its operations look at it."""

    name: str
    key_dtype: DType
    value_dtype: DType
    value_shape: Shape
    begins_empty: bool  # otherwise it must be initialised
    reserved: Mapping[str, np.ndarray]  # the keys that cannot be used, and what they are called


class _Entries:
    """The entries of a table in one session."""

    def __init__(self, empty: bool) -> None:
        self.lock = brief(threading.RLock())
        self.values: dict[Any, Any] | None = {} if empty else None

    def known(self) -> dict[Any, Any]:
        """The values by key. FailedPreconditionError before they are there."""
        if self.values is None:
            raise FailedPreconditionError("Table not initialized.", hint="run tables_initializer() first")
        return self.values

    def shut(self) -> None:
        self.values = None


def _entries(table: Table, held: Resources | None = None) -> _Entries:
    return (held or resources()).of(table, lambda: _Entries(table.begins_empty))


def _listed(keys: np.ndarray, table: Table) -> list[Any]:
    """Keys that may be in a table. InvalidArgumentError for others."""
    for name, reserved in table.reserved.items():
        if (keys == reserved).any():
            raise InvalidArgumentError(f"Using the {name} as a table key is not allowed")
    found: list[Any] = keys.ravel().tolist()
    return found


def _rows(array: np.ndarray, keys: np.ndarray) -> Iterable[Any]:
    """The value of each key: a row of what is left of the array behind the axes of the keys."""
    return array.reshape((keys.size, *array.shape[keys.ndim :]))


@host(tf="HashTableV2", type=lambda table: TensorType(string, ()), stateful=True)
def table_handle(*, table: Table) -> Any:
    """Stands for a table in the graph."""
    return table.name


@host(tf="LookupTableImportV2", type=lambda k, v, table: (), stateful=True, vars={"keys": "K", "values": "V"})
def table_import(keys: Any, values: Any, *, table: Table) -> Any:
    """Gives a table its entries, once and for all. Equal keys must have equal values."""
    made: dict[Any, Any] = {}
    for key, value in zip(keys.ravel().tolist(), _rows(values, keys), strict=True):
        if key in made and made[key] != value:
            text = f"the table has different values for one key: {key!r} has {made[key]} and {value}"
            raise FailedPreconditionError(text)
        made[key] = value
    _entries(table).values = made
    return ()


def _found_type(keys: TensorType, default: TensorType, table: Table) -> TensorType:
    return TensorType(table.value_dtype, None if keys.shape is None else (*keys.shape, *table.value_shape))


@host(tf="LookupTableFindV2", type=_found_type, stateful=True, vars={"keys": "K", "default_value": "V"})
def table_find(keys: Any, default_value: Any, *, table: Table) -> Any:
    """The values of keys in a table, and the default for those that it has not."""
    entries = _entries(table).known()
    shape = default_value.shape
    out = np.empty((keys.size, *shape), default_value.dtype)
    default = default_value[()]
    for i, key in enumerate(_listed(keys, table)):
        out[i] = entries.get(key, default)
    return out.reshape((*keys.shape, *shape))


@host(tf="LookupTableSizeV2", type=lambda table: TensorType(int64, ()), stateful=True)
def table_size(*, table: Table) -> Any:
    """Return the number of entries of a table."""
    return np.asarray(len(_entries(table).known()), np.int64)


@host(
    tf="LookupTableExportV2",
    stateful=True,
    type=lambda table: (
        TensorType(table.key_dtype, (None,)),
        TensorType(table.value_dtype, (None, *table.value_shape)),
    ),
)
def table_export(*, table: Table) -> Any:
    """The keys and values of a table."""
    return listed_entries(table, resources())


def listed_entries(table: Table, held: Resources) -> tuple[np.ndarray, np.ndarray]:
    """The keys and values of a table in the session whose resources these are."""
    entries = _entries(table, held).known()
    shape: tuple[Any, ...] = (len(entries), *table.value_shape)
    values = np.empty(shape, table.value_dtype.numpy)
    for i, value in enumerate(entries.values()):
        values[i] = value
    keys: np.ndarray = table.key_dtype.round(list(entries))
    return keys, values


def replace_entries(table: Table, keys: np.ndarray, values: np.ndarray, held: Resources) -> None:
    """Give a table these entries and no others, in the session whose resources these are."""
    _entries(table, held).values = dict(zip(keys.tolist(), values, strict=True))


@host(tf="LookupTableInsertV2", type=lambda k, v, table: (), stateful=True, vars={"keys": "K", "values": "V"})
def table_insert(keys: Any, values: Any, *, table: Table) -> Any:
    """Adds entries to a table, or changes their values."""
    entries = _entries(table)
    with entries.lock:
        rows = _rows(values.copy(), keys)
        entries.values = entries.known() | dict(zip(_listed(keys, table), rows, strict=True))
    return ()


@host(tf="LookupTableRemoveV2", type=lambda keys, table: (), stateful=True)
def table_remove(keys: Any, *, table: Table) -> Any:
    """Takes entries away from a table."""
    entries, gone = _entries(table), set(_listed(keys, table))
    with entries.lock:
        entries.values = {key: value for key, value in entries.known().items() if key not in gone}
    return ()
