"""Sums of few columns have several accumulators, and the same bits in any number of threads."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.dtypes import float32, float64, int32
from staticgraph.compiler.graph.sizes import symbol
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Index, Load, Reduce
from staticgraph.compiler.kernel.lower_expressions import place
from staticgraph.compiler.kernel.schedule_cpu.accumulators import split_accumulators
from staticgraph.compiler.kernel.schedule_cpu.schedule import schedule
from staticgraph.compiler.kernel.stmt import Kernel, Loop, Store, Update, statements
from staticgraph.compiler.kernel.verify import verify
from tests.codegen.native import run
from tests.kernel.cases import array, filled, result
from tests.kernel.cases import run as interpreted


def columns(rows: int, terms: int, width: int, dtype=float32, combine="add", formula=lambda x: x) -> Kernel:
    i, j, k = Index("i", rows), Index("j", width), Index("k", terms)
    x = formula(Load("x", (i, k, j), dtype))
    buffers = {"x": array(rows, terms, width, dtype=dtype), "y": result(rows, width, dtype=dtype)}
    return place("columns", buffers, (i, j), (Store("y", (i, j), Reduce((k,), combine, x)),))


def split(kernel: Kernel, vector_bytes: int) -> Kernel:
    kernel = schedule(kernel, vector_bytes)
    return Kernel(kernel.name, kernel.buffers, split_accumulators(kernel.body, kernel.buffers, vector_bytes))


def steps(kernel: Kernel) -> list[int]:
    """The number of accumulators of each loop that does nothing but add to some."""
    loops = [s for s in statements(kernel.body) if isinstance(s, Loop)]
    return [len(loop.body) for loop in loops if all(isinstance(s, Update) for s in loop.body)]


@pytest.mark.parametrize(
    ("terms", "width", "expected"),
    [(40, 3, [4]), (43, 3, [4, 1]), (31, 3, [1]), (40, 16, [4]), (40, 17, [1])],
)
def test_few_columns_have_several(terms, width, expected):
    assert steps(split(columns(5, terms, width), 64)) == expected


def test_long_iterations_have_one():
    assert steps(split(columns(5, 40, 3, formula=scalar.exp), 64)) == [1]


def test_positions_do_not_count_as_work():
    """Columns of a large array are at positions of several terms, and the sum of squares computes little."""
    i, g, j, k = Index("i", 3), Index("g", 5), Index("j", 8), Index("k", 40)
    x, m = Load("x", (i, k, g, j), float32), Load("m", (i, g), float32)
    buffers = {"x": array(3, 40, 5, 8), "m": array(3, 5), "y": result(3, 5, 8)}
    total = Reduce((k,), "add", (x - m) * (x - m))
    made = split(place("squares", buffers, (i, g, j), (Store("y", (i, g, j), total),)), 64)
    updates = [
        s for s in statements(made.body) if isinstance(s, Loop) for s in s.body if isinstance(s, Update)
    ]
    assert len({update.local for update in updates}) == 4


@pytest.mark.takes_long
@pytest.mark.by_turns("vector_bytes")
@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
@pytest.mark.parametrize("combine", ["add", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", [float32, float64, int32])
@pytest.mark.parametrize(("terms", "width"), [(64, 2), (67, 3), (33, 4)])
def test_the_meaning_stays(terms, width, dtype, combine, vector_bytes):
    plain = columns(6, terms, width, dtype, combine)
    made = split(plain, vector_bytes)
    verify(made)
    arrays = filled(plain.buffers)
    wanted = interpreted(plain, dict(arrays))["y"]
    for found in (interpreted(made, dict(arrays)), run(made, dict(arrays), vector_bytes)):
        np.testing.assert_allclose(found["y"], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(3, 50_000, 3), (200_003, 4), (700, 129, 3)])
def test_parts_of_threads_add_up_to_the_same_bits(shape, rng):
    x, found, before = rng.standard_normal(shape).astype(np.float32), set(), sg.get_num_threads()
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(sg.float32, shape)
        made = sg.reduce_sum(given, len(shape) - 2)
        for threads in (1, 2, 5):
            sg.set_num_threads(threads)
            found.add(sess.run(made, {given: x}).tobytes())
    sg.set_num_threads(before)
    assert len(found) == 1
    total = np.frombuffer(found.pop(), np.float32)
    np.testing.assert_allclose(total, x.sum(len(shape) - 2, dtype=np.float64).ravel(), rtol=1e-4, atol=1e-2)


def test_sums_of_an_open_length_have_several(rng):
    assert steps(split(columns(5, symbol("n"), 3), 64)) == [4, 1]
    with sg.Graph().as_default(), sg.Session(device="cpu", open_sizes=True) as session:
        x = sg.placeholder(sg.float32, [None, None, 3])
        y = sg.reduce_sum(x, 1)
        for rows, terms in ((5, 43), (2, 1), (3, 0), (0, 4), (1, 3), (70, 400)):
            fed = rng.normal(size=(rows, terms, 3)).astype("f4")
            np.testing.assert_allclose(session.run(y, {x: fed}), fed.astype(float).sum(1), 1e-4, 1e-4)
        assert len(session.compiles) == 1
