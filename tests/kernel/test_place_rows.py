"""Kernels of rows do what their nests do one after the other over whole arrays."""

from __future__ import annotations

import numpy as np
import pytest

from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Index, Load, Reduce
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.schedule_cpu.row_schedule import place_rows
from staticgraph.compiler.kernel.schedule_cpu.schedule import chunked, schedule
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Store
from staticgraph.compiler.kernel.verify import verify
from tests.kernel.cases import array, filled, loads, result, run

pytestmark = pytest.mark.takes_long

x, y = loads("x"), loads("y")


def checked(kernel: Kernel, expected: dict[str, np.ndarray], arrays: dict[str, np.ndarray]) -> None:
    verify(kernel)
    arrays = arrays | filled(kernel.shared)
    for each in (kernel, schedule(kernel, 32), schedule(kernel, 64)):
        verify(each)
        for backwards in (False, True):
            found = run(each, arrays, backwards=backwards)
            for name, value in expected.items():
                np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-5, err_msg=name)


def test_a_row_buffer_holds_one_row():
    i, j, r = Index("i", 20), Index("j", 12), Index("r", 12)
    buffers = {
        "x": array(20, 12),
        "e": Buffer(float32, (12,), written=True, local=True),
        "out": result(20, 12),
    }
    top = Reduce((r,), "maximum", x(i, r))
    total = Reduce((r,), "add", Load("e", (r,), float32))
    nests = [
        Nest((i, j), (Store("e", (j,), scalar.exp(x(i, j) - top)),)),
        Nest((i, j), (Store("out", (i, j), Load("e", (j,), float32) / total),)),
    ]
    kernel = place_rows("softmax", buffers, (i,), nests)
    arrays = filled({n: b for n, b in buffers.items() if not b.local})
    e = np.exp(arrays["x"] - arrays["x"].max(1, keepdims=True))
    checked(kernel, {"out": e / e.sum(1, keepdims=True)}, arrays)
    assert "local e: float32[12]" in kernel_text(schedule(kernel, 64))


@pytest.mark.parametrize("rows", [2, 20, 33, 64, 97, 100, 200])
def test_column_sums(rows: int):
    i, j, r, c = Index("i", rows), Index("j", 9), Index("r", rows), Index("c", 9)
    buffers = {"x": array(rows, 9), "y": result(rows, 9), "sums": result(9), "most": result(9)}
    nests = [Nest((i, j), (Store("y", (i, j), x(i, j) * 2.0),))]
    sums = [
        Nest((c,), (Store("sums", (c,), Reduce((r,), "add", y(r, c)) + 1.0),)),
        Nest((c,), (Store("most", (c,), Reduce((r,), "maximum", x(r, c))),)),
    ]
    kernel = place_rows("sums", buffers, (i,), nests, sums)
    arrays = filled(buffers)
    a = arrays["x"]
    checked(kernel, {"y": a * 2, "sums": (a * 2).sum(0) + 1, "most": a.max(0)}, arrays)


def test_sums_over_several_axes_of_rows_and_what_is_in_them():
    n, h, c = Index("n", 6), Index("h", 8), Index("c", 5)
    rn, rh, rc = Index("rn", 6), Index("rh", 8), Index("rc", 5)
    buffers = {"x": array(6, 8, 5), "y": result(6, 8, 5), "channels": result(5), "all": result()}
    nests = [Nest((n, h, c), (Store("y", (n, h, c), scalar.exp(x(n, h, c))),))]
    sums = [
        Nest((c,), (Store("channels", (c,), Reduce((rn, rh), "add", y(rn, rh, c))),)),
        Nest((), (Store("all", (), Reduce((rn, rh, rc), "add", y(rn, rh, rc))),)),
    ]
    arrays = filled(buffers)
    e = np.exp(arrays["x"])
    checked(
        place_rows("sums", buffers, (n, h), nests, sums),
        {"y": e, "channels": e.sum((0, 1)), "all": e.sum()},
        arrays,
    )


def test_a_prime_number_of_rows_is_shared_out_too():
    i, j, r, c = Index("i", 997), Index("j", 300), Index("r", 300), Index("c", 300)
    e = Buffer(float32, (300,), written=True, local=True)
    buffers = {"x": array(997, 300), "e": e, "y": result(997, 300), "sums": result(300)}
    total = Reduce((r,), "add", Load("e", (r,), float32))
    nests = [
        Nest((i, j), (Store("e", (j,), scalar.exp(x(i, j))),)),
        Nest((i, j), (Store("y", (i, j), Load("e", (j,), float32) / total),)),
    ]
    k = Index("k", 997)
    sums = [Nest((c,), (Store("sums", (c,), Reduce((k,), "add", y(k, c))),))]
    kernel = schedule(place_rows("sums", buffers, (i,), nests, sums), 32)
    assert chunked(kernel, 32).phases[0].chunks > 16


def test_equal_sums_are_taken_once():
    r, c, d = Index("r", 64), Index("c", 5), Index("d", 5)
    buffers = {"x": array(64, 5), "a": result(5), "b": result(5)}
    sums = [
        Nest((c,), (Store("a", (c,), Reduce((r,), "add", x(r, c))),)),
        Nest((d,), (Store("b", (d,), Reduce((Index("q", 64),), "add", x(Index("q", 64), d)) * 2.0),)),
    ]
    kernel = place_rows("sums", buffers, (Index("i", 64),), [], sums)
    assert [name for name, b in kernel.buffers.items() if b.shared] == ["part0"]
    arrays = filled(buffers)
    total = arrays["x"].sum(0)
    checked(kernel, {"a": total, "b": total * 2}, arrays)


def test_sums_of_one_value_over_other_axes_are_apart():
    """A count of rows and one of elements both add ones."""
    r, q, s = Index("r", 64), Index("q", 64), Index("s", 3)
    one = Const(1.0, float32)
    buffers = {"rows": result(), "elements": result()}
    sums = [
        Nest((), (Store("rows", (), Reduce((r,), "add", one)),)),
        Nest((), (Store("elements", (), Reduce((q, s), "add", one)),)),
    ]
    kernel = place_rows("counts", buffers, (Index("i", 64),), [], sums)
    checked(kernel, {"rows": np.float32(64), "elements": np.float32(192)}, filled(buffers))
