"""Sums of groups of neighbouring columns, by way of the sums of columns, and the order of loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.llvm.kernel import emit_phases
from staticgraph.compiler.graph.dtypes import float32, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Index, Load, Local
from staticgraph.compiler.kernel.loops.nests import flatten, interchange
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.schedule_cpu.column_groups import by_column_groups
from staticgraph.compiler.kernel.schedule_cpu.schedule import chunked, schedule
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    Kernel,
    Let,
    Loop,
    LoopKind,
    Span,
    Stmt,
    Store,
    Update,
)
from staticgraph.compiler.support.dataclass import replace
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import each_width, launch

GROUPS, ROWS, WIDTH = 6, 50, 4
g, k, c = Index("g", GROUPS), Index("k", ROWS), Index("c", WIDTH)
total, squares = Local("total", float32), Local("squares", float32)
element = Load("x", (k, g, c), float32)
ZERO = Const(0.0, float32)


def summed(into: Local, value, combine: str = "add") -> Loop:
    return Loop(k, (Loop(c, (Update(into, scalar.read(combine, into, value), combine),)),))


def moments(far_from=None, element=element) -> Kernel:
    """Sums of groups, and sums of squares of what is left without them."""
    mean, weight = Local("mean", float32), Load("w", (c,), float32)
    away = element - (mean if far_from is None else far_from)
    body = (
        Let(total, ZERO),
        summed(total, element * weight),
        Store("y", (g,), total),
        Let(mean, Load("y", (g,), float32) * (1 / (ROWS * WIDTH))),
        Let(squares, ZERO),
        summed(squares, away * away),
        Store("z", (g,), squares + mean),
    )
    buffers = {
        "x": Buffer(float32, (ROWS, GROUPS, WIDTH)),
        "w": Buffer(float32, (WIDTH,)),
        "y": Buffer(float32, (GROUPS,), written=True),
        "z": Buffer(float32, (GROUPS,), written=True),
    }
    return Kernel("moments", buffers, (Loop(g, body),))


def continued() -> Kernel:
    """Sums that go on from what is in memory."""
    body = (Let(total, Load("s", (g,), float32)), summed(total, element), Store("y", (g,), total))
    x, y = Buffer(float32, (ROWS, GROUPS, WIDTH)), Buffer(float32, (GROUPS,), written=True)
    return Kernel("continued", {"x": x, "s": replace(y, written=False), "y": y}, (Loop(g, body),))


def kernel_of(*body: Stmt) -> Kernel:
    buffers = {
        "x": Buffer(float32, (ROWS, GROUPS, WIDTH)),
        "n": Buffer(int64, (GROUPS,)),
        "w": Buffer(float32, (WIDTH,)),
        "y": Buffer(float32, (GROUPS,), written=True),
    }
    return Kernel("sums", buffers, (Loop(g, body),))


def changing() -> Kernel:
    """A value that the second sum needs changes after the first one."""
    scale = Local("scale", float32)
    return kernel_of(
        Let(scale, Load("w", (g - g,), float32)),
        Let(total, ZERO),
        summed(total, element * scale),
        Update(scale, scale + total),
        Let(squares, ZERO),
        summed(squares, element * scale),
        Store("y", (g,), squares),
    )


def stored_before() -> Kernel:
    """What a sum begins with is stored before it is summed up."""
    return kernel_of(
        Let(total, ZERO), Store("y", (g,), total), summed(total, element), Store("y", (g,), total)
    )


def read_before() -> Kernel:
    """What a sum begins with is a factor of the sum before."""
    sums = Let(total, ZERO), Let(squares, ZERO), summed(total, element * squares), summed(squares, element)
    return kernel_of(*sums, Store("y", (g,), total + squares))


def placed_by_a_local() -> Kernel:
    """A factor is at a place that each group tells."""
    place = Local("place", int64)
    factor = Load("w", (scalar.minimum(scalar.maximum(place, 0), WIDTH - 1),), float32)
    start = Let(place, Load("n", (g,), int64)), Let(total, ZERO)
    return kernel_of(*start, summed(total, element * factor), Store("y", (g,), total))


def of_kind(**options: Any) -> Kernel:
    """The rows are no plain loop."""
    rows = replace(summed(total, element), **options)
    return kernel_of(Let(total, ZERO), rows, Store("y", (g,), total))


def test_columns_are_summed_first():
    text = kernel_text(by_column_groups(flatten(moments()), 64))
    assert text.count("simd") == 2 and "columns4" in text and "columns5" in text
    for line in ("for c_all in 0..24 simd:", "total_column += x[k * 24 + c_all] * c_2", "for g in 0..6:"):
        assert line in text, text


@each_width
@pytest.mark.parametrize("far_from", [None, total * (1 / (ROWS * WIDTH))])
def test_sums_are_right_at_each_width(far_from, vector_bytes, rng):
    target = replace(cpu_jit.host(), vector_bytes=vector_bytes)
    x, w = rng.normal(size=(ROWS, GROUPS, WIDTH)).astype("f4"), rng.normal(size=WIDTH).astype("f4")
    y, z = np.zeros((2, GROUPS), "f4")
    split = chunked(schedule(moments(far_from), vector_bytes), vector_bytes)
    code = emit_phases(split.phases, target, calls=split.calls)
    launch(code, [each.ctypes.data for each in (x, w, y, z)])
    first = (x.astype(float) * w).sum((0, 2))
    mean = first / (ROWS * WIDTH)
    np.testing.assert_allclose(y, first, 1e-4, 1e-4)
    np.testing.assert_allclose(z, ((x - mean[:, None]) ** 2).sum((0, 2)) + mean, 1e-4)


@pytest.mark.parametrize(
    "kernel",
    [
        moments(element=Load("x", (k, c, g), float32)),  # columns of other groups in between
        moments(Load("y", (scalar.cast(Load("w", (c,), float32), k.dtype),), float32)),  # places of the data
        moments(element=element * Load("x", (k, g - g, c - c), float32)),  # a weight of each row
        continued(),
        changing(),
        stored_before(),
        read_before(),
        placed_by_a_local(),
        of_kind(kind=LoopKind.SIMD),
        of_kind(share=Span(Const(0, int64), Const(ROWS, int64))),
    ],
)
def test_others_stay(kernel):
    flat = flatten(kernel)
    assert by_column_groups(flat, 64) is flat


@pytest.mark.parametrize(
    ("rows", "width", "used"), [(15, 4, False), (16, 4, True), (50, 33, False), (50, 32, True)]
)
def test_columns_of_few_rows_or_wide_groups_have_no_memory_of_their_own(rows, width, used):
    """A group of more than two vectors is a row that is read in order."""
    row, column = Index("k", rows), Index("c", width)
    x = Load("x", (row, g, column), float32)
    inner = Loop(row, (Loop(column, (Update(total, total + x, "add"),)),))
    body = Let(total, ZERO), inner, Store("y", (g,), total)
    buffers = {
        "x": Buffer(float32, (rows, GROUPS, width)), "y": Buffer(float32, (GROUPS,), written=True),
    }  # fmt: skip
    flat = flatten(Kernel("sums", buffers, (Loop(g, body),)))
    assert (by_column_groups(flat, 64) is not flat) is used


@pytest.mark.parametrize("inside", [False, True])
def test_sums_of_columns_inside_of_a_loop_belong_to_one_thread(inside):
    """Threads share the iterations of the loop around: each needs memory of its own."""
    image = Index("image", 8)
    at = (image, k, g, c) if inside else (k, g, c)
    target = (image, g) if inside else (g,)
    body = (Let(total, ZERO), summed(total, Load("x", at, float32)), Store("y", target, total))
    buffers = {
        "x": Buffer(float32, tuple(i.extent for i in at)),
        "y": Buffer(float32, tuple(i.extent for i in target), written=True),
    }
    groups = Loop(g, body)
    made = by_column_groups(
        flatten(Kernel("sums", buffers, (Loop(image, (groups,)) if inside else groups,))), 64
    )
    (columns,) = made.buffers.keys() - buffers.keys()
    assert (made.buffers[columns].local, made.buffers[columns].shared) == (inside, not inside)


def test_loops_around_one_along_memory_keep_their_order():
    """One that changes fewer places is not better inside: it would walk through memory in strides."""
    row, group, column = Index("row", 9), Index("group", 5), Index("column", 4)
    at = (row, group, column)
    value = Load("x", at, float32) * Local("scale", float32)
    inner = (
        Let(Local("scale", float32), Load("s", (group,), float32)),
        Loop(column, (Store("y", at, value),)),
    )
    shape = (9, 5, 4)
    buffers = {
        "x": Buffer(float32, shape), "s": Buffer(float32, (5,)), "y": Buffer(float32, shape, written=True),
    }  # fmt: skip
    flat = flatten(Kernel("scaled", buffers, (Loop(row, (Loop(group, inner),)),)))
    (outer,) = interchange(flat.body, flat.buffers)
    assert isinstance(outer, Loop) and outer.index is row


def test_a_value_is_not_loaded_again_after_a_store(rng):
    """It may be from memory that the store is to."""
    old, new = Local("old", float32), Local("new", float32)
    body = (
        Let(old, Load("y", (g,), float32)),
        Let(total, ZERO),
        Let(squares, ZERO),
        summed(total, element),
        Let(new, total + old),
        Store("y", (g,), new),
        summed(squares, element * old + new),
        Store("z", (g,), squares + old),
    )
    buffers = {
        "x": Buffer(float32, (ROWS, GROUPS, WIDTH)),
        "y": Buffer(float32, (GROUPS,), written=True),
        "z": Buffer(float32, (GROUPS,), written=True),
    }
    kernel = schedule(Kernel("updated", buffers, (Loop(g, body),)), 16)
    assert sum(name.startswith("columns") for name in kernel.buffers) == 2
    split = chunked(kernel, 16)
    code = emit_phases(split.phases, replace(cpu_jit.host(), vector_bytes=16), calls=split.calls)
    x, y = rng.normal(size=(ROWS, GROUPS, WIDTH)).astype("f4"), rng.normal(size=GROUPS).astype("f4")
    z, first = np.zeros(GROUPS, "f4"), y.astype(float)
    launch(code, [each.ctypes.data for each in (x, y, z)])
    sums = x.astype(float).sum((0, 2))
    np.testing.assert_allclose(y, sums + first, 1e-4, 1e-4)
    np.testing.assert_allclose(z, sums * first + (sums + first) * (ROWS * WIDTH) + first, 1e-3, 1e-2)


@pytest.mark.parametrize("shape", [[3, 40, 24], [None, None, 24], [1, 200, 24]])
def test_group_norm(shape, rng):
    images = rng.normal(size=[a or b for a, b in zip(shape, (3, 40, 24), strict=True)]).astype("f4")
    found = set()
    for threads in (1, 2):
        with sg.Graph().as_default():
            x = sg.placeholder(sg.float32, shape)
            sizes = sg.shape(x)
            groups = sg.reshape(x, [sizes[0], sizes[1], 6, 4])
            mean, variance = sg.nn.moments(groups, [1, 3], keepdims=True)
            y = sg.reshape((groups - mean) * sg.rsqrt(variance + 1e-5), sizes)
            sg.set_num_threads(threads)
            with sg.Session(device="cpu") as session:
                made = session.run(y, {x: images})
        found.add(made.tobytes())
    parts = images.reshape(*images.shape[:2], 6, 4).astype(float)
    centred = parts - parts.mean((1, 3), keepdims=True)
    exact = centred / np.sqrt((centred**2).mean((1, 3), keepdims=True) + 1e-5)
    np.testing.assert_allclose(made, exact.reshape(images.shape), 1e-4, 1e-4)
    assert len(found) == 1
