"""Any kernel on the GPU: random ones, those of ops, and each kind of statement, do what they mean."""

from collections.abc import Sequence

import numpy as np
import pytest

from staticgraph.compiler.codegen.cuda.function import KernelWork
from staticgraph.compiler.graph.dtypes import float32, int32, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.lower_expressions import place
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Let,
    Loop,
    LoopKind,
    Share,
    Stmt,
    Store,
    Update,
    While,
)
from tests.gpu.printing import statements
from tests.gpu.random_kernels import drawn
from tests.gpu.running import compiled, run
from tests.kernel.cases import CASES, Arrays, array, filled, result, unplaced

pytestmark = pytest.mark.takes_long

x, y = (lambda *at: Load("x", at, float32)), (lambda *at: Load("y", at, float32))


def meant(kernel: Kernel, arrays: Arrays) -> Arrays:
    expected = {name: a.copy() for name, a in arrays.items()}
    interpret(kernel, expected | {n: np.zeros(b.shape, b.dtype.numpy) for n, b in kernel.shared.items()})
    return expected


def check(cases: Sequence[tuple[Kernel, Kernel, Arrays]]) -> list[KernelWork]:
    """Each of some kernels does what another one means."""
    works = [statements(kernel) for kernel, _, _ in cases]
    unit = compiled(works)
    for (kernel, meaning, arrays), work in zip(cases, works, strict=True):
        expected, found = meant(meaning, arrays), run(work, arrays, unit)
        for name in expected:
            tolerance = 1e-5 if expected[name].dtype == np.float32 else 1e-9
            np.testing.assert_allclose(
                found[name], expected[name], tolerance, tolerance, err_msg=kernel_text(kernel)
            )
    return works


def check_one(buffers: dict[str, Buffer], *body: Stmt, data: Arrays | None = None) -> KernelWork:
    kernel = Kernel("example", buffers, body)
    arrays = filled(kernel.arguments, 7) | (data or {})
    (work,) = check([(kernel, kernel, arrays)])
    return work


def test_cases():
    check([(case.placed(), case.placed(), filled(case.buffers, 3)) for case in CASES])


def test_random_kernels():
    check(
        [
            (place("random", buffers, *rest), unplaced("meaning", buffers, *rest), filled(buffers))
            for buffers, *rest in drawn(120)
        ]
    )


def threads(work: KernelWork) -> list[int]:
    """Return the number of threads that run each function."""
    return [call.function.grid[0] * call.function.block[0] for call in work.calls]


def test_independent_loops_become_threads():
    """Both of them, though there is a definition in between, and a third one within."""
    i, j, k, total = Index("i", 40), Index("j", 7), Index("k", 5), Local("total", float32)
    scale = Local("scale", float32)
    row = (
        Let(total, scale),
        Loop(k, (Update(total, total * x(i, j, k), "mul"),)),
        Store("y", (j, i), total),
    )
    body = Loop(i, (Let(scale, Load("s", (i,), float32) + 1.0), Loop(j, row)))
    work = check_one({"s": array(40), "x": array(40, 7, 5), "y": result(7, 40)}, body)
    assert threads(work) == [512]


def test_stores_of_single_elements_are_one_function():
    """The pieces of a result, one beside and one below the others, and another result."""
    a, b, c = (Load(name, (Index("i", 3), Index("j", 8)), float32) for name in "abc")
    i, j = Index("i", 3), Index("j", 8)
    stores = (
        Store("y", (i, j), a * 2.0),
        Store("y", (i, j + 8), b + 1.0),
        Store("y", (i + 3, j * 2), c),
        Store("y", (i + 3, j * 2 + 1), c * c),
        Store("z", (j, i), a + b),
    )
    buffers = {name: array(3, 8) for name in "abc"} | {"y": result(6, 16), "z": result(8, 3)}
    work = check_one(buffers, *(Loop(i, (Loop(j, (store,)),)) for store in stores))
    assert len(work.calls) == 1 and work.calls[0].function.grid == (5, 1, 1)
    overlapping = (stores[0], Store("y", (i, j + 7), b))
    work = check_one(buffers, *(Loop(i, (Loop(j, (store,)),)) for store in overlapping))
    assert len(work.calls) == 2


def test_a_loop_that_needs_its_own_past_stays_with_its_thread():
    i, j = Index("i", 300), Index("j", 30)
    step = Store("y", (i, j + 1), y(i, j) * 0.5 + x(i, j))
    work = check_one({"x": array(300, 30), "y": result(300, 31)}, Loop(i, (Loop(j, (step,)),)))
    assert threads(work) == [512]
    work = check_one({"x": array(300), "y": result(301)}, Loop(i, (Store("y", (i + 1,), y(i) * 0.5 + x(i)),)))
    assert threads(work) == [1]


def test_an_inner_loop_is_spread_where_the_outer_one_cannot():
    """Rows that follow from each other, element by element, with a condition in between."""
    i, j = Index("i", 30), Index("j", 70)
    number, use = Load("n", (i,), int32), Local("use", int32)
    step = Store("y", (i + 1, j), y(i, j) + x(i, j))
    body = Loop(i, (Let(use, number * 2), If(use > 0, (Loop(j, (step,)),))))
    work = check_one({"n": array(30, dtype=int32), "x": array(30, 70), "y": result(31, 70)}, body)
    assert threads(work) == [96]


def test_a_condition_that_changes_with_what_is_stored_is_not_repeated():
    i, j = Index("i", 30), Index("j", 70)
    body = Loop(i, (If(y(Const(0, int64)) < 5.0, (Loop(j, (Store("y", (j,), y(j) + 1.0),)),)),))
    assert threads(check_one({"y": result(70)}, body)) == [1]


def test_a_number_for_all_is_computed_before():
    """It goes to the threads through memory, or is computed again where that is simple."""
    total, half, i = Local("total", float32), Local("half", float32), Index("i", 50)
    steps = (
        Let(total, Const(0.0, float32)),
        Loop(i, (Update(total, total + x(i), "add"),)),
        Let(half, Load("n", (), float32) * 0.5),
        Loop(Index("j", 50), (Store("y", (Index("j", 50),), x(Index("j", 50)) / total + half),)),
    )
    work = check_one({"x": array(50), "n": array(), "y": result(50)}, *steps)
    assert [call.function.name.split("_")[0] for call in work.calls] == ["example", "pointwise"]
    assert [name for name, _ in work.scratch] == ["kept_total"]


def test_while_and_if():
    """The steps of Collatz's sequence."""
    i, at, count = Index("i", 90), Local("at", int64), Local("count", int64)
    odd = scalar.eq(at % 2, 1)
    body = (
        Let(at, i + 1),
        Let(count, Const(0, int64)),
        While(
            scalar.ne(at, 1),
            (Update(at, scalar.select(odd, at * 3 + 1, at // 2)), Update(count, count + 1)),
        ),
        If(count > 20, (Store("y", (i,), scalar.cast(count, float32)),)),
    )
    assert threads(check_one({"y": result(90)}, Loop(i, body))) == [96]


def test_an_update_is_seen_by_what_comes_after():
    """Values made of an updated local or element are computed again, in loops and after branches."""
    i, a = Index("i", 9), Local("a", float32)
    body = (
        Let(a, x(i)),
        Store("y", (i,), a * a),
        If(a > 0.0, (Update(a, a + 1.0),)),
        Store("z", (i,), a * a + y(i) * y(i)),
        Loop(Index("k", 3), (Update(a, a * a + 1.0), Store("y", (i,), y(i) * 0.5 + a * a))),
        Store("w", (i,), a * a + y(i) * y(i)),
    )
    buffers = {"x": array(9), "y": result(9), "z": result(9), "w": result(9)}
    check_one(buffers, Loop(i, body), data={"x": np.linspace(-1, 1, 9).astype(np.float32)})


def rows_with_scratch(rows: int, width: int) -> tuple[dict[str, Buffer], Stmt]:
    """Rows that are turned round, by way of a local buffer."""
    i, j, k = Index("i", rows), Index("j", width), Index("k", width)
    row = Load("row", (width - 1 - k,), float32)
    body = (Loop(j, (Store("row", (j,), x(i, j) * 2.0),)), Loop(k, (Store("y", (i, k), row),)))
    local = Buffer(float32, (width,), written=True, local=True)
    return {"x": array(rows, width), "y": result(rows, width), "row": local}, Loop(i, body)


def test_scratch_memory_of_threads():
    """A little is an array of the thread, more lies in memory, and a great deal has fewer threads."""
    work = check_one(*rows_with_scratch(300, 8))
    assert work.scratch == () and threads(work) == [512]
    work = check_one(*rows_with_scratch(40, 130))
    assert work.scratch == (("row", 64 * 520),)
    buffers, body = rows_with_scratch(300, 8)
    buffers["row"] = Buffer(float32, (160 << 10,), written=True, local=True)
    work = statements(Kernel("example", buffers, (body,)))
    assert threads(work) == [256] and work.scratch == (("row", 256 * 640 << 10),)
    arrays = filled({name: buffers[name] for name in "xy"})
    np.testing.assert_array_equal(run(work, arrays, schedules=(6,))["y"], arrays["x"][:, ::-1] * 2)


def test_scratch_memory_of_the_whole_kernel():
    """Scratch memory that one statement fills for another one, and memory that is shared in any case."""
    i, k = Index("i", 60), Index("k", 60)
    buffers = {
        "x": array(60),
        "y": result(60),
        "a": Buffer(float32, (60,), True, local=True),
        "b": Buffer(float32, (60,), True, shared=True),
    }
    body = (
        Loop(i, (Store("a", (i,), x(i) + 1.0), Store("b", (i,), x(i) * 2.0))),
        Loop(k, (Store("y", (k,), Load("a", (59 - k,), float32) + Load("b", (59 - k,), float32)),)),
    )
    work = check_one(buffers, *body)
    assert dict(work.scratch) == {"a": 240, "b": 240}


def test_parts_of_a_loop():
    """A loop that is shared out among the iterations of a parallel one."""
    chunk, i = Index("chunk", 7), Index("i", 1000)
    total = Local("total", float32)
    part = Loop(i, (Update(total, total + x(i), "add"),), share=Share(chunk, 7, 16))
    body = (Let(total, Const(0.0, float32)), part, Store("y", (chunk,), total))
    check_one({"x": array(1000), "y": result(7)}, Loop(chunk, body, LoopKind.PARALLEL))


def test_positions_from_memory():
    """They are clamped; the arithmetic of wide positions goes round in 32 bits and ends where it should."""
    i, j = Index("i", 12), Index("j", 5)
    row: Expr = scalar.minimum(scalar.maximum(Load("n", (i,), int64) - (1 << 40), 0), 9)
    far, local = scalar.maximum(row, 2), Local("row", int64)
    body = (Let(local, far), Loop(j, (Store("y", (i, j), x(local, j) + x(row, 4 - j)),)))
    buffers = {"n": array(12, dtype=int64), "x": array(10, 5), "y": result(12, 5)}
    work = check_one(buffers, Loop(i, body), data={"n": np.arange(12) + (1 << 40) - 1})
    assert "unsigned" in work.calls[0].function.text


def test_nothing_to_do():
    i = Index("i", 0)
    work = statements(Kernel("empty", {"y": result(3)}, (Loop(i, (Store("y", (i,), Const(1.0, float32)),)),)))
    assert work.calls == ()


def test_text_of_a_function():
    """A function has every operation once, and its positions are int."""
    i, k, total = Index("i", 300), Index("k", 4), Local("total", float32)
    part = x(i, k) * 2.0
    body = (
        Let(total, Const(0.0, float32)),
        Loop(k, (Update(total, total + part * part, "add"),)),
        Store("y", (i,), total),
    )
    (call,) = statements(Kernel("sums", {"x": array(300, 4), "y": result(300)}, (Loop(i, body),))).calls
    head, _, text = call.function.text.partition("{\n")
    assert head.endswith("(const float* __restrict__ x, float* __restrict__ y) ")
    assert text == TEXT


TEXT = """\
  const int thread = int(blockIdx.x) * 256 + threadIdx.x;
  if (thread < 300) {
    float total_1 = 0.0f;
    for (int k_2 = 0; k_2 < 4; ++k_2) {
      const float t_3 = x[thread * 4 + k_2];
      const float t_4 = t_3 * 2.0f;
      const float t_5 = t_4 * t_4;
      const float t_6 = total_1 + t_5;
      total_1 = t_6;
    }
    y[thread] = total_1;
  }
}"""
