"""Long bodies of conditions are functions of their own, which LLVM begins with before all text is there."""

import numpy as np
import pytest

from staticgraph.compiler.codegen.llvm import kernel as llvm
from staticgraph.compiler.codegen.llvm import parts
from staticgraph.compiler.codegen.llvm.text import Code, with_calls
from staticgraph.compiler.graph.dtypes import float32, int64
from staticgraph.compiler.graph.sizes import symbol
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Extent, Index, Load, Local
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Let,
    Loop,
    LoopKind,
    Span,
    Stmt,
    Store,
    Update,
)
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import launch

N = symbol("n")
SIZES = (1, 16, 37)
NUMBERS = {"x": 3, "y": 5, "z": 3}  # the constant of the case that writes to a buffer: two are alike


def chain(value: Expr, factor: float) -> Expr:
    """A value after many operations, none of which another one repeats."""
    for step in range(40):
        value = value * factor + float(step)
    return value


def cases(kind: LoopKind) -> Kernel:
    """Repeated twice: a case for each buffer, which reads a local, a loop variable and an open size."""
    round_, total = Index("round", 2), Local("total", float32)

    def case(name: str, number: int) -> tuple[Stmt, ...]:
        lane = Index(f"lane_{name}", N)
        found = chain(Load("given", (lane,), float32) * 0.25, 0.5 + number / 16)
        value = found + total + scalar.cast(round_ + Extent(N), float32)
        return (Loop(lane, (Store(name, (lane,), value),), kind, Span(Const(0, int64), Extent(N))),)

    chosen = (If(scalar.ge(round_, n), case(name, c)) for n, (name, c) in enumerate(NUMBERS.items()))
    rounds = Loop(round_, (Let(total, Load("x", (Const(0, int64),), float32)), *chosen))
    buffers = {name: Buffer(float32, (N,), written=True) for name in NUMBERS} | {
        "given": Buffer(float32, (N,))
    }
    return Kernel("cases", buffers, (rounds,))


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions are cut that are not long."""
    monkeypatch.setattr(parts, "_LONG", 100)
    monkeypatch.setattr(llvm, "_MANY", 0)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("kind", [LoopKind.SIMD, LoopKind.SERIAL])
def test_parts_do_what_is_meant_and_equal_ones_are_one(kind: LoopKind) -> None:
    kernel, begun = cases(kind), list[Code]()
    code = llvm.emit_phases([kernel], cpu_jit.host(), begin=begun.append)
    (phase,) = code.phases
    assert len(begun) == 3
    assert {*begun} == {*phase.code.calls}
    assert len({*begun}) == 2  # those of x and of z
    assert [each.name for each in code.listings] == [each.name for each in with_calls([phase.code])]
    for n in SIZES:
        rng = np.random.default_rng(n)
        given = {name: rng.normal(size=n).astype(np.float32) for name in kernel.buffers}
        found, meant = ({name: a.copy() for name, a in given.items()} for _ in range(2))
        launch(code, [a.ctypes.data for a in found.values()], {"n": n})
        interpret(kernel, meant, sizes={"n": n})
        for name in NUMBERS:
            np.testing.assert_allclose(found[name], meant[name], rtol=1e-5, err_msg=f"{name}, n = {n}")


@pytest.mark.usefixtures("short")
def test_a_body_that_updates_a_local_is_no_part() -> None:
    total, lane = Local("total", float32), Index("lane", 64)
    value = chain(Load("x", (lane,), float32), 0.5)
    inside = Loop(lane, (Update(total, total + value, "add"),), LoopKind.SIMD)
    body = Let(total, Const(0.0, float32)), If(Load("x", (Const(0, int64),), float32) > 0.0, (inside,))
    buffers = {"x": Buffer(float32, (64,)), "y": Buffer(float32, (1,), written=True)}
    kernel = Kernel("sum", buffers, (*body, Store("y", (Const(0, int64),), total)))
    (phase,) = llvm.emit(kernel, cpu_jit.host()).phases
    assert not phase.code.calls


def test_code_of_a_short_kernel_is_one_function() -> None:
    (phase,) = llvm.emit(cases(LoopKind.SIMD), cpu_jit.host()).phases
    assert not phase.code.calls
