"""Sums of columns, and of whole arrays: in parts where that occupies the card, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import FunctionCall, KernelWork
from staticgraph.compiler.graph.dtypes import bfloat16, bool_, float16, float32, float64, int8, int32
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Index, Load, Reduce
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.compiler.lower.program import Loops
from tests.gpu.loops import check, emitted, floats, kinds, loops, text
from tests.gpu.printing import emit
from tests.gpu.running import compiled, run, unset

pytestmark = pytest.mark.takes_long

SHAPES = (
    (1, 1),
    (3, 2),
    (257, 31),
    (100, 32),
    (33, 33),
    (1000, 7),
    (20000, 10),
    (5000, 100),
    (64, 1025),
    (700, 512),
    (4, 5000),
    (20000, 1),
)


def sums(x: sg.Tensor) -> Sequence[sg.Tensor]:
    """Sums of all columns, of all that there is, and the greatest of all."""
    return [sg.reduce_sum(x, 0), sg.reduce_mean(x * x), sg.reduce_max(x)]


def batch_norm(x: sg.Tensor, scale: sg.Tensor, offset: sg.Tensor, g: sg.Tensor) -> Sequence[sg.Tensor]:
    y = sg.nn.fused_batch_norm(x, scale, offset)[0]
    return [y, *sg.gradients(y, [x, scale, offset], [g])]


def blocks(work: KernelWork) -> list[int]:
    """Return the number of blocks of each function."""
    return [int(np.prod(call.function.grid)) for call in work.calls if isinstance(call, FunctionCall)]


def test_sums_of_all_shapes():
    check(kernel for shape in SHAPES for kernel in loops(sums, *floats(shape)))


def test_other_dtypes():
    made = []
    for dtype in (float16, bfloat16, float64, int32):
        made += loops(sums, (dtype, (2000, 24)))
    made += loops(lambda x: [sg.reduce_any(x, 0), sg.reduce_all(x, 0)], (bool_, (300, 24)))
    made += loops(lambda x: [sg.reduce_max(x, 0), sg.reduce_prod(x, 0)], (int8, (300, 24)))
    check(made)


def test_sums_over_some_axes():
    axes = (0, 1, 2, [0, 1], [0, 2], [1, 2])
    check(
        kernel
        for axis in axes
        for kernel in loops(lambda x, axis=axis: [sg.reduce_sum(sg.exp(x), axis)], *floats((50, 30, 20)))
    )


def test_batch_norm():
    found = loops(batch_norm, *floats((8, 16, 16, 32), (32,), (32,), (8, 16, 16, 32)))
    assert {kind for kernel in found for kind in kinds(emitted(kernel))} == {"columns", "rows", "pointwise"}
    check(found)


def test_variance_of_columns_is_two_reductions_after_each_other():
    def variance(x: sg.Tensor) -> Sequence[sg.Tensor]:
        return [sg.reduce_mean(sg.square(x - sg.reduce_mean(x, 0)), 0)]

    found = loops(variance, *floats((5000, 40)))
    assert [kind for kernel in found for kind in kinds(emitted(kernel))] == ["columns"] * 4
    check(found)


@pytest.mark.parametrize(("rows", "columns"), [(65536, 1024), (65536, 64), (1_000_000, 10), (1_000_000, 1)])
def test_many_rows_are_summed_in_parts(rows: int, columns: int):
    (kernel,) = loops(lambda x: [sg.reduce_sum(x, 0)], *floats((rows, columns)))
    work = emitted(kernel)
    assert kinds(work) == (["full", "full"] if columns == 1 else ["columns", "columns"])
    assert 132 < blocks(work)[0] <= 528
    assert [name for name, _ in work.scratch] == ["partial0"]


def test_parts_are_added_up_by_several_blocks():
    """In the first function a block has all 64 columns."""
    (kernel,) = loops(lambda x: [sg.reduce_sum(x, 0)], *floats((65536, 64)))
    assert blocks(emitted(kernel)) == [256, 4]
    check([kernel])


def test_batch_norm_reads_its_input_twice_and_a_little():
    """A sample, then both moments in one pass, then the result."""
    inputs = floats((64, 56, 56, 64), (64,), (64,))
    found = loops(lambda x, s, o: [*sg.nn.fused_batch_norm(x, s, o)], *inputs)
    assert [len(emitted(kernel).calls) for kernel in found] == [2, 2, 1]


def test_columns_are_loaded_as_vectors():
    for dtype, lanes in ((float32, 4), (float16, 8), (float64, 2)):
        (kernel,) = loops(lambda x: [sg.reduce_sum(x, 0)], (dtype, (4096, 512)))
        first = emitted(kernel).calls[0]
        assert isinstance(first, FunctionCall)
        kind = {float32: "float", float16: "half_t", float64: "double"}[dtype]
        assert f"*reinterpret_cast<const Vector<{kind}, {lanes}>*>(b0 + " in first.function.text


def test_enough_columns_are_one_function():
    (kernel,) = loops(lambda x: [sg.reduce_sum(x, 0)], *floats((32, 100_000)))
    assert kinds(emitted(kernel)) == ["columns"]


def test_what_is_made_of_sums_is_stored_by_the_last_function():
    """An update of weights by a gradient that is a sum of columns."""
    i, k = Index("i", 24), Index("k", 3000)
    gradient = Reduce((k,), "add", Load("x", (k, i), float32) * Load("g", (k, i), float32))
    weight = Load("w", (i,), float32)
    nest = Nest((i,), (Store("w", (i,), weight - gradient * 0.1), Store("v", (i,), scalar.abs(gradient))))
    buffers = {
        "x": Buffer(float32, (3000, 24)),
        "g": Buffer(float32, (3000, 24)),
        "w": Buffer(float32, (24,), written=True),
        "v": Buffer(float32, (24,), written=True),
    }
    work = emit([nest], buffers, (), ())
    assert kinds(work) == ["columns", "columns"] and text(work).count("w[") == 2
    check([Loops((nest,), tuple(buffers.items()))])


def test_sums_of_the_same_array_are_taken_together():
    i, k = Index("i", 64), Index("k", 3000)
    x = Load("x", (k, i), float32)
    sums = [
        Nest((i,), (Store(name, (i,), Reduce((k,), "add", value)),))
        for name, value in (("y", x), ("z", x * x))
    ]
    results = {name: Buffer(float32, (64,), written=True) for name in "yz"}
    kernel = Loops(
        (), (("x", Buffer(float32, (3000, 64))), *results.items()), (Index("row", 3000),), tuple(sums)
    )
    work = emitted(kernel)
    assert kinds(work) == ["columns", "columns"] and [name for name, _ in work.scratch] == [
        "partial0",
        "partial1",
    ]
    assert text(work).count("*>(x + ") == 1
    check([kernel])


def test_the_order_of_additions_is_the_same_in_every_run():
    """Bit by bit, though numbers of all sizes are added up."""
    x = np.random.default_rng(5).standard_normal((3000, 33)).astype(np.float32) * 10.0 ** np.arange(33)
    (kernel,) = loops(lambda x: [sg.reduce_sum(x, 0)], *floats(x.shape))
    work = emitted(kernel)
    unit = compiled([work])
    arrays = {"b0": x.astype(np.float32), "b1": unset((33,), np.float32)}
    first = run(work, arrays, unit)["b1"]
    assert first.tobytes() == run(work, arrays, unit)["b1"].tobytes()
