"""Kernels that the tests of this folder share, as the lowering would hand them to `place`."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, float32, float64, int32, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Reduce
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.lower_expressions import place
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, Stmt, Store

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """The arguments of `place`, and what the written arrays should hold."""

    name: str
    buffers: dict[str, Buffer]
    domain: tuple[Index, ...]
    stores: tuple[Store, ...]
    expected: Callable[[Arrays], Arrays]

    def placed(self) -> Kernel:
        return place(self.name, self.buffers, self.domain, self.stores)


def unplaced(
    name: str, buffers: dict[str, Buffer], domain: tuple[Index, ...], stores: tuple[Store, ...]
) -> Kernel:
    """Kernel as `place` is asked for, at its plainest: each store at each point, reductions on the spot."""
    body: tuple[Stmt, ...] = stores
    for index in reversed(domain):
        body = (Loop(index, body),)
    return Kernel(name, buffers, body)


def array(*shape: int, dtype: DType = float32) -> Buffer:
    return Buffer(dtype, shape)


def result(*shape: int, dtype: DType = float32) -> Buffer:
    return Buffer(dtype, shape, written=True)


def filled(buffers: dict[str, Buffer], seed: int = 0) -> Arrays:
    """Random arrays for all buffers, small integers in those of integers."""
    rng = np.random.default_rng(seed)
    return {
        name: rng.integers(-9, 10, b.shape).astype(b.dtype.numpy)
        if b.dtype.is_integer
        else b.dtype.round(rng.normal(size=b.shape))
        for name, b in buffers.items()
    }


def run(kernel: Kernel, arrays: Arrays, backwards: bool = False) -> Arrays:
    """The written arrays after `kernel` ran on copies of `arrays`."""
    arrays = {name: a.copy() for name, a in arrays.items()}
    interpret(kernel, arrays, backwards)
    return {name: arrays[name] for name, b in kernel.arguments.items() if b.written}


def loads(name: str, dtype: DType = float32) -> Callable[..., Expr]:
    return lambda *at: Load(name, at, dtype)


x, w, g, b = loads("x"), loads("w"), loads("g"), loads("b")


def softmax() -> Case:
    i, j, r = Index("i0", 40), Index("i1", 60), Index("r1", 60)

    def weight(j: Expr) -> Expr:
        return scalar.exp(x(i, j) - Reduce((r,), "maximum", x(i, r)))

    def expected(arrays: Arrays) -> Arrays:
        e = np.exp(arrays["x"] - arrays["x"].max(1, keepdims=True))
        return {"out": e / e.sum(1, keepdims=True)}

    value = weight(j) / Reduce((r,), "add", weight(r))
    buffers = {"x": array(40, 60), "out": result(40, 60)}
    return Case("softmax", buffers, (i, j), (Store("out", (i, j), value),), expected)


def layer_norm() -> Case:
    """Normalised rows with gain and bias, and the mean of each row as a second result."""
    i, j, r, s = Index("i0", 8), Index("i1", 48), Index("r1", 48), Index("s1", 48)
    mean = Reduce((r,), "add", x(i, r)) / 48.0
    variance = Reduce((s,), "add", x(i, s) * x(i, s)) / 48.0 - mean * mean
    value = (x(i, j) - mean) / scalar.sqrt(variance + 1e-3) * g(j) + b(j)

    def expected(arrays: Arrays) -> Arrays:
        v = arrays["x"]
        normal = (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-3)
        return {"out": normal * arrays["g"] + arrays["b"], "mean": v.mean(1)}

    return Case(
        "layer_norm",
        {"x": array(8, 48), "g": array(48), "b": array(48), "out": result(8, 48), "mean": result(8)},
        (i, j),
        (Store("out", (i, j), value), Store("mean", (i,), mean)),
        expected,
    )


def column_sum() -> Case:
    j, r = Index("i0", 60), Index("r0", 40)
    value = Reduce((r,), "add", x(r, j))
    buffers = {"x": array(40, 60), "out": result(60)}
    stores = (Store("out", (j,), value),)
    return Case("column_sum", buffers, (j,), stores, lambda a: {"out": a["x"].sum(0)})


def centred_columns() -> Case:
    """The sums do not read the outer loop: without reordering they would be repeated in each row."""
    i, j, r = Index("i0", 40), Index("i1", 60), Index("r0", 40)
    value = x(i, j) - Reduce((r,), "add", x(r, j)) / 40.0
    buffers = {"x": array(40, 60), "out": result(40, 60)}
    stores = (Store("out", (i, j), value),)
    return Case("centred_columns", buffers, (i, j), stores, lambda a: {"out": a["x"] - a["x"].mean(0)})


def matmul() -> Case:
    i, j, r = Index("i0", 12), Index("i1", 30), Index("r", 20)
    value = Reduce((r,), "add", x(i, r) * w(r, j))
    buffers = {"x": array(12, 20), "w": array(20, 30), "out": result(12, 30)}
    return Case("matmul", buffers, (i, j), (Store("out", (i, j), value),), lambda a: {"out": a["x"] @ a["w"]})


def transposed() -> Case:
    i, j = Index("i0", 12), Index("i1", 20)
    buffers = {"x": array(20, 12), "out": result(12, 20)}
    stores = (Store("out", (i, j), scalar.tanh(x(j, i))),)
    return Case("transposed", buffers, (i, j), stores, lambda a: {"out": np.tanh(a["x"].T)})


def strided_result() -> Case:
    """Both arrays are walked along their first axis: the loops change places, then become one."""
    i, j = Index("i0", 12), Index("i1", 20)
    buffers = {"x": array(20, 12), "out": result(20, 12)}
    stores = (Store("out", (j, i), scalar.tanh(x(j, i))),)
    return Case("strided_result", buffers, (i, j), stores, lambda a: {"out": np.tanh(a["x"])})


def bias_add() -> Case:
    i, j, k = Index("i0", 4), Index("i1", 6), Index("i2", 20)
    buffers = {"x": array(4, 6, 20), "b": array(20), "out": result(4, 6, 20)}
    stores = (Store("out", (i, j, k), x(i, j, k) + b(k)),)
    return Case("bias_add", buffers, (i, j, k), stores, lambda a: {"out": a["x"] + a["b"]})


def full_sum() -> Case:
    r, s = Index("r0", 12), Index("r1", 20)
    buffers = {"x": array(12, 20, dtype=float64), "out": result(dtype=float64)}
    stores = (Store("out", (), Reduce((r, s), "add", loads("x", float64)(r, s))),)
    return Case("full_sum", buffers, (), stores, lambda a: {"out": a["x"].sum()})


def adam() -> Case:
    """Three results in place that share their parts."""
    i = Index("i0", 50)
    m, v = loads("m"), loads("v")
    new_m = m(i) * 0.9 + g(i) * 0.1
    new_v = v(i) * 0.99 + g(i) * g(i) * 0.01
    step = new_m / (scalar.sqrt(new_v) + 1e-8)

    def expected(a: Arrays) -> Arrays:
        m, v = a["m"] * 0.9 + a["g"] * 0.1, a["v"] * 0.99 + a["g"] ** 2 * 0.01
        return {"m": m, "v": v, "w": a["w"] - 0.1 * m / (np.sqrt(v) + 1e-8)}

    positive = Store("v", (i,), new_v)
    buffers = {"g": array(50), "m": result(50), "v": result(50), "w": result(50)}
    return Case(
        "adam",
        buffers,
        (i,),
        (Store("m", (i,), new_m), positive, Store("w", (i,), w(i) - step * 0.1)),
        expected,
    )


def gather_rows() -> Case:
    i, j = Index("i0", 7), Index("i1", 24)
    row = scalar.cast(Load("rows", (i,), int32), int64)
    buffers = {"x": array(10, 24), "rows": Buffer(int32, (7,)), "out": result(7, 24)}
    clamped = scalar.maximum(scalar.minimum(row, 9), 0)
    stores = (Store("out", (i, j), x(clamped, j)),)
    return Case("gather_rows", buffers, (i, j), stores, lambda a: {"out": a["x"][np.clip(a["rows"], 0, 9)]})


CASES = [
    make()
    for make in (
        softmax,
        layer_norm,
        column_sum,
        centred_columns,
        matmul,
        transposed,
        strided_result,
        bias_add,
        full_sum,
        adam,
        gather_rows,
    )
]
