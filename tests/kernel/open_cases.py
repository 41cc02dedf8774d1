"""Kernels whose outermost extents may be open, as the lowering would hand them on."""

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, bool_, float32, float64, int32, int64
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Extent, Index, Load, Reduce
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.stmt import Buffer, Store
from tests.kernel.cases import Arrays, array, loads, result
from tests.kernel.open_case import OpenCase
from tests.kernel.open_case import one as _one

x, w, g, h = loads("x"), loads("w"), loads("g"), loads("h")


def elementwise(width: int, dtype: DType = float32) -> Callable[..., OpenCase]:
    def made(n: AnySize, t: AnySize) -> OpenCase:
        i, j, x = Index("i0", n), Index("i1", width), loads("x", dtype)
        buffers = {"x": array(n, width, dtype=dtype), "y": result(n, width, dtype=dtype)}
        value = x(i, j) * x(i, j) + 1
        return _one(buffers, (i, j), lambda a: {"y": a["x"] * a["x"] + 1}, y=((i, j), value))

    return made


def vector(n: AnySize, t: AnySize) -> OpenCase:
    """Two results of different widths, in lanes of the wider one."""
    i = Index("i0", n)
    buffers = {"x": array(n), "y": result(n), "z": result(n, dtype=bool_)}
    return _one(
        buffers,
        (i,),
        lambda a: {"y": np.tanh(a["x"]), "z": a["x"] > 0},
        y=((i,), scalar.tanh(x(i))),
        z=((i,), x(i) > 0.0),
    )


def scalar_of_all(n: AnySize, t: AnySize) -> OpenCase:
    """A result that reads no loop, beside one for every element."""
    i = Index("i0", n)
    buffers = {"x": array(n), "w": array(3), "y": result(n), "z": result()}
    total = w(Const(2, int64)) * 2.0
    return _one(
        buffers,
        (i,),
        lambda a: {"y": a["x"] + a["w"][2] * 2, "z": a["w"][2] * 2},
        y=((i,), x(i) + total),
        z=((), total),
    )


def bias(width: int) -> Callable[..., OpenCase]:
    def made(n: AnySize, t: AnySize) -> OpenCase:
        i, j = Index("i0", n), Index("i1", width)
        buffers = {"x": array(n, width), "w": array(width), "y": result(n, width)}
        return _one(buffers, (i, j), lambda a: {"y": a["x"] + a["w"]}, y=((i, j), x(i, j) + w(j)))

    return made


def scaled_rows(n: AnySize, t: AnySize) -> OpenCase:
    i, j = Index("i0", n), Index("i1", 20)
    buffers = {"x": array(n, 20), "w": array(n), "y": result(n, 20)}
    value = x(i, j) * scalar.exp(w(i))
    return _one(buffers, (i, j), lambda a: {"y": a["x"] * np.exp(a["w"])[:, None]}, y=((i, j), value))


def along(combine: str, of: Callable[..., Any], width: int) -> Callable[..., OpenCase]:
    """A reduction of each row."""

    def made(n: AnySize, t: AnySize) -> OpenCase:
        i, r = Index("i0", n), Index("r", width)
        buffers = {"x": array(n, width), "y": result(n)}
        return _one(buffers, (i,), lambda a: {"y": of(a["x"], 1)}, y=((i,), Reduce((r,), combine, x(i, r))))

    return made


def across(width: int, dtype: DType = float32) -> Callable[..., OpenCase]:
    """Sums over the open axis."""

    def made(n: AnySize, t: AnySize) -> OpenCase:
        j, r, x = Index("i0", width), Index("r", n), loads("x", dtype)
        buffers = {"x": array(n, width, dtype=dtype), "y": result(width, dtype=dtype)}
        return _one(buffers, (j,), lambda a: {"y": a["x"].sum(0)}, y=((j,), Reduce((r,), "add", x(r, j))))

    return made


def total(n: AnySize, t: AnySize) -> OpenCase:
    r = Index("r", n)
    buffers = {"x": array(n, dtype=float64), "y": result(dtype=float64)}
    value = Reduce((r,), "add", loads("x", float64)(r)) * 0.5
    return _one(buffers, (), lambda a: {"y": a["x"].sum() * 0.5}, y=((), value))


def largest(n: AnySize, t: AnySize) -> OpenCase:
    """Of all elements, and by how much each is less."""
    i, j, r, s = Index("i0", n), Index("i1", 12), Index("r", n), Index("s", 12)
    buffers = {"x": array(n, 12), "y": result(n, 12)}
    value = Reduce((r, s), "maximum", x(r, s)) - x(i, j)
    return _one(
        buffers,
        (i, j),
        lambda a: {"y": a["x"].max(initial=-np.inf) - a["x"]},
        y=((i, j), value),
    )


def softmax(width: int) -> Callable[..., OpenCase]:
    def made(n: AnySize, t: AnySize) -> OpenCase:
        i, j, r = Index("i0", n), Index("i1", width), Index("r", width)

        def weight(j: Expr) -> Expr:
            return scalar.exp(x(i, j) - Reduce((r,), "maximum", x(i, r)))

        def expected(a: Arrays) -> Arrays:
            e = np.exp(a["x"] - a["x"].max(1, keepdims=True))
            return {"y": e / e.sum(1, keepdims=True)}

        buffers = {"x": array(n, width), "y": result(n, width)}
        return _one(buffers, (i, j), expected, y=((i, j), weight(j) / Reduce((r,), "add", weight(r))))

    return made


def centred_columns(n: AnySize, t: AnySize) -> OpenCase:
    i, j, r = Index("i0", n), Index("i1", 60), Index("r", n)
    value = x(i, j) - Reduce((r,), "add", x(r, j))
    buffers = {"x": array(n, 60), "y": result(n, 60)}
    return _one(buffers, (i, j), lambda a: {"y": a["x"] - a["x"].sum(0)}, y=((i, j), value))


def rows_with_sums(n: AnySize, t: AnySize) -> OpenCase:
    """Rows of exp, sums of each column of them, and the sum of their squares."""
    i, j, r = Index("i0", n), Index("i1", 20), Index("r", n)
    c, s = Index("c", 20), Index("s", 20)
    buffers = {"x": array(n, 20), "y": result(n, 20), "z": result(20), "v": result()}
    y = loads("y")
    nests = (Nest((i, j), (Store("y", (i, j), scalar.exp(x(i, j))),)),)
    sums = (
        Nest((c,), (Store("z", (c,), Reduce((r,), "add", y(r, c))),)),
        Nest((), (Store("v", (), Reduce((r, s), "add", y(r, s) * y(r, s))),)),
    )

    def expected(a: Arrays) -> Arrays:
        e = np.exp(a["x"])
        return {"y": e, "z": e.sum(0), "v": (e * e).sum()}

    return OpenCase(buffers, nests, expected, (i,), sums)


def rows_in_scratch(n: AnySize, t: AnySize) -> OpenCase:
    """A row of exp goes through memory of the kernel's own."""
    i, j, r = Index("i0", n), Index("i1", 30), Index("r", 30)
    row = loads("row")
    buffers = {"x": array(n, 30), "y": result(n, 30), "row": Buffer(float32, (30,), True, local=True)}
    nests = (
        Nest((i, j), (Store("row", (j,), scalar.exp(x(i, j))),)),
        Nest((i, j), (Store("y", (i, j), row(j) / Reduce((r,), "add", row(r))),)),
    )

    def expected(a: Arrays) -> Arrays:
        e = np.exp(a["x"])
        return {"y": e / e.sum(1, keepdims=True)}

    return OpenCase(buffers, nests, expected, (i,))


def rows_of_heads(n: AnySize, t: AnySize) -> OpenCase:
    """Rows along two axes, and sums of their columns over both."""
    i, k, j, c = Index("i0", n), Index("i1", 3), Index("i2", 7), Index("c", 7)
    r, s = Index("r", n), Index("s", 3)
    buffers = {"x": array(n, 3, 7), "y": result(n, 3, 7), "z": result(7)}
    nests = (Nest((i, k, j), (Store("y", (i, k, j), x(i, k, j) * 2.0),)),)
    sums = (Nest((c,), (Store("z", (c,), Reduce((r, s), "add", loads("y")(r, s, c))),)),)
    return OpenCase(buffers, nests, lambda a: {"y": a["x"] * 2, "z": a["x"].sum((0, 1)) * 2}, (i, k), sums)


def layer_norm(n: AnySize, t: AnySize) -> OpenCase:
    i, j, r, s = Index("i0", n), Index("i1", 48), Index("r", 48), Index("s", 48)
    mean = Reduce((r,), "add", x(i, r)) / 48.0
    variance = Reduce((s,), "add", x(i, s) * x(i, s)) / 48.0 - mean * mean
    value = (x(i, j) - mean) / scalar.sqrt(variance + 1e-3) * g(j) + h(j)

    def expected(a: Arrays) -> Arrays:
        v = a["x"]
        normal = (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-3)
        return {"y": normal * a["g"] + a["h"], "z": v.mean(1)}

    buffers = {"x": array(n, 48), "g": array(48), "h": array(48), "y": result(n, 48), "z": result(n)}
    return _one(buffers, (i, j), expected, y=((i, j), value), z=((i,), mean))


def transposed(n: AnySize, t: AnySize) -> OpenCase:
    i, j, k = Index("i0", n), Index("i1", 5), Index("i2", 4)
    buffers = {"x": array(n, 4, 5), "y": result(n, 5, 4)}
    return _one(buffers, (i, j, k), lambda a: {"y": a["x"].transpose(0, 2, 1)}, y=((i, j, k), x(i, k, j)))


def reshaped(n: AnySize, t: AnySize) -> OpenCase:
    """Elements by their number among all."""
    i = Index("i0", n * 12)
    buffers = {"x": array(n, 3, 4), "y": result(n * 12)}
    value = x(i // 12, i // 4 % 3, i % 4) * 2.0
    return _one(buffers, (i,), lambda a: {"y": a["x"].reshape(-1) * 2}, y=((i,), value))


def gathered(n: AnySize, t: AnySize) -> OpenCase:
    i, j = Index("i0", n), Index("i1", 24)
    row = scalar.cast(Load("rows", (i,), int32), int64)
    clamped = scalar.maximum(scalar.minimum(row, 9), 0)
    buffers = {"x": array(10, 24), "rows": array(n, dtype=int32), "y": result(n, 24)}
    made = _one(buffers, (i, j), lambda a: {"y": a["x"][a["rows"]]}, y=((i, j), x(clamped, j)))
    made.integers["rows"] = 10
    return made


def picked(n: AnySize, t: AnySize) -> OpenCase:
    """One element of each row: in vector lanes, a gather."""
    i = Index("i0", n)
    column = scalar.maximum(scalar.minimum(Load("columns", (i,), int64), 4), 0)
    buffers = {"x": array(n, 5), "columns": array(n, dtype=int64), "y": result(n)}
    made = _one(
        buffers,
        (i,),
        lambda a: {"y": a["x"][np.arange(len(a["columns"])), a["columns"]]},
        y=((i,), x(i, column)),
    )
    made.integers["columns"] = 5
    return made


def reversed_rows(n: AnySize, t: AnySize) -> OpenCase:
    i, j = Index("i0", n), Index("i1", 6)
    buffers = {"x": array(n, 6), "y": result(n, 6)}
    return _one(buffers, (i, j), lambda a: {"y": a["x"][::-1]}, y=((i, j), x(n - 1 - i, j)))


def rolled(n: AnySize, t: AnySize) -> OpenCase:
    i = Index("i0", n)
    buffers = {"x": array(n), "y": result(n)}
    return _one(buffers, (i,), lambda a: {"y": np.roll(a["x"], -3)}, y=((i,), x((i + 3) % n)))


def argmax(n: AnySize, t: AnySize) -> OpenCase:
    """The first place of the greatest element of each row."""
    i, r, s = Index("i0", n), Index("r", 10), Index("s", 10)
    places = scalar.select(scalar.eq(x(i, s), Reduce((r,), "maximum", x(i, r))), s, Const(10, int64))
    buffers = {"x": array(n, 10), "y": result(n, dtype=int64)}
    return _one(buffers, (i,), lambda a: {"y": a["x"].argmax(1)}, y=((i,), Reduce((s,), "minimum", places)))


def column_means(n: AnySize, t: AnySize) -> OpenCase:
    """The number of rows is a value."""
    j, r = Index("i0", 9), Index("r", n)
    buffers = {"x": array(n, 9), "y": result(9)}
    count = scalar.cast(scalar.maximum(Const(1, int64), n), float32)
    return _one(
        buffers,
        (j,),
        lambda a: {"y": a["x"].sum(0) / max(len(a["x"]), 1)},
        y=((j,), Reduce((r,), "add", x(r, j)) / count),
    )


def distances(n: AnySize, t: AnySize) -> OpenCase:
    """Of every element of one array from all of another: a loop of an open extent in another one."""
    i, r = Index("i0", n), Index("r", t)
    buffers = {"x": array(n), "w": array(t), "y": result(n)}
    value = Reduce((r,), "add", scalar.abs(x(i) - w(r)))
    return _one(
        buffers,
        (i,),
        lambda a: {"y": np.abs(a["x"][:, None] - a["w"]).sum(1)},
        y=((i,), value),
    )


def side_by_side(n: AnySize, t: AnySize) -> OpenCase:
    """Two results with nothing in common."""
    i, j, k, r = Index("i0", n), Index("i1", 5), Index("k0", t), Index("r", 3)
    buffers = {"x": array(n, 5), "w": array(t, 3), "y": result(n, 5), "z": result(t)}
    return OpenCase(
        buffers,
        (
            Nest((i, j), (Store("y", (i, j), x(i, j) * 2.0),)),
            Nest((k,), (Store("z", (k,), Reduce((r,), "add", w(k, r))),)),
        ),
        lambda a: {"y": a["x"] * 2, "z": a["w"].sum(1)},
        placed_as_rows=True,
    )


def one_after_the_other(n: AnySize, t: AnySize) -> OpenCase:
    """Two arrays in one, as concatenation makes it."""
    i, k, j = Index("i0", n), Index("k0", t), Index("i1", 3)
    buffers = {"x": array(n, 3), "w": array(t, 3), "y": result(n + t, 3)}
    return OpenCase(
        buffers,
        (
            Nest((i, j), (Store("y", (i, j), x(i, j)),)),
            Nest((k, j), (Store("y", (k + n, j), w(k, j)),)),
        ),
        lambda a: {"y": np.concatenate([a["x"], a["w"]])},
        placed_as_rows=True,
    )


def differences(n: AnySize, t: AnySize) -> OpenCase:
    """A loop of one iteration less, which is -1 of nothing."""
    i = Index("i0", n - 1)
    buffers = {"x": array(n), "y": result(n)}

    def expected(a: Arrays) -> Arrays:
        return {"y": np.concatenate([np.tanh(np.diff(a["x"])), a["y"][-1:]])}

    value = scalar.tanh(x(i + 1) - x(i))
    return _one(buffers, (i,), expected, y=((i,), value))


def both_in_one(n: AnySize, t: AnySize) -> OpenCase:
    """An axis of two open ones that were made one."""
    i, j, r = Index("i0", n * t), Index("i1", 6), Index("r", 6)
    buffers = {"x": array(n * t, 6), "w": array(6), "y": result(n * t, 6)}
    value = x(i, j) - Reduce((r,), "maximum", x(i, r)) + w(j)
    return _one(
        buffers,
        (i, j),
        lambda a: {"y": a["x"] - a["x"].max(1, keepdims=True) + a["w"]},
        y=((i, j), value),
    )


def turned(n: AnySize, t: AnySize) -> OpenCase:
    """A matrix with both sizes open, transposed."""
    i, j = Index("i0", t), Index("i1", n)
    buffers = {"x": array(n, t), "y": result(t, n)}
    return _one(buffers, (i, j), lambda a: {"y": a["x"].T * 2}, y=((i, j), x(j, i) * 2.0))


def turned_narrow(width: int) -> Callable[..., OpenCase]:
    """An open batch that becomes innermost."""

    def made(n: AnySize, t: AnySize) -> OpenCase:
        i, j = Index("i0", width), Index("i1", n)
        buffers = {"x": array(n, width), "y": result(width, n)}
        return _one(buffers, (i, j), lambda a: {"y": np.tanh(a["x"].T)}, y=((i, j), scalar.tanh(x(j, i))))

    return made


def open_inside(n: AnySize, t: AnySize) -> OpenCase:
    """All of three axes, of which two are open: one loop over memory."""
    i, j, k = Index("i0", n), Index("i1", t), Index("i2", 6)
    buffers = {"x": array(n, t, 6), "w": array(n, t, 6), "y": result(n, t, 6)}
    value = x(i, j, k) + w(i, j, k)
    return _one(buffers, (i, j, k), lambda a: {"y": a["x"] + a["w"]}, y=((i, j, k), value))


def along_open(combine: str, of: Callable[..., Any]) -> Callable[..., OpenCase]:
    """A reduction along an open innermost axis."""

    def made(n: AnySize, t: AnySize) -> OpenCase:
        i, r = Index("i0", n), Index("r", t)
        buffers = {"x": array(n, t), "y": result(n)}
        return _one(buffers, (i,), lambda a: {"y": of(a["x"], 1)}, y=((i,), Reduce((r,), combine, x(i, r))))

    return made


def softmax_open(n: AnySize, t: AnySize) -> OpenCase:
    """Weights of an attention over an open length."""
    i, h, j, r = Index("i0", n), Index("i1", 2), Index("i2", t), Index("r", t)

    def weight(j: Expr) -> Expr:
        return scalar.exp(x(i, h, j) - Reduce((r,), "maximum", x(i, h, r)))

    def expected(a: Arrays) -> Arrays:
        e = np.exp(a["x"] - a["x"].max(2, keepdims=True))
        return {"y": e / e.sum(2, keepdims=True)}

    buffers = {"x": array(n, 2, t), "y": result(n, 2, t)}
    value = weight(j) / Reduce((r,), "add", weight(r))
    return _one(buffers, (i, h, j), expected, y=((i, h, j), value))


def split_axis(n: AnySize, t: AnySize) -> OpenCase:
    """One axis becomes two open ones."""
    i, j, k = Index("i0", n), Index("i1", t), Index("i2", 5)
    flat = (i * t + j) * 5 + k
    buffers = {"x": array(n * t, 5), "y": result(n, t, 5)}
    value = x(flat // 5, flat % 5) * 3.0
    return _one(buffers, (i, j, k), lambda a: {"y": a["x"].reshape(a["y"].shape) * 3}, y=((i, j, k), value))


def joined_axes(n: AnySize, t: AnySize) -> OpenCase:
    """Two open axes become one."""
    i, k = Index("i0", n * t), Index("i1", 5)
    flat = i * 5 + k
    buffers = {"x": array(n, t, 5), "y": result(n * t, 5)}
    value = x(flat // (Extent(t) * 5), flat // 5 % Extent(t), flat % 5) * 3.0
    return _one(buffers, (i, k), lambda a: {"y": a["x"].reshape(a["y"].shape) * 3}, y=((i, k), value))


def time_major(n: AnySize, t: AnySize) -> OpenCase:
    """Sums over time of what was batch-major."""
    i, j, r = Index("i0", n), Index("i1", 8), Index("r", t)
    buffers = {"x": array(t, n, 8), "y": result(n, 8)}
    return _one(buffers, (i, j), lambda a: {"y": a["x"].sum(0)}, y=((i, j), Reduce((r,), "add", x(r, i, j))))


def stacked(n: AnySize, t: AnySize) -> OpenCase:
    """Two arrays as rows of one, whose rows are open."""
    i, j = Index("i0", n), Index("j0", n)
    buffers = {"x": array(n), "w": array(n), "y": result(2, n)}
    return OpenCase(
        buffers,
        (
            Nest((i,), (Store("y", (Const(0, int64), i), x(i)),)),
            Nest((j,), (Store("y", (Const(1, int64), j), w(j)),)),
        ),
        lambda a: {"y": np.stack([a["x"], a["w"]])},
        placed_as_rows=True,
    )


def diagonal(n: AnySize, t: AnySize) -> OpenCase:
    i, j = Index("i0", n), Index("i1", n)
    buffers = {"x": array(n), "y": result(n, n)}
    value = scalar.select(scalar.eq(i, j), x(i), 0.0)
    return _one(buffers, (i, j), lambda a: {"y": np.diag(a["x"])}, y=((i, j), value))


def of_diagonal(n: AnySize, t: AnySize) -> OpenCase:
    i = Index("i0", n)
    buffers = {"x": array(n, n), "y": result(n)}
    return _one(buffers, (i,), lambda a: {"y": np.diag(a["x"]) * 2}, y=((i,), x(i, i) * 2.0))


OPEN_CASES: dict[str, Callable[[AnySize, AnySize], OpenCase]] = {
    "elementwise_7": elementwise(7),
    "elementwise_784": elementwise(784),
    "elementwise_int": elementwise(3, int32),
    "vector": vector,
    "scalar_of_all": scalar_of_all,
    "bias_7": bias(7),
    "bias_784": bias(784),
    "scaled_rows": scaled_rows,
    "row_sums_7": along("add", np.sum, 7),
    "row_sums_784": along("add", np.sum, 784),
    "row_maxima": along("maximum", np.max, 33),
    "column_sums_7": across(7),
    "column_sums_784": across(784),
    "column_sums_int": across(5, int64),
    "total": total,
    "largest": largest,
    "softmax_10": softmax(10),
    "softmax_784": softmax(784),
    "centred_columns": centred_columns,
    "rows_with_sums": rows_with_sums,
    "rows_in_scratch": rows_in_scratch,
    "rows_of_heads": rows_of_heads,
    "layer_norm": layer_norm,
    "transposed": transposed,
    "reshaped": reshaped,
    "gathered": gathered,
    "picked": picked,
    "reversed_rows": reversed_rows,
    "rolled": rolled,
    "argmax": argmax,
    "column_means": column_means,
    "distances": distances,
    "side_by_side": side_by_side,
    "one_after_the_other": one_after_the_other,
    "differences": differences,
    "both_in_one": both_in_one,
    "turned": turned,
    "turned_7": turned_narrow(7),
    "turned_64": turned_narrow(64),
    "open_inside": open_inside,
    "sums_along_open": along_open("add", np.sum),
    "softmax_open": softmax_open,
    "split_axis": split_axis,
    "joined_axes": joined_axes,
    "time_major": time_major,
    "stacked": stacked,
    "diagonal": diagonal,
    "of_diagonal": of_diagonal,
}
