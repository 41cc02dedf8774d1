"""Rows that are stored and needed again, such as the sum that a norm is made of and a later layer adds to.

    y[row, c] = x[row, c] + z[row, c]                  y[row, c] = mine[c] = x[row, c] + z[row, c]
    acc0 += y[row, c]                           ->     acc0 += mine[c]
    out[row, c] = y[row, c] - acc0 / n                 out[row, c] = mine[c] - acc0 / n

A local buffer is in registers: what a thread has stored there, it need not load from memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

from staticgraph.compiler.kernel.expr import Expr, Load, substitute
from staticgraph.compiler.kernel.schedule_gpu.rows.group import stmts_of
from staticgraph.compiler.kernel.schedule_gpu.rows.program import RowProgram, Sweep
from staticgraph.compiler.kernel.schedule_gpu.strides import accessed
from staticgraph.compiler.kernel.stmt import Buffer, Stmt, Store, rewrite

_LARGEST = 4  # bytes of a number: twice as many registers are better used otherwise


def remembered(program: RowProgram) -> RowProgram:
    """`program` with local buffers for what one of its sweeps stores and others read."""
    local: dict[Load, Load] = {}
    buffers: dict[str, Buffer] = {}
    names = (f"mine{n}" for n in itertools.count())
    for name, buffer in program.buffers.items():
        first = _read_again(program, name)
        if first is not None:
            sweep, store = first
            mine = next(n for n in names if n not in program.buffers)
            buffers[mine] = Buffer(buffer.dtype, (sweep.columns,), written=True, local=True)
            stored = Load(name, store.at, store.value.dtype)
            local[stored] = Load(mine, (sweep.column,), store.value.dtype)
    if not local:
        return program
    items = tuple(_changed(i, local) if isinstance(i, Sweep) else i for i in program.items)
    return replace(program, items=items, buffers={**program.buffers, **buffers})


def _read_again(program: RowProgram, name: str) -> tuple[Sweep, Store] | None:
    """The sweep that stores a buffer, and its store, if other sweeps read it then, at the same columns."""
    buffer = program.buffers[name]
    if buffer.local or buffer.dtype.size > _LARGEST:
        return None
    found = [(item, a) for item in program.items for a in accessed(stmts_of(item)) if a.buffer == name]
    if len(found) < 2:
        return None
    (item, store), *others = found
    if not isinstance(item, Sweep) or not isinstance(store, Store) or store not in item.body:
        return None
    for other, access in others:
        apart = isinstance(other, Sweep) and other is not item and other.columns == item.columns
        if not apart or not isinstance(access, Load) or access.at != store.at:
            return None
    return item, store


def _changed(sweep: Sweep, local: Mapping[Load, Load]) -> Sweep:
    """`sweep` with local buffers instead of what it reads, and beside what it stores."""
    body: list[Stmt] = []
    table: dict[Expr, Expr] = dict(local.items())
    for stmt in rewrite(sweep.body, lambda e: substitute(e, table)):
        body.append(stmt)
        if isinstance(stmt, Store):
            mine = local.get(Load(stmt.buffer, stmt.at, stmt.value.dtype))
            if mine is not None:
                body.append(Store(mine.buffer, mine.at, stmt.value))
    return replace(sweep, body=tuple(body))
