"""Reductions along rows: softmax, norms, losses and their gradients, for rows of all lengths."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.expr import CudaWriter
from staticgraph.compiler.codegen.cuda.function import FunctionCall
from staticgraph.compiler.codegen.cuda.vectors import write_columns
from staticgraph.compiler.graph.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint8,
)
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Index, Load, Local, Reduce
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.stmt import Buffer, Let, Loop, Store, Update
from staticgraph.compiler.lower.program import Loops
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu.loops import check, emitted, floats, kinds, loops, text
from tests.gpu.printing import emit
from tests.gpu.running import SCHEDULES, compiled, run, unset
from tests.gpu.sessions import on

pytestmark = pytest.mark.takes_long

COLUMNS = (1, 2, 31, 32, 33, 100, 1000, 1024, 1025, 5000, 20000)
ROWS = (1, 3, 257)
SHAPES = ((3, 10), (257, 33), (64, 1000), (5, 4096), (3, 1025), (2, 20000), (70, 17000), (300, 4), (1, 7))
COMBINERS = {
    **dict.fromkeys((float32, float64, int8, int32, int64, uint8), ("add", "mul", "maximum", "minimum")),
    **dict.fromkeys((float16, bfloat16), ("maximum", "minimum")),
    bool_: ("and", "or"),
}


def softmax(x: sg.Tensor) -> Sequence[sg.Tensor]:
    return [sg.nn.softmax(x)]


def softmax_gradient(x: sg.Tensor, g: sg.Tensor) -> Sequence[sg.Tensor]:
    return sg.gradients(sg.nn.softmax(x), [x], [g])


def _normalized(x: sg.Tensor, scale: sg.Tensor, offset: sg.Tensor) -> sg.Tensor:
    mean, variance = sg.nn.moments(x, [-1], keep_dims=True)
    return sg.nn.batch_normalization(x, mean, variance, offset, scale, 1e-5)


def layer_norm(x: sg.Tensor, scale: sg.Tensor, offset: sg.Tensor) -> Sequence[sg.Tensor]:
    return [_normalized(x, scale, offset)]


def layer_norm_gradient(
    x: sg.Tensor, scale: sg.Tensor, offset: sg.Tensor, g: sg.Tensor
) -> Sequence[sg.Tensor]:
    return sg.gradients(_normalized(x, scale, offset), [x, scale, offset], [g])


def cross_entropy(x: sg.Tensor, labels: sg.Tensor) -> Sequence[sg.Tensor]:
    losses = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
    loss = sg.reduce_mean(losses)
    return [loss, *sg.gradients(loss, [x])]


def losses(x: sg.Tensor, labels: sg.Tensor) -> Sequence[sg.Tensor]:
    each = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
    return [each, *sg.gradients(each, [x])]


def residual(x: sg.Tensor, y: sg.Tensor, scale: sg.Tensor, offset: sg.Tensor) -> Sequence[sg.Tensor]:
    total = x + y
    return [total, _normalized(total, scale, offset)]


def of_rows(n: int, columns: int) -> list[Loops]:
    """The kernels of what rows are mostly used for."""
    x, v = (n, columns), (columns,)
    return [
        *loops(softmax, *floats(x)),
        *loops(softmax_gradient, *floats(x, x)),
        *loops(layer_norm, *floats(x, v, v)),
        *loops(layer_norm_gradient, *floats(x, v, v, x)),
        *loops(cross_entropy, (float32, x), (int32, (n,))),
        *loops(losses, (float32, x), (int32, (n,))),
        *loops(residual, *floats(x, x, v, v)),
        *loops(lambda x: [sg.argmax(x, 1), sg.reduce_logsumexp(x, 1)], *floats(x)),
    ]


def reduction(n: int, columns: int, dtype: DType, combine: str) -> Loops:
    """Rows of a dtype, combined."""
    i, k = Index("i", n), Index("k", columns)
    store = Store("y", (i,), Reduce((k,), combine, Load("x", (i, k), dtype)))
    buffers = (("x", Buffer(dtype, (n, columns))), ("y", Buffer(dtype, (n,), written=True)))
    return Loops((Nest((i,), (store,)),), buffers)


def test_functions_of_rows():
    check(kernel for shape in SHAPES for kernel in of_rows(*shape))


def test_every_combiner_and_dtype():
    pairs = itertools.cycle((dtype, combine) for dtype, found in COMBINERS.items() for combine in found)
    shapes = itertools.product(ROWS, COLUMNS)
    check(reduction(*shape, *next(pairs)) for shape in shapes if shape != (257, 20000))


def test_nothing_to_add_up_gives_the_neutral_element():
    cases = [
        (combine, columns, reduction(3, columns, dtype, combine), dtype)
        for dtype in (float32, int32)
        for combine in ("add", "mul", "maximum", "minimum")
        for columns in (0,)
    ]
    works = [emitted(case) for _, _, case, _ in cases]
    unit = compiled(works)
    neutral = {"add": 0, "mul": 1}
    for (combine, _, _, dtype), work in zip(cases, works, strict=True):
        found = run(work, {"x": np.zeros((3, 0), dtype.numpy), "y": unset((3,), dtype.numpy)}, unit)["y"]
        ends = (-np.inf, np.inf) if dtype.is_floating else (dtype.min, dtype.max)
        assert (found == neutral.get(combine, ends[combine == "minimum"])).all()


def test_no_rows_are_no_work():
    work = emitted(reduction(0, 10, float32, "add"))
    run(work, {"x": np.zeros((0, 10), np.float32), "y": np.zeros(0, np.float32)})


@pytest.mark.parametrize("combine", ["maximum", "minimum"])
def test_one_nan_makes_its_row_nan(combine: str):
    n, columns = 5, 300
    x = np.random.default_rng(1).standard_normal((n, columns)).astype(np.float32)
    x[1, 0] = x[3, 299] = np.nan
    work = emitted(reduction(n, columns, float32, combine))
    found = run(work, {"x": x, "y": unset((n,), np.float32)})["y"]
    np.testing.assert_array_equal(found, (np.max if combine == "maximum" else np.min)(x, 1))


def test_a_softmax_reads_once_and_writes_once():
    """All of it is one function, and what it needs again is in registers."""
    for columns in (64, 1000, 4096, 16384):
        (kernel,) = loops(softmax, *floats((512, columns)))
        work = emitted(kernel)
        assert kinds(work) == ["rows"] and not work.scratch
        assert text(work).count("reinterpret_cast<const Vector<float, 4>*>(b0") == 1
        assert text(work).count("reinterpret_cast<Vector<float, 4>*>(b1") == 1
        assert text(work).count("expf(") == 1


def test_gradients_of_a_layer_norm_read_once():
    """The sums over rows are taken on the way; a second function adds up those of blocks."""
    (kernel,) = loops(layer_norm_gradient, *floats((4096, 512), (512,), (512,), (4096, 512)))
    work = emitted(kernel)
    assert kinds(work)[0] == "rows" and set(kinds(work)[1:]) == {"columns"}
    function = work.calls[0]
    assert isinstance(function, FunctionCall)
    for name in ("b0", "b1"):
        assert function.function.text.count(f"Vector<float, 4>*>({name} +") == 1
    assert [name for name, _ in work.scratch[:2]] == ["total0", "total1"]


def test_losses_and_their_gradients_are_made_of_one_exponential():
    for columns in (1024, 4096, 16384):
        (kernel,) = loops(losses, (float32, (512, columns)), (int32, (512,)))
        work = emitted(kernel)
        assert kinds(work) == ["rows"]
        assert text(work).count("expf(") == 1
        assert text(work).count("reinterpret_cast<const Vector<float, 4>*>(b0") == 1
        assert text(work).index("b1[row]") < text(work).index("maximum(")  # labels come with the logits


def test_what_a_row_stores_and_needs_again_is_in_registers():
    """A sum and the norm of it: what was stored is not loaded."""
    (kernel,) = loops(residual, *floats((512, 1024), (512, 1024), (1024,), (1024,)))
    work = emitted(kernel)
    (call,) = work.calls
    assert isinstance(call, FunctionCall) and call.function.kind == "rows"
    written = [name for name, out in zip(call.arguments, call.written, strict=True) if out]
    assert len(written) == 2
    assert not any(f"const Vector<float, 4>*>({name} " in text(work) for name in written)


def test_what_several_sweeps_need_is_loaded_first():
    (kernel,) = loops(softmax_gradient, *floats((512, 4096), (512, 4096)))
    body = text(emitted(kernel))
    assert body.rindex("const Vector<float, 4>*>") < body.index("__syncthreads")


@pytest.mark.parametrize(("columns", "bounds"), [(1024, "256, 4"), (4096, "256, 4"), (16384, "512, 2")])
def test_blocks_that_share_a_multiprocessor(columns: int, bounds: str):
    """Some compute and store while others load: there are 1024 threads, with 64 registers each."""
    rows = (float32, (4096, columns))
    for (kernel,) in (loops(softmax, rows), loops(losses, rows, (int32, (4096,)))):
        assert f"__launch_bounds__({bounds})" in text(emitted(kernel))


@pytest.mark.parametrize(("count", "told"), [(9, False), (64, True)])
def test_a_long_sum_of_a_column_is_loaded_a_few_elements_at_a_time(count: int, told: bool):
    """The compiler would load all 64 before it adds the first, and spill them."""
    lane, n, total = Index("v", 4), Index("n", count), Local("total", float32)
    load = Load("x", (n * 4 + lane,), float32)
    body = (
        Let(total, Const(0.0, float32)),
        Loop(n, (Update(total, scalar.add(total, load)),)),
        Store("y", (lane,), total),
    )
    writer = CudaWriter({"x": Buffer(float32, (count * 4,)), "y": Buffer(float32, (4,), written=True)})
    write_columns(writer, body, lane)
    assert ("#pragma unroll 8\n  for (int n" in writer.text) == told, writer.text


def test_one_barrier_for_all_that_is_reduced_together():
    (kernel,) = loops(losses, (float32, (512, 4096)), (int32, (512,)))
    assert text(emitted(kernel)).count("__syncthreads()") == 2


def test_blocks_that_do_several_rows():
    """Shared memory that is written for a row is still read for the one before, if there is one barrier."""

    def scaled(x: sg.Tensor) -> Sequence[sg.Tensor]:
        y = x * sg.reduce_max(x, 1, keepdims=True)
        return [y, sg.reduce_sum(y, 0)]

    (kernel,) = loops(scaled, *floats((1100, 1030)))
    assert kinds(emitted(kernel))[0] == "rows"
    first = emitted(kernel).calls[0]
    assert isinstance(first, FunctionCall) and first.function.text.count("__syncthreads()") == 2
    check([kernel, *loops(cross_entropy, (float32, (1100, 1030)), (int32, (1100,)))])


@pytest.mark.parametrize(
    ("columns", "threads"), [(4, 1), (10, 8), (32, 8), (100, 32), (1000, 32), (4096, 256)]
)
def test_threads_of_a_row(columns: int, threads: int):
    (kernel,) = loops(softmax, *floats((100_000, columns)))
    (work,) = emitted(kernel).calls
    assert isinstance(work, FunctionCall)
    lane = work.function.text.split("const int lane = threadIdx.x")[1].split(";")[0]
    assert lane == (f" % {threads}" if work.function.block[0] > threads else "")


def test_rows_that_are_too_long_for_registers_are_read_again():
    (kernel,) = loops(softmax, *floats((256, 50257)))
    work = emitted(kernel)
    assert kinds(work) == ["rows"] and not work.scratch
    assert text(work).count("= b0[") == 3


def test_few_long_rows_occupy_many_blocks():
    (kernel,) = loops(lambda x: [sg.reduce_max(x, 1)], *floats((2, 1_000_000)))
    work = emitted(kernel)
    assert kinds(work) == ["full", "full"]
    first = work.calls[0]
    assert isinstance(first, FunctionCall) and first.function.grid[0] * first.function.grid[1] > 200


def test_a_mask_is_drawn_once():
    """Expensive values stay in registers, though the last operation on them is cheap."""

    def build(x: sg.Tensor) -> Sequence[sg.Tensor]:
        y = x + sg.nn.dropout(x, 0.5, seed=3)
        mean, variance = sg.nn.moments(y, [-1], keep_dims=True)
        return [(y - mean) / sg.sqrt(variance + 1e-5)]

    (kernel,) = loops(build, *floats((64, 256)))
    assert kinds(emitted(kernel)) == ["rows"]
    assert text(emitted(kernel)).count("wide_mul") == 20  # ten rounds of two products
    check([kernel])


def test_rows_in_place():
    """A buffer that is read in sums and in the store may be the one that is written."""
    i, j, k = Index("i", 37), Index("j", 130), Index("k", 130)
    total = Reduce((k,), "add", Load("x", (i, k), float32))
    store = Store("x", (i, j), Load("x", (i, j), float32) - total * 0.01)
    check([Loops((Nest((i, j), (store,)),), (("x", Buffer(float32, (37, 130), written=True)),))])


def test_rows_across_memory():
    """Neighbours in memory are in different rows: a thread does a row, if it is short."""
    i, j, k = Index("i", 6), Index("j", 70), Index("k", 9)
    x = Load("x", (i, k, j), float32)
    most = Reduce((k,), "maximum", x)
    n = Index("n", 9)
    value = scalar.exp(Load("x", (i, n, j), float32) - most)
    nest = Nest((i, j, n), (Store("y", (i, n, j), value),))
    buffers = {"x": Buffer(float32, (6, 9, 70)), "y": Buffer(float32, (6, 9, 70), written=True)}
    work = emit([nest], buffers, (), ())
    assert kinds(work) == ["rows"] and "const int lane = threadIdx.x % 1;" in text(work)
    check([Loops((nest,), tuple(buffers.items()))])


def test_threads_do_not_keep_what_others_have_of_other_columns(host):
    """Both elements of a short row are one thread's, the four columns of the next sweep are two threads'."""
    numbers, matrix = np.array([1.7, 0.6], np.float32), np.arange(1, 5, dtype=np.float32).reshape(2, 2)
    with sg.Graph().as_default(), on(Simulator(SCHEDULES[1])), sg.Session() as session:
        x, y = sg.placeholder(sg.float32, [2]), sg.placeholder(sg.float32, [2, 2])
        large = x > 0.1 * sg.reduce_max(x, -1, keepdims=True)
        scaled = y * sg.where(large, 1.0 / x, sg.zeros_like(x))
        np.testing.assert_allclose(session.run(scaled, {x: numbers, y: matrix}), matrix / numbers, rtol=1e-6)
