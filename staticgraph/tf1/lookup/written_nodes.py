"""Lookup tables as TensorFlow's nodes: how they are written.

A table that begins empty is not written as such: what it holds is no part of a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.formats.tf.graph_def.export import EXCEPTIONS, Writer

__all__: list[str] = []

# Of each operation, the type of its node, and the attributes of that with the dtypes of keys and of values.
_TYPES = {
    "table_handle": ("HashTableV2", "key_dtype", "value_dtype"),
    "table_import": ("LookupTableImportV2", "Tin", "Tout"),
    "table_find": ("LookupTableFindV2", "Tin", "Tout"),
    "table_size": ("LookupTableSizeV2", "", ""),
    "table_export": ("LookupTableExportV2", "Tkeys", "Tvalues"),
}


def _handle(op: Operation) -> Tensor | None:
    """Return the handle of the table that `op` uses, if the graph has one."""
    table = op.attrs["table"]
    handles = (
        each for each in op.graph.get_operations() if each.definition.name == "table_handle"
    )  # a graph has few tables, and they are made early
    return next((each.outputs[0] for each in handles if each.attrs["table"] is table), None)


def _table_node(writer: Writer, op: Operation) -> bool:
    table, handle = op.attrs["table"], _handle(op)
    if table.begins_empty or handle is None:
        return False
    type, of_keys, of_values = _TYPES[op.definition.name]
    attrs: Mapping[str, Any] = {of_keys: table.key_dtype, of_values: table.value_dtype}
    if handle.op is op:
        writer.node(type, op.name, [], {**attrs, "shared_name": op.name}, op)
        return True
    tensors = list(op.tensors)
    if op.definition.name == "table_import" and (source := _lines_of_file(op)) is not None:
        type, attrs, tensors = "InitializeTableFromTextFileV2", _columns(source), list(source.tensors)
    writer.node(type, op.name, [writer.port(each, op) for each in (handle, *tensors)], attrs, op)
    return True


def _lines_of_file(op: Operation) -> Operation | None:
    """Return the operation that reads the entries of a table from a file, if they are from one."""
    source = op.tensors[0].op
    return source if source.definition.name == "entries_of_file" else None


def _columns(source: Operation) -> dict[str, Any]:
    (key_index, _), (value_index, _) = source.attrs["columns"]
    return {
        "key_index": key_index,
        "value_index": value_index,
        "vocab_size": source.attrs["size"] or -1,
        "delimiter": source.attrs["delimiter"].decode(),
    }


def _entries_of_file(writer: Writer, op: Operation) -> bool:
    """Write nothing: the node that initializes the table reads the file."""
    return True


_WRITTEN: dict[str, Callable[[Writer, Operation], bool]] = dict.fromkeys(_TYPES, _table_node)
EXCEPTIONS.update({**_WRITTEN, "entries_of_file": _entries_of_file})
