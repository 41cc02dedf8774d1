import numpy as np
import pytest

from staticgraph.compiler.graph.dtypes import float32, int32, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Index, Load, Reduce, identity
from staticgraph.compiler.kernel.lower_expressions import place
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.schedule_cpu.schedule import schedule
from staticgraph.compiler.kernel.stmt import Let, Loop, LoopKind, Store, Update, statements
from staticgraph.compiler.kernel.verify import verify
from tests.kernel.cases import CASES, Case, array, filled, loads, result, run, unplaced

x = loads("x")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_text(case: Case, golden):
    placed = case.placed()
    golden(f"{case.name}.txt", kernel_text(placed) + "\n" + kernel_text(schedule(placed, 32)))


@pytest.mark.takes_long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_value(case: Case, vector_bytes: int):
    arrays = filled(case.buffers)
    if "v" in arrays:
        arrays["v"] = np.abs(arrays["v"])
    placed = case.placed()
    verify(placed)
    scheduled = schedule(placed, vector_bytes)
    verify(scheduled)
    expected = case.expected(arrays)
    for found in (run(placed, arrays), run(scheduled, arrays), run(scheduled, arrays, backwards=True)):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("extents", [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("combine", ["add", "mul", "maximum", "minimum"])
def test_the_reduction_of_nothing_is_the_identity(combine: str, extents: tuple[int, int]):
    rows, columns = extents
    i, r = Index("i", rows), Index("r", columns)
    buffers = {"x": array(rows, columns), "out": result(rows)}
    placed = place("empty", buffers, (i,), (Store("out", (i,), Reduce((r,), combine, x(i, r))),))
    verify(placed)
    for kernel in (placed, schedule(placed, 32)):
        found = run(kernel, filled(buffers))["out"]
        assert found.tolist() == [identity(combine, float32).value] * rows


def test_a_result_over_fewer_loops_is_stored_though_the_others_have_no_element():
    i, j, r = Index("i", 3), Index("j", 0), Index("r", 0)
    total = Reduce((r,), "add", x(i, r))
    buffers = {"x": array(3, 0), "out": result(3, 0), "total": result(3)}
    stores = (Store("out", (i, j), x(i, j) / total), Store("total", (i,), total))
    placed = place("empty", buffers, (i, j), stores)
    for kernel in (placed, schedule(placed, 32)):
        assert run(kernel, filled(buffers))["total"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("extents", [(0, 2), (3, 0), (3, 2)])
def test_what_an_empty_loop_would_do_is_not_begun_outside_of_it(extents: tuple[int, int]):
    """Windows on an empty axis read at constant positions that lie in no buffer."""
    rows, columns = extents
    i, j = Index("i", rows), Index("j", columns)
    r, q = Index("r", 4), Index("q", 0 if rows and columns else 5)
    beyond = Reduce((r, q), "maximum", x(Const(-1, int64)) + Reduce((Index("s", 2),), "add", x(r)))
    buffers = {"x": array(0), "out": result(rows, columns)}
    placed = place("empty", buffers, (i, j), (Store("out", (i, j), beyond),))
    for kernel in (placed, schedule(placed, 32)):
        assert "x[" not in kernel_text(kernel)


def test_reductions_share_a_loop_unless_one_needs_the_other():
    r, s = Index("r", 9), Index("s", 9)
    total, squares = Reduce((r,), "add", x(r)), Reduce((s,), "add", x(s) * x(s))
    spread = Reduce((s,), "add", scalar.abs(x(s) - total))
    buffers = {"x": array(9), "out": result()}

    def loops(value) -> list[int]:
        body = place("k", buffers, (), (Store("out", (), value),)).body
        return [sum(isinstance(s, Update) for s in stmt.body) for stmt in body if isinstance(stmt, Loop)]

    assert loops(total + squares) == [2]
    assert loops(total + spread) == [1, 1]
    assert loops(total + spread + squares) == [2, 1]


def test_reductions_that_differ_in_names_only_are_computed_once():
    r, s = Index("r", 9), Index("s", 9)
    value = Reduce((r,), "add", x(r)) * Reduce((s,), "add", x(s))
    kernel = place("k", {"x": array(9), "out": result()}, (), (Store("out", (), value),))
    assert sum(isinstance(s, Update) for s in statements(kernel.body)) == 1


def test_nested_reductions_may_use_one_name_twice():
    i, r = Index("i", 4), Index("r", 4)
    y = loads("y")
    inner = Reduce((r,), "add", x(i, r))
    value = Reduce((i,), "maximum", inner * Reduce((r,), "add", y(i, r) * Reduce((i,), "add", x(r, i))))
    buffers = {"x": array(4, 4), "y": array(4, 4), "out": result()}
    stores = (Store("out", (), value),)
    placed = place("k", buffers, (), stores)
    verify(placed)
    arrays = filled(buffers)
    expected = run(unplaced("k", buffers, (), stores), arrays)["out"]
    rows = arrays["x"].sum(1)
    np.testing.assert_allclose(expected, (rows * (arrays["y"] @ rows)).max(), rtol=1e-5)
    np.testing.assert_allclose(run(placed, arrays)["out"], expected, rtol=1e-6)
    np.testing.assert_allclose(run(schedule(placed, 32), arrays)["out"], expected, rtol=1e-6)


def test_what_a_loop_does_not_change_is_computed_outside_it():
    i, j = Index("i", 5), Index("j", 7)
    value = scalar.exp(Load("a", (i,), float32)) * x(i, j)
    kernel = place(
        "k", {"a": array(5), "x": array(5, 7), "out": result(5, 7)}, (i, j), (Store("out", (i, j), value),)
    )
    (outer,) = kernel.body
    assert isinstance(outer, Loop)
    let, inner = outer.body
    assert isinstance(let, Let) and isinstance(inner, Loop)
    assert let.value is scalar.exp(Load("a", (i,), float32))


def test_values_are_computed_before_any_is_stored():
    i = Index("i", 3)
    a, c = Load("a", (i,), float32), Load("c", (i,), float32)
    buffers = {"a": result(3), "c": result(3)}
    kernel = place("swap", buffers, (i,), (Store("a", (i,), c), Store("c", (i,), a)))
    arrays = filled(buffers)
    for swap in (kernel, schedule(kernel, 32)):
        found = run(swap, arrays)
        assert found["a"].tolist() == arrays["c"].tolist()
        assert found["c"].tolist() == arrays["a"].tolist()


def simd_loops(kernel) -> list[int]:
    return [
        s.index.extent for s in statements(kernel.body) if isinstance(s, Loop) and s.kind is LoopKind.SIMD
    ]


def test_short_rows_run_in_lanes_across_rows():
    i, r = Index("i", 1000), Index("r", 2)
    buffers = {"x": array(1000, 2), "out": result(1000)}
    kernel = place("pairs", buffers, (i,), (Store("out", (i,), Reduce((r,), "add", x(i, r))),))
    assert simd_loops(schedule(kernel, 32)) == [1000]


@pytest.mark.takes_long
@pytest.mark.parametrize(("short", "lanes"), [(4, [24]), (16, [96, 16]), (48, [48])])
def test_rows_shorter_than_a_vector_add_up_by_columns(short: int, lanes: list[int]):
    """Such rows lie far apart in group normalisation. Lanes have the columns of all groups."""
    i, r, q = Index("i", 6), Index("r", 500), Index("q", short)
    buffers = {"x": array(500, 6, short), "out": result(6)}
    total = Reduce((r, q), "add", x(r, i, q))
    placed = place("groups", buffers, (i,), (Store("out", (i,), total),))
    made = schedule(placed, 64)
    assert simd_loops(made) == lanes
    row, *_ = [s for s in statements(made.body) if isinstance(s, Loop) and s.kind is LoopKind.SIMD]
    assert any(isinstance(s, Loop) for s in row.body) == (short < 48)
    arrays = filled(buffers) | {name: np.zeros(b.shape, "f4") for name, b in made.shared.items()}
    np.testing.assert_allclose(run(made, arrays)["out"], arrays["x"].sum((0, 2)), rtol=1e-5, atol=1e-4)


def test_a_recurrence_stays_serial():
    i, j = Index("i", 4), Index("j", 8)
    buffers = {"x": array(4, 9), "out": result(4, 9)}
    total = Load("out", (i, j), float32) + x(i, j)
    kernel = place("recurrence", buffers, (i, j), (Store("out", (i, j + 1), total),))
    scheduled = schedule(kernel, 32)
    assert 8 not in simd_loops(scheduled)
    arrays = filled(buffers)
    np.testing.assert_array_equal(run(kernel, arrays)["out"], run(scheduled, arrays, backwards=True)["out"])


def test_sums_to_places_that_may_coincide_stay_serial():
    i = Index("i", 9)
    at = (scalar.cast(Load("at", (i,), int32), int64),)
    value = Load("out", at, float32) + x(i)
    buffers = {"x": array(9), "at": array(9, dtype=int32), "out": result(5)}
    kernel = place("scatter", buffers, (i,), (Store("out", at, value),))
    assert simd_loops(schedule(kernel, 32)) == []


def test_a_row_that_is_read_once_is_not_gathered():
    i, j = Index("i", 8), Index("j", 20)
    buffers = {"x": array(4), "out": result(8, 20)}
    kernel = schedule(place("repeat", buffers, (i, j), (Store("out", (i, j), x(i // 2)),)), 32)
    assert [s.index.extent for s in statements(kernel.body) if isinstance(s, Loop)] == [8, 20]


def test_a_flat_position_that_is_divided_survives_the_merge():
    i, j = Index("i", 8), Index("j", 20)
    buffers = {"x": array(54), "out": result(8, 20)}
    kernel = schedule(place("repeat", buffers, (i, j), (Store("out", (i, j), x((i * 20 + j) // 3)),)), 32)
    assert [s.index.extent for s in statements(kernel.body) if isinstance(s, Loop)] == [160]


def test_extents_of_one_leave_no_loop():
    i, j, r = Index("i", 1), Index("j", 1), Index("r", 1)
    value = Reduce((r,), "add", x(i, r)) + Const(1, float32)
    kernel = place("k", {"x": array(1, 1), "out": result(1, 1)}, (i, j), (Store("out", (i, j), value),))
    (store,) = kernel.body
    assert isinstance(store, Store)
    assert store.value is x(Const(0, i.dtype), Const(0, i.dtype)) + 1.0
