"""Index arithmetic with open sizes: what is decided, and what is left as it is."""

import subprocess
import sys

import pytest

from staticgraph.compiler.graph.dtypes import bool_, float32, int64
from staticgraph.compiler.graph.sizes import AnySize, symbol
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.digest import digest
from staticgraph.compiler.kernel.expr import Const, Expr, Extent, Index, Load
from staticgraph.compiler.kernel.indices.affine import bounds, linear
from staticgraph.compiler.kernel.indices.extremes import extremes, is_within
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.printer import expression_text, kernel_text
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, Share, Store

N, T = symbol("n"), symbol("t")
i, j, flat = Index("i", N), Index("j", 7), Index("f", N * 7)
b, both = Index("b", T), Index("q", N * T)


@pytest.mark.parametrize(
    ("expr", "simple"),
    [
        ((i * 7 + j) // 7, i),
        ((i * 7 + j) % 7, j),
        (Extent(N * 2 + 3) - 2 * Extent(N), Const(3, int64)),
        (i < Extent(N), Const(True, bool_)),
        (i >= Extent(N), Const(False, bool_)),
        (i - N < 0, Const(True, bool_)),
        (i + 1 <= Extent(N), Const(True, bool_)),
        (flat // 7 < Extent(N), Const(True, bool_)),
        (scalar.eq(i, Extent(N)), Const(False, bool_)),
        (scalar.minimum(i, N - 1), i),
        (scalar.maximum(i, 0), i),
        (scalar.select(i < Extent(N), i, 0), i),
        ((b * N + i) // N, b),
        ((b * N + i) % N, i),
        ((b * (N * 7) + i * 7 + j) // (N * 7), b),
        ((b * (N * 7) + i * 7 + j) // 7 % N, i),
        ((both * 7 + j) // (N * 7), both // N),
        ((both * 7 + j) // 7 % N, both % N),
        ((both // N) * N + both % N, both),
        (scalar.minimum(both // N, T - 1), both // N),
        (b * N + i < N * T, Const(True, bool_)),
    ],
)
def test_decided(expr: Expr, simple: Expr):
    assert simplify_index(expr) is simple


@pytest.mark.parametrize(
    "expr", [i < 5, i < Extent(T), scalar.minimum(i, 5), i < Extent(N) - 1, flat // 7, b * N // N, j // N]
)
def test_left_alone(expr: Expr):
    assert simplify_index(expr) is expr


@pytest.mark.parametrize(
    ("place", "extent", "inside"),
    [
        (i, N, True),
        (i, N + 3, True),
        (i + 3, N + 3, True),
        (i, N * 2, True),
        (i, N * T, False),  # there may be no t
        (N - 1 - i, N, True),
        (flat // 7, N, True),
        (flat % 7, 7, True),
        (i // 2, N, True),
        (scalar.minimum(i * 2 + 1, N - 1), N, True),  # there is one, if the loop runs
        (scalar.minimum(j, N - 1), N, False),
        ((i + 3) % N, N, True),
        (flat % N, N, True),
        (j % N, N, False),  # zero, if there is none
        (i + 1, N, False),
        (i - 1, N, False),
        (i, 7, False),
        (j, N, False),
        (Const(0, int64), N, False),
        (Const(0, int64), N + 1, True),
        (Index("k", N * T), T * N, True),
        (b * N + i, N * T, True),
        (i * T + b, N * T, True),
        (i * T + i, N * T, False),
        (both // N, T, True),
        (both // T, T, False),
        (both % N, N, True),
        (Index("k", (N - 1) * (T - 1)) // (N - 1), T - 1, False),  # both may be negative
    ],
)
def test_positions(place: Expr, extent: AnySize, inside: bool):
    assert is_within(place, extent) == inside


def test_ranges():
    assert bounds(i) == (0, 2**31 - 2)
    assert extremes(i) == (0, N - 1)
    assert extremes(flat // 7 * 7) == (0, N * 7 - 7)
    huge = Index("k", N * T * 1000)
    assert bounds(huge)[1] < 2**62  # no loop is as long as that
    assert linear(Extent(N * 784 + 3)).terms == {Extent(N): 784}


def test_text():
    loop = Loop(i, (Store("y", (i,), Load("x", (N - 1 - i,), float32)),), share=Share(Index("c", 4), 4))
    buffers = {"x": Buffer(float32, (N,)), "y": Buffer(float32, (N,), written=True)}
    assert kernel_text(Kernel("reverse", buffers, (loop,))) == (
        "kernel reverse(x: float32[n], y: float32[n] written):\n"
        "  for i in 0..n part c of 4:\n"
        "    y[i] = x[(n - 1) - i]\n"
    )
    assert expression_text(i * 2 + Extent(N * 2)) == "i * 2 + (2*n)"


SCRIPT = """
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.sizes import symbol
from staticgraph.compiler.kernel.digest import digest
from staticgraph.compiler.kernel.expr import Extent, Index
from staticgraph.compiler.kernel.stmt import Buffer
n, t = symbol("n"), symbol("t")
print(digest(Index("i", n * t + 2 * n // 3), Extent(t), Buffer(float32, (n, 7)), n))
"""


def test_digest():
    assert digest(i) == digest(Index("i", symbol("n"))) != digest(Index("i", T))
    assert digest(Extent(N)) != digest(Extent(T))
    made = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(made) == 1 and "" not in made
