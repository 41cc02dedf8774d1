"""Operands that lie across the results: tiles that are turned in shared memory are right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import CudaFunction, FunctionCall, KernelWork
from staticgraph.compiler.graph.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int32,
    uint8,
)
from staticgraph.compiler.kernel.expr import Index, Load
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.schedule_gpu.elements import transpose as tiles
from staticgraph.compiler.kernel.stmt import Store
from tests.gpu.loops import check, emitted, floats, kinds, loops, text
from tests.gpu.printing import pointwise
from tests.gpu.running import run, unset
from tests.kernel.cases import array, filled, result

# Of two axes: whole tiles, parts of tiles, elements that make no vectors, one axis much shorter.
SHAPES = ((64, 128), (128, 192), (70, 100), (72, 264), (65, 131), (16, 300), (300, 17), (20, 1030))


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of any size are worth a function."""
    monkeypatch.setattr(tiles, "LEAST", 1)


small = pytest.mark.usefixtures("_small")


def transpose(*axes: int):
    return lambda x: [sg.transpose(x, list(axes) or None)]


def functions(found: Sequence) -> list[CudaFunction]:
    return [
        call.function for kernel in found for call in emitted(kernel).calls if isinstance(call, FunctionCall)
    ]


@pytest.mark.takes_long
@small
@pytest.mark.parametrize("dtype", [uint8, bfloat16, float16, float32, float64, bool_], ids=lambda d: d.name)
def test_matrices(dtype: DType):
    found = [kernel for shape in SHAPES for kernel in loops(transpose(), (dtype, shape))]
    assert [kinds(emitted(kernel)) for kernel in found] == [["transposed"]] * len(SHAPES)
    check(found)


BATCHES = {  # shapes and axes, and the loops that a block does tiles of
    "channels last": ((3, 70, 10, 13), (0, 2, 3, 1), (130, 70)),
    "channels first": ((3, 10, 13, 70), (0, 3, 1, 2), (70, 130)),
    "keys": ((2, 3, 70, 64), (0, 1, 3, 2), (64, 70)),
    "filters": ((3, 3, 24, 40), (3, 0, 1, 2), (40, 216)),
    "the last axis first": ((5, 33, 70), (2, 0, 1), (70, 165)),
    "axes in reverse": ((40, 3, 130), (2, 1, 0), (130, 40)),
    "two of a batch": ((3, 70, 2, 64), (2, 0, 3, 1), (64, 70)),
}


@pytest.mark.takes_long
@small
@pytest.mark.parametrize("name", BATCHES)
def test_batches(name: str):
    """Neighbouring axes that stay neighbours are one."""
    shape, axes, (across, along) = BATCHES[name]
    found = loops(transpose(*axes), *floats(shape))
    assert [kinds(emitted(kernel)) for kernel in found] == [["transposed"]]
    (call,) = emitted(found[0]).calls
    high, wide = -(-across // 64), -(-along // 64)
    assert call.function.grid == (high * wide * int(np.prod(shape)) // (across * along), 1, 1)
    check(found)


@small
@pytest.mark.parametrize(("shape", "axes"), [((2, 3, 40, 41), (0, 2, 3, 1)), ((2, 40, 41, 3), (0, 3, 1, 2))])
def test_colors(shape: tuple[int, ...], axes: tuple[int, ...]):
    """Tiles are as wide as there are threads for it where they are only three high."""
    found = loops(transpose(*axes), *floats(shape))
    assert [kinds(emitted(kernel)) for kernel in found] == [["transposed"]]
    check(found)


FUSED = {
    "plus": (lambda x, y: [x + sg.transpose(y)], floats((130, 70), (70, 130))),
    "in vectors": (lambda x, y: [x - sg.transpose(y) * 2.0], floats((136, 72), (72, 136))),
    "two turned": (lambda x, y: [sg.transpose(x) * sg.transpose(y)], floats((70, 130), (70, 130))),
    "with what is beside": (
        lambda x, y, z, w, b: [sg.transpose(x) * y + z * w + b],
        floats((68, 132), (132, 68), (132, 68), (132, 68), (68,)),
    ),
    "bias of channels": (
        lambda x, b: [sg.maximum(sg.transpose(x, [0, 3, 1, 2]) + sg.reshape(b, [36, 1, 1]), 0.0)],
        floats((2, 10, 14, 36), (36,)),
    ),
    "to fewer bits": (lambda x: [sg.cast(sg.transpose(x), sg.float16)], floats((136, 72))),
    "to more bits": (lambda x: [sg.cast(sg.transpose(x), sg.float64)], [(int8, (136, 72))]),
    "of other dtypes": (
        lambda x, y: [sg.where(sg.transpose(y), x, -x)],
        [(float32, (136, 72)), (bool_, (72, 136))],
    ),
    "a part": (lambda x: [sg.transpose(x[3:80, 5:])], floats((100, 70))),
    "a part in vectors": (lambda x: [sg.transpose(x[:, 4:])], floats((100, 72))),
    "rows in reverse": (lambda x: [sg.transpose(x[::-1])], floats((100, 72))),
    "two of one": (lambda x: [sg.transpose(x[4:]) - sg.transpose(x[:-4])], floats((104, 72))),
    "rows of a table": (
        lambda x, at: [sg.transpose(sg.gather(x, at), [0, 2, 1])],
        [(float32, (3, 70, 64)), (int32, (5,))],
    ),
    "three orders": (
        lambda x, y, z: [x + sg.transpose(y, [1, 2, 0]) + sg.transpose(z, [2, 0, 1])],
        floats((20, 72, 68), (68, 20, 72), (72, 68, 20)),
    ),
    "twice": (
        lambda x, y: [sg.transpose(x) + 1.0, sg.transpose(x) * y],
        floats((68, 132), (132, 68)),
    ),
}


@pytest.mark.takes_long
@small
@pytest.mark.parametrize("name", FUSED)
def test_fused(name: str):
    build, inputs = FUSED[name]
    found = loops(build, *inputs)
    assert {kind for kernel in found for kind in kinds(emitted(kernel))} == {"transposed"}
    check(found)


@small
def test_what_lies_as_the_result_is_read_before_the_barrier():
    (kernel,) = loops(lambda x, y: [x + sg.transpose(y)], *floats((128, 64), (64, 128)))
    before, after = text(emitted(kernel)).split("__syncthreads();")
    assert before.count("(b0 + ") == before.count("(b1 + ") == 1
    assert "(b0 + " not in after


@small
def test_results_in_place():
    """A result that is read at the place of its write is read by the thread that writes it."""
    i, j = Index("i", 70), Index("j", 100)
    y, x = Load("y", (i, j), float32), Load("x", (j, i), float32)
    buffers = {"x": array(100, 70), "y": result(70, 100), "z": result(70, 100)}
    nest = Nest((i, j), (Store("y", (i, j), y + x), Store("z", (i, j), y * 2.0)))
    work = KernelWork(tuple(pointwise([nest], buffers)))
    assert kinds(work) == ["transposed"]
    arrays = filled(buffers, 3)
    found = run(work, arrays)
    np.testing.assert_array_equal(found["y"], arrays["y"] + arrays["x"].T)
    np.testing.assert_array_equal(found["z"], arrays["y"] * 2)


@small
def test_an_operand_that_is_written_has_no_tile():
    i, j = Index("i", 70), Index("j", 100)
    moved = Load("y", (j, i), float32)
    nest = Nest((i, j), (Store("z", (i, j), moved), Store("y", (j, i), moved * 2.0)))
    calls = pointwise([nest], {"y": result(100, 70), "z": result(70, 100)})
    assert kinds(KernelWork(tuple(calls))) == ["pointwise"]


@small
def test_nests_before_and_after_keep_their_order():
    i, j, n = Index("i", 70), Index("j", 100), Index("n", 7000)
    first = Nest((n,), (Store("x", (n,), Load("a", (n,), float32) + 1.0),))
    turned = Nest((i, j), (Store("y", (i * 100 + j,), Load("x", (j * 70 + i,), float32)),))
    last = Nest((n,), (Store("z", (n,), Load("y", (n,), float32) * 2.0),))
    buffers = {"a": array(7000), "x": result(7000), "y": result(7000), "z": result(7000)}
    work = KernelWork(tuple(pointwise([first, turned, last], buffers)))
    assert kinds(work) == ["pointwise", "transposed", "pointwise"]
    a = np.arange(7000, dtype=np.float32)
    arrays = {"a": a, **{name: unset((7000,), np.float32) for name in "xyz"}}
    expected = (a.reshape(100, 70).T + 1) * 2
    np.testing.assert_array_equal(run(work, arrays)["z"].reshape(70, 100), expected)


@small
def test_neighbours_share_a_block_of_random_bits():
    (kernel,) = loops(lambda x: [sg.nn.dropout(sg.transpose(x), 0.5)], *floats((128, 64)))
    made = text(emitted(kernel))
    assert "transposed_" in made and made.count("wide_mul(") <= 20
    check([kernel])


def test_operands_that_do_not_fit_shared_memory():
    shape = (1024, 512)
    two = loops(lambda x, y: [sg.transpose(x) + sg.transpose(y)], *floats(shape, shape))
    three = loops(lambda *x: [sum(map(sg.transpose, x))], *floats(shape, shape, shape))
    assert [kinds(emitted(kernel)) for kernel in (*two, *three)] == [["transposed"], ["pointwise"]]


def test_positions_beyond_int32():
    found = loops(transpose(), (uint8, (1 << 16, 1 << 16)))
    assert "int64_t(" in text(emitted(found[0])) and kinds(emitted(found[0])) == ["transposed"]
