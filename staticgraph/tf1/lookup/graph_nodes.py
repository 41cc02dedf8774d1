"""Nodes of lookup tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.shapes import Shape
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.graph_def.nodes import GraphDefError, Node, reads
from staticgraph.tf1.lookup import operations
from staticgraph.tf1.lookup.sources import entries_of_file

__all__: list[str] = []


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class _Table:
    """A table whose entries a node gives it."""

    name: str
    key_dtype: DType
    value_dtype: DType
    value_shape: Shape = ()
    begins_empty: bool = False
    reserved: Mapping[str, np.ndarray] = field(default_factory=dict)


@reads("HashTable", "HashTableV2")
def _table(node: Node) -> Any:
    table = _Table(node.name, node.attrs["key_dtype"], node.attrs["value_dtype"])
    operations.table_handle(table=table, name=node.out)
    return (table,)


def _given(node: Node) -> tuple[_Table, list[Any]]:
    table, *given = node.inputs
    if not isinstance(table, _Table):
        raise GraphDefError("its first input is no table")
    return table, given


@reads("InitializeTable", "InitializeTableV2", "LookupTableImport", "LookupTableImportV2")
def _initialize(node: Node) -> Operation:
    table, [keys, values] = _given(node)
    made: Operation = operations.table_import(keys, values, table=table, name=node.out)
    return made


@reads("InitializeTableFromTextFile", "InitializeTableFromTextFileV2")
def _initialize_from_file(node: Node) -> Operation:
    table, [filename] = _given(node)
    told = node.attrs
    columns = (told["key_index"], table.key_dtype), (told["value_index"], table.value_dtype)
    size = told["vocab_size"] if told["vocab_size"] > 0 else None
    keys, values = entries_of_file(filename, columns=columns, size=size, delimiter=told["delimiter"].encode())
    made: Operation = operations.table_import(keys, values, table=table, name=node.out)
    return made


@reads("LookupTableFind", "LookupTableFindV2")
def _find(node: Node) -> Any:
    table, [keys, default] = _given(node)
    return operations.table_find(keys, default, table=table, name=node.out)


@reads("LookupTableSize", "LookupTableSizeV2")
def _size(node: Node) -> Any:
    table, _ = _given(node)
    return operations.table_size(table=table, name=node.out)


@reads("LookupTableExportV2")
def _export(node: Node) -> Any:
    table, _ = _given(node)
    return operations.table_export(table=table, name=node.out)
