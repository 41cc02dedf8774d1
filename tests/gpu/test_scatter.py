"""Updates of rows at places found in memory: in order, whoever does them."""

import numpy as np
import pytest

from staticgraph.compiler.codegen.cuda.function import KernelWork
from staticgraph.compiler.graph.dtypes import DType, float16, float32, float64, int8, int32, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.stmt import Buffer, If, Kernel, Let, Loop, Store
from tests.gpu.printing import statements
from tests.gpu.running import run
from tests.kernel.cases import Arrays

pytestmark = pytest.mark.takes_long


def kernel(
    shape: tuple[int, ...], rows: int, columns: tuple[int, ...], op: str = "add", dtype: DType = float32
) -> Kernel:
    """`y[row[u], s] = op(y[row[u], s], x[u, s])` for all u of `shape` in order and all s of `columns`."""
    u = tuple(Index(f"u{d}", n) for d, n in enumerate(shape))
    s = tuple(Index(f"s{d}", n) for d, n in enumerate(columns))
    row, place = Local("row", int64), scalar.cast(Load("rows", u, int32), int64)
    old, new = Load("y", (row, *s), dtype), Load("x", (*u, *s), dtype)
    value = new if op == "replace" else scalar.read(op, old, new)
    inner: tuple = (Store("y", (row, *s), value),)
    for index in reversed(s):
        inner = (Loop(index, inner),)
    clamped = scalar.minimum(scalar.maximum(place, 0), rows - 1)
    body: tuple = (Let(row, clamped), If((place >= 0) & (place < rows), inner))
    for index in reversed(u):
        body = (Loop(index, body),)
    buffers = {
        "y": Buffer(dtype, (rows, *columns), written=True),
        "rows": Buffer(int32, shape),
        "x": Buffer(dtype, (*shape, *columns)),
    }
    return Kernel("scatter", buffers, body)


def data(made: Kernel, seed: int = 0) -> Arrays:
    """Places of which some are outside, most are taken several times, and some never."""
    rng = np.random.default_rng(seed)
    y, rows, x = (made.buffers[name] for name in ("y", "rows", "x"))
    return {
        "y": y.dtype.round(rng.normal(size=y.shape) * 20),
        "rows": (rng.integers(-2, y.shape[0] + 2, rows.shape) // 2 * 2).astype(np.int32),
        "x": x.dtype.round(rng.normal(size=x.shape) * 20),
    }


def check(made: Kernel, arrays: Arrays | None = None) -> KernelWork:
    arrays = arrays or data(made)
    expected = {name: a.copy() for name, a in arrays.items()}
    interpret(made, expected)
    work = statements(made)
    np.testing.assert_array_equal(run(work, arrays)["y"], expected["y"])
    return work


def kinds(work: KernelWork) -> list[str]:
    return [call.function.name.rsplit("_", 1)[0] for call in work.calls]


@pytest.mark.parametrize(
    ("shape", "rows", "columns", "op", "dtype"),
    [
        ((200,), 10, (64,), "add", float32),  # a warp for each row
        ((130,), 500, (40,), "add", float32),  # a warp for each update; columns that are no multiple of 32
        ((300,), 7, (), "add", float64),  # rows of a single element
        ((9, 15), 60, (3,), "mul", float64),  # updates in two dimensions
        (
            (140,),
            300,
            (2, 150),
            "maximum",
            float16,
        ),  # more columns than a warp takes at once, in two dimensions
        ((150,), 11, (256,), "replace", int8),  # the last one stays
        ((150,), 1000, (5,), "replace", float32),
    ],
)
def test_updates_in_order(shape: tuple[int, ...], rows: int, columns: tuple[int, ...], op: str, dtype: DType):
    assert kinds(check(kernel(shape, rows, columns, op, dtype))) == ["scatter_notes", "scatter"]


def test_all_in_one_row_and_none_at_all():
    made = kernel((100,), 40, (33,))
    arrays = data(made)
    check(made, arrays | {"rows": np.full(100, 39, np.int32)})
    check(made, arrays | {"rows": np.full(100, 40, np.int32)})


def test_few_updates_need_no_notes():
    assert kinds(check(kernel((5,), 100, (64,)))) == ["scatter"]
    assert statements(kernel((5,), 100, (64,))).scratch == ()


def test_updates_that_read_other_rows_of_the_result_are_done_by_one_thread():
    """Each row is made from the first one, which changes as well."""
    u, place = Index("u", 50), scalar.cast(Load("rows", (Index("u", 50),), int32), int64)
    row: Expr = scalar.minimum(scalar.maximum(place, 0), 9)
    value = Load("y", (Const(0, int64),), float32) * 0.5 + Load("x", (u,), float32)
    buffers = {
        "y": Buffer(float32, (10,), written=True),
        "rows": Buffer(int32, (50,)),
        "x": Buffer(float32, (50,)),
    }
    work = check(Kernel("chained", buffers, (Loop(u, (Store("y", (row,), value),)),)))
    assert kinds(work) == ["chained"] and work.calls[0].function.grid == (1, 1, 1)
