"""Kernels that differ in numbers alone are one kernel with parameters, which gives the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.function import Function, Value
from staticgraph.compiler.kernel.digest import digest
from staticgraph.compiler.kernel.expr import Const, ScalarParameter
from staticgraph.compiler.lower import kernel_dedup
from staticgraph.compiler.lower.kernel_dedup import KernelTable
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.program import Launch

FORMS = {
    "arithmetic": lambda x, c: x * c - x / c,
    "a sum of all": lambda x, c: sg.reduce_sum(sg.sin(x * c) + x / c),
    "sums of rows": lambda x, c: sg.reduce_sum(x * c + c, 1),
    "the greatest of columns": lambda x, c: sg.reduce_max(x - c, 0),
    "softmax": lambda x, c: sg.nn.softmax(x * c),
    "a product": lambda x, c: sg.matmul(x, x, transpose_b=True) * c,
    "a sum of products": lambda x, c: sg.reduce_sum(x * x * c),
    "a power": lambda x, c: sg.maximum(x, c) ** c,
    "a choice": lambda x, c: sg.where(x > c, x, x * c),
    "a scan": lambda x, c: sg.cumsum(x * c),
    "a remainder": lambda x, c: x % c,
    "sums of multiples": lambda x, c: x * c + x,
}
NUMBERS = [0.1, 0.5, 2.0, 3.7, -1.5, 1e-30, 12345.678]


@pytest.mark.takes_long
@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FORMS)
def test_same_bits(name: str, dtype: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch):
    x = sg.placeholder(dtype, [37, 70])
    made = [FORMS[name](x, c) for c in NUMBERS]
    value = rng.normal(size=(37, 70))
    shared = sg.Session().run(made, {x: value})
    monkeypatch.setattr(kernel_dedup, "_MANY", 1000)
    single = sg.Session().run(made, {x: value})
    assert [a.tobytes() for a in shared] == [a.tobytes() for a in single]


def launches(make: Any, numbers: list[float], parameters: bool = True) -> list[Launch]:
    build = Builder()
    x = build.parameter("x", "float32", (6, 8))
    function = Function((x,), tuple(make(x, c) for c in numbers))
    program = lower(fuse(function, {"join"}), len(numbers), {}, kernels=KernelTable(parameters))
    return [i for i in program.instructions if isinstance(i, Launch)]


def different(made: list[Launch]) -> int:
    return len({id(launch.work) for launch in made})


def scaled(x: Value, by: float) -> Value:
    return ops.exp(x * by)


def test_many_share_one_kernel():
    assert different(launches(scaled, [2.0, 3.0, 4.0, 5.0, 6.0])) == 1
    assert different(launches(scaled, [2.0, 3.0, 4.0])) == 3
    assert different(launches(scaled, [2.0, 3.0, 4.0, 5.0, 6.0], parameters=False)) == 5


def test_numbers_that_mean_more_stay_in_the_code():
    made = launches(scaled, [2.0, 3.0, 4.0, 5.0, float("inf"), 0.0, -1.0])
    assert different(made) >= 3
    assert different(made[:4]) == 1


def test_a_product_keeps_its_numbers():
    build = Builder()
    xs = [build.parameter(f"x{n}", "float32", (64, 64)) for n in range(5)]
    made = [ops.matmul(x, x) * c for x, c in zip(xs, NUMBERS, strict=False)]
    program = lower(fuse(Function(tuple(xs), tuple(made))), 5, {}, kernels=KernelTable(parameters=True))
    assert different([i for i in program.instructions if isinstance(i, Launch)]) == 5


def test_a_parameter_is_read_from_its_buffer():
    (launch, *_) = launches(scaled, [2.0, 3.0, 4.0, 5.0])
    assert [buffer.shape for _, buffer in launch.work.buffers].count(()) == 1
    parameter = ScalarParameter("b1", float32)
    assert isinstance(parameter, Const)
    assert digest(parameter) != digest(Const(parameter.value, parameter.dtype))


READS = {
    "rows": lambda x, n: sg.sin(x[n : n + 40]),
    "a row": lambda x, n: sg.exp(x[n]),
    "sums of rows": lambda x, n: sg.reduce_sum(sg.exp(x[3 * n : 3 * n + 20])),
    "two places": lambda x, n: x[n] * x[2 * n + 3],
    "a part of each row": lambda x, n: sg.reduce_max(x[n : n + 9, 2:5], 1),
    "every second row": lambda x, n: sg.tanh(x[n : n + 30 : 2]),
    "a column": lambda x, n: sg.tanh(x[:, n % 7]) + n,
    "a part of each row that moves": lambda x, n: sg.exp(x[:, n // 2 : n // 2 + 2]),
    "a column of some rows": lambda x, n: sg.sin(x[n : n + 20, n % 7]),
    "a product of columns": lambda x, n: sg.matmul(x[:, n // 3 : n // 3 + 3], x[:3], name=f"p{n}"),
    "every second column": lambda x, n: sg.tanh(x[:, n % 3 : n % 3 + 4 : 2]),
    "from the end": lambda x, n: sg.reverse(x[n : n + 10], [0]) + 1.0,
    "softmax": lambda x, n: sg.nn.softmax(x[n : n + 8]),
    "side by side": lambda x, n: sg.concat([x[n : n + 3] * 2.0, x[n + 1 : n + 4]], 1),
    "a product": lambda x, n: sg.matmul(x[16 * n : 16 * n + 16], x[:16], transpose_b=True),
    "a product of one row": lambda x, n: sg.matmul(x[n][None], x[:16], transpose_b=True) * 0.5,
}


@pytest.mark.takes_long
@pytest.mark.by_turns("columns")
@pytest.mark.parametrize("columns", [16, 7])
@pytest.mark.parametrize("name", READS)
def test_same_bits_of_windows(
    name: str, columns: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
):
    x = sg.placeholder("float32", [200, columns])
    made = [READS[name](x, n) for n in range(12)]
    value = rng.normal(size=(200, columns))
    shared = sg.Session().run(made, {x: value})
    monkeypatch.setattr(kernel_dedup, "_MANY", 1000)
    single = sg.Session().run(made, {x: value})
    assert [a.tobytes() for a in shared] == [a.tobytes() for a in single]


@pytest.mark.parametrize("size", [5, None])
def test_slices_of_an_inner_axis_share_kernels(size: int | None, rng: np.random.Generator):
    """As the steps of a recurrent net that is written out do, whose batch may be open."""
    x = sg.placeholder("float32", [size, 24, 16])
    steps = [sg.exp(x[:, t]) * 0.5 for t in range(24)]
    value = rng.normal(size=(5, 24, 16)).astype(np.float32)
    with sg.Session(passes="-join") as session:
        compiled = session.executable(steps, {x: value}).compiled
        made = session.run(steps, {x: value})
        for rows in (0, 1, 3) if size is None else ():
            more = session.run(steps, {x: value[:rows]})
            np.testing.assert_array_equal(np.array(more), np.array(made)[:, :rows])
    assert len(compiled.codes) <= 3
    np.testing.assert_allclose(np.array(made).swapaxes(0, 1), np.exp(value) * 0.5, rtol=1e-6)


def test_rows_at_aligned_addresses_share_one_kernel():
    x: Any = Builder().parameter("x", "float32", (100, 16))
    rows = [ops.exp(ops.strided_slice(x, begin=[n], end=[n + 8], strides=[1])) for n in range(9)]
    function = Function((x,), tuple(rows))
    program = lower(fuse(function, {"join"}), len(rows), {}, kernels=KernelTable(parameters=True))
    made = [i for i in program.instructions if isinstance(i, Launch)]
    assert different(made) == 1
    assert [launch.reads[0].offset for launch in made] == [64 * n for n in range(9)]
    assert all(buffer.shape == (8, 16) for launch in made for _, buffer in launch.work.buffers)


def test_a_variable_is_not_overwritten_while_other_rows_of_it_are_read(rng: np.random.Generator):
    start = rng.normal(size=(40, 16)).astype(np.float32)
    variables = [sg.Variable(start) for _ in range(6)]
    updates = [v.assign(sg.concat([v[n:] * 2.0, v[:n]], 0) + v) for n, v in enumerate(variables, 1)]
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        for made, n in zip(session.run(updates), range(1, 7), strict=True):
            np.testing.assert_array_equal(made, np.concatenate([start[n:] * 2, start[:n]]) + start)
