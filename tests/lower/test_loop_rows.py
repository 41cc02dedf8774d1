"""Which rows a loop reads and writes in their places."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.lower.loop_rows import LoopRow, by_row
from staticgraph.runtime.cpu.executable import evaluate
from tests.graph.inner import looped

WIDE = 16  # floats: a row is a cache line
ROWS = 5


def reading(
    read: Callable[[Value, Value], Value], width: int = WIDE, start: int = 0
) -> tuple[Function, Node]:
    """A sum of what a loop reads of a table in its rounds."""
    build = Builder()
    table = build.parameter("table", "float32", (ROWS, width))
    zeros = build.constant(np.zeros(width), "float32")
    node = looped(
        build,
        lambda i, s, t: i < start + 4,
        lambda i, s, t: [i + 1, s * 2.0 + read(t, i)],
        [build.constant(start, "int32"), zeros],
        [table],
    )
    return Function((table,), (node.outputs[1],)), node


def names(function: Function) -> list[str]:
    return [n.op.name for n in function.nodes]


READS: dict[str, tuple[Callable[[Value, Value], Value], list[LoopRow]]] = {
    "a row": (lambda t, i: ops.gather(t, i), [LoopRow(0, 0, 0)]),
    "the row before": (lambda t, i: ops.gather(t, i - 1), [LoopRow(0, 0, -1)]),
    "two rows": (lambda t, i: ops.gather(t, i) + ops.gather(t, i + 1), [LoopRow(0, 0, 0), LoopRow(0, 0, 1)]),
    "counted from the end": (lambda t, i: ops.gather(t, 3 - i), []),
    "every other row": (lambda t, i: ops.gather(t, i * 2), []),
    "a row and all": (lambda t, i: ops.gather(t, i) + ops.reduce_sum(t, axis=0), []),
    "a column": (lambda t, i: ops.gather(t, i, axis=1)[0] + 0.0 * t[0], []),
}


@pytest.mark.parametrize("read", READS)
def test_rows_that_are_read(read: str):
    body, rows = READS[read]
    function, node = reading(body)
    made = by_row(node)
    assert sorted(made.reads, key=lambda r: r.offset) == rows
    assert made.captured == (() if rows else (0,))
    assert ("gather" in names(made.body)) is (not rows)
    table = np.arange(ROWS * WIDE, dtype=np.float32).reshape(ROWS, WIDE)
    (wanted,) = interpret(function, {function.params[0]: table})
    np.testing.assert_array_equal(evaluate(function, [table]), [wanted])


def test_narrow_rows_are_copied_since_kernels_write_whole_lines():
    _, node = reading(lambda t, i: ops.gather(t, i), width=3)
    assert by_row(node).reads == ()


@pytest.mark.parametrize("start", [-2, 3])
def test_rows_that_do_not_exist_are_zeros(start: int):
    """So is what `gather` gives."""
    function, node = reading(lambda t, i: ops.gather(t, i), start=start)
    assert by_row(node).reads == (LoopRow(0, 0, 0),)
    table = np.ones((ROWS, WIDE), np.float32)
    (wanted,) = interpret(function, {function.params[0]: table})
    np.testing.assert_array_equal(evaluate(function, [table]), [wanted])


def writing(body: Callable[..., list[Value]], width: int = WIDE, start: int = 0) -> tuple[Function, Node]:
    build = Builder()
    x, array = build.parameter("x", "float32", (width,)), build.parameter("array", "float32", (ROWS, width))
    node = looped(
        build,
        lambda i, a, s: i < start + 4,
        lambda i, a, s: [i + 1, *body(i, a, s)],
        [build.constant(start, "int32"), x, array],
    )
    return Function((x, array), tuple(node.outputs[1:])), node


WRITES: dict[str, tuple[Callable[..., list[Value]], tuple[LoopRow, ...]]] = {
    "a row": (lambda i, a, s: [a + 1.0, ops.row_update(s, i, a)], (LoopRow(2, 0, 0),)),
    "the next row": (lambda i, a, s: [a + 1.0, ops.row_update(s, i + 1, a * 2.0)], (LoopRow(2, 0, 1),)),
    "added": (lambda i, a, s: [a + 1.0, ops.row_add(s, i, a)], ()),
    "read too": (lambda i, a, s: [a + ops.gather(s, i), ops.row_update(s, i, a)], ()),
    "changed as a whole": (lambda i, a, s: [a + 1.0, ops.row_update(s * 2.0, i, a)], ()),
    "two rows": (lambda i, a, s: [a, ops.row_update(ops.row_update(s, i, a), i + 1, a)], ()),
}


@pytest.mark.parametrize("body", WRITES)
def test_rows_that_are_written(body: str):
    change, rows = WRITES[body]
    function, node = writing(change)
    made = by_row(node)
    assert made.writes == rows
    assert made.carried == ((0, 1) if rows else (0, 1, 2))
    arrays = [np.arange(WIDE, dtype=np.float32), np.full((ROWS, WIDE), 7, np.float32)]
    wanted = interpret(function, dict(zip(function.params, arrays, strict=True)))
    for found, value in zip(evaluate(function, arrays), wanted, strict=True):
        np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize("start", [-2, 3])
def test_rows_that_do_not_exist_are_not_written(start: int):
    function, node = writing(lambda i, a, s: [a + 1.0, ops.row_update(s, i, a)], start=start)
    assert by_row(node).writes == (LoopRow(2, 0, 0),)
    arrays = [np.arange(WIDE, dtype=np.float32), np.full((ROWS, WIDE), 7, np.float32)]
    wanted = interpret(function, dict(zip(function.params, arrays, strict=True)))
    for found, value in zip(evaluate(function, arrays), wanted, strict=True):
        np.testing.assert_array_equal(found, value)
