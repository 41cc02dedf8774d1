"""A sort of few long rows by buckets: data of every distribution, also where digits tell keys badly apart."""

from dataclasses import replace

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.generate import generate
from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.ops.ordering.ordered_values import top_values
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import GUARD, each_width, guarded, inside, launch
from tests.gpu.routines import Case

LENGTH = 20_003


def _integers(rng, dtype):
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, LENGTH, dtype=dtype, endpoint=True)


def _low_digits(rng, dtype):
    """All but two keys differ in their low digits alone, so insertions take too many moves."""
    x = rng.integers(0, 1 << 12, LENGTH).astype(dtype)
    x[5], x[17] = (np.finfo if x.dtype.kind == "f" else np.iinfo)(dtype).max / 2, -1
    return x


DATA = {
    "normal": lambda rng, dtype: (rng.standard_normal(LENGTH) * 1000).astype(dtype),
    "all bits": lambda rng, dtype: _integers(rng, f"i{dtype.itemsize}").astype(dtype),
    "few": lambda rng, dtype: rng.integers(-3, 3, LENGTH).astype(dtype),
    "equal": lambda rng, dtype: np.full(LENGTH, 7, dtype),
    "in order": lambda rng, dtype: np.arange(LENGTH).astype(dtype),
    "in opposite order": lambda rng, dtype: -np.arange(LENGTH).astype(dtype),
    "low digits": _low_digits,
    "one large bucket": lambda rng, dtype: (
        np.where(rng.random(LENGTH) < 0.9, rng.integers(0, 9, LENGTH), rng.integers(0, 1 << 14, LENGTH))
    ).astype(dtype),
}  # fmt: skip


@pytest.mark.takes_long
@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("data", DATA)
def test_every_distribution(data, dtype, rng):
    x = DATA[data](rng, np.dtype(dtype))
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(dtype, x.shape)
        up, most = sess.run([sg.sort(given), sg.nn.top_k(given, LENGTH // 3)[0]], {given: x})
    np.testing.assert_array_equal(up, np.sort(x))
    np.testing.assert_array_equal(most, np.sort(x)[::-1][: LENGTH // 3])


@pytest.mark.by_turns("vector_bytes")
@each_width
@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("data", ["normal", "low digits", "one large bucket"])
def test_chunks_in_any_order_and_vectors_of_any_width(data, dtype, vector_bytes, rng):
    target = cpu_jit.host()
    x = np.stack([DATA[data](rng, np.dtype(dtype)) for _ in range(3)])
    k = LENGTH - 9
    code = generate(
        Case(top_values, ((as_dtype(dtype), x),), {"k": k}).kernel, replace(target, vector_bytes=vector_bytes)
    )
    for order in range(3):
        memory = [guarded(a) for a in (np.zeros((3, k), dtype), x)]
        launch(code, [m.ctypes.data + GUARD for m in memory], order=order)
        found = inside(memory[0]).view(dtype).reshape(3, k)
        np.testing.assert_array_equal(found, np.sort(x, -1)[:, ::-1][:, :k])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ascending", [True, False])
def test_signs_of_zeros_and_bits_of_nans_stay_in_order(ascending, dtype, rng):
    x = np.floor(rng.standard_normal(LENGTH)).astype(dtype)
    x[rng.random(LENGTH) < 0.2] = -0.0
    x[::50], x[::77], x[3], x[LENGTH - 4] = np.nan, -np.nan, np.inf, -np.inf
    key = np.where(np.isnan(x), np.inf, x) if ascending else np.where(np.isnan(x), np.inf, -x)
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(dtype, x.shape)
        found = sess.run(sg.sort(given, direction="ASCENDING" if ascending else "DESCENDING"), {given: x})
    assert found.tobytes() == x[np.argsort(key, kind="stable")].tobytes()
