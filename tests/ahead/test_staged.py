"""Functions of C in which the data decide sizes: the bits of a session, and a code for too little memory."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.llvm.c_interface import NO_POINTER, NOT_READY, OUT_OF_RANGE
from staticgraph.compiler.codegen.llvm.open_interface import NEGATIVE_SIZE, SIZES_DISAGREE, SMALL_WORKSPACE
from staticgraph.compiler.codegen.llvm.staged_interface import SMALL_RESULT
from staticgraph.compiler.graph.errors import UnimplementedError
from tests.ahead.native import STRICT, Native, before_a_page, built, cc, needs_compiler, same_bits, saved

pytestmark = [needs_compiler, pytest.mark.takes_long]
COUNTS = (5, 0, 1, 3, 64, 2)


@pytest.fixture(autouse=True)
def open_sizes():
    """Sessions of loaded graphs compile for all sizes, too: so they add in the same order."""
    with sg.options(open_sizes=True):
        yield


Case = tuple[dict[str, Any], list[Any], Callable[[np.random.Generator, int], list[np.ndarray]]]


def masked() -> Case:
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    kept = sg.boolean_mask(x * 2.0, x[:, 0] > 0.0)
    return {"kept": kept, "total": sg.reduce_sum(kept, 0)}, [x], lambda rng, n: [_rows(rng, n, 3)]


def positions() -> Case:
    x = sg.placeholder(sg.float32, [None, None], name="x")
    return {"places": sg.where(x > 0.5)}, [x], lambda rng, n: [_rows(rng, n, n + 1)]


def distinct() -> Case:
    """Stages of what other stages have found, and results of several operations."""
    ids, others = (sg.placeholder(sg.int32, [None], name=name) for name in ("ids", "others"))
    values, places, counts = sg.unique_with_counts(ids)
    left, at = sg.setdiff1d(values, others)
    sums = sg.unsorted_segment_sum(sg.ones_like(ids), places, sg.size(values))
    made = {"values": values, "places": places, "counts": counts, "left": left, "at": at, "sums": sums}
    return made, [ids, others], lambda rng, n: [_ids(rng, 7, n), _ids(rng, 5, n // 2)]


def partitions() -> Case:
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    which = sg.placeholder(sg.int32, [None], name="which")
    parts = sg.dynamic_partition(x, which, 3)
    made = {f"part{n}": part for n, part in enumerate(parts)}
    return made, [x, which], lambda rng, n: [_rows(rng, n, 2), _ids(rng, 3, n)]


def segments() -> Case:
    """The greatest id tells how many rows there are."""
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    ids = sg.placeholder(sg.int32, [None], name="ids")
    sums = sg.segment_sum(x, ids)
    return {"sums": sums, "count": sg.shape(sums)[0]}, [x, ids], lambda rng, n: [
        _rows(rng, n, 2), np.sort(_ids(rng, n, n)),
    ]  # fmt: skip


def numbers() -> Case:
    limit, delta = (sg.placeholder(sg.float32, [], name=name) for name in ("limit", "delta"))
    return {"numbers": sg.range(0.0, limit, delta)}, [limit, delta], lambda rng, n: [
        np.float32(n), np.float32(0.75),
    ]  # fmt: skip


def filled() -> Case:
    """A size that is computed of more numbers than can be sizes."""
    sizes = sg.placeholder(sg.int32, [20], name="sizes")
    return {"ones": sg.ones([sg.reduce_sum(sizes), 2])}, [sizes], lambda rng, n: [_ids(rng, n, 20)]


CASES = [filled, masked, positions, distinct, partitions, segments, numbers]


def _rows(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def _ids(rng: np.random.Generator, below: int, count: int) -> np.ndarray:
    return rng.integers(0, max(below, 1), count).astype(np.int32)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("build", CASES, ids=lambda build: build.__name__)
def test_functions_have_the_bits_of_a_session(
    tmp_path: Path, rng: np.random.Generator, build: Callable[[], Case], threads: int
):
    """All memory ends at a page without access, and is no larger than a function asks for."""
    made, inputs, draw = build()
    net = saved(tmp_path / "net.sg", {"run": sg.Signature(made, inputs)})
    native = Native(built(net, threads=threads), tmp_path)
    assert native.init() == 0
    function = net.signatures["run"]
    for count in COUNTS:
        values = draw(rng, count)
        same_bits(native("run", *values), function(dict(zip(function.required, values, strict=True))))


def line() -> dict[str, sg.Signature]:
    """Training on those rows that a mask keeps, with random numbers."""
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    w = sg.Variable([[1.0], [2.0], [3.0]], name="w")
    kept = sg.boolean_mask(x, x[:, 0] > 0.0)
    y = sg.matmul(kept + sg.random_uniform(sg.shape(kept), seed=3), w)
    loss = sg.reduce_sum(sg.square(y - 1.0))
    train = sg.train.GradientDescentOptimizer(0.001).minimize(loss)
    return {"train": sg.Signature({"y": y, "loss": loss}, [x], step=train)}


def test_training_commits_once(tmp_path: Path, rng: np.random.Generator):
    net = saved(tmp_path / "line.sg", line())
    native = Native(built(net), tmp_path)
    assert native.init() == 0
    for count in COUNTS:
        x = _rows(rng, count, 3)
        same_bits(native("train", x), net.signatures["train"](x=x))


def test_too_little_memory_changes_nothing(tmp_path: Path, rng: np.random.Generator):
    net = saved(tmp_path / "line.sg", line())
    native = Native(built(net), tmp_path)
    train = native.library["net_train"]
    x = before_a_page(np.abs(_rows(rng, 4, 3)))
    shape, loss = (ctypes.c_int64 * 2)(), np.zeros((), np.float32)
    space, bytes = before_a_page(np.zeros(1 << 16, np.uint8)), ctypes.c_size_t(1 << 16)
    y = before_a_page(np.full(3, 7, np.float32))

    def call(rows: int = 4, room: int = 3, size: ctypes.c_size_t = bytes, memory: Any = space) -> int:
        def at(array: Any) -> Any:
            return None if array is None else ctypes.c_void_p(array.ctypes.data)

        return train(
            native.state, ctypes.c_int64(rows), at(x), at(y), ctypes.c_size_t(room), shape, at(loss),
            at(memory), ctypes.byref(size),
        )  # fmt: skip

    assert call() == NOT_READY
    assert native.init() == 0
    before = native.state.raw
    assert call(rows=-1) == NEGATIVE_SIZE
    assert call() == SMALL_RESULT and tuple(shape) == (4, 1)
    small = ctypes.c_size_t(100)
    assert call(size=small) == SMALL_WORKSPACE and small.value > 100
    assert call(memory=None) == NO_POINTER
    assert (y == 7).all() and loss == 0 and native.state.raw == before and bytes.value == 1 << 16
    y = before_a_page(np.zeros(4, np.float32))
    assert call(room=4) == 0
    assert native.state.raw != before


def test_wrong_data_is_refused(tmp_path: Path, rng: np.random.Generator):
    signatures = {build.__name__: sg.Signature(*build()[:2]) for build in (partitions, segments)}
    native = Native(built(saved(tmp_path / "net.sg", signatures)), tmp_path)
    assert native.init() == 0
    assert native.call("partitions", _rows(rng, 3, 2), np.array([0, 3, 1]))[0] == OUT_OF_RANGE
    assert native.call("segments", _rows(rng, 3, 2), np.array([0, 2, 1]))[0] == OUT_OF_RANGE
    assert native.call("segments", _rows(rng, 3, 2), np.array([0, 1]))[0] == SIZES_DISAGREE


def test_the_header_and_the_example_are_c(tmp_path: Path, rng: np.random.Generator):
    made, inputs, _ = masked()
    net = saved(tmp_path / "net.sg", {"run": sg.Signature(made, inputs)})
    library = built(net)
    assert "float *kept, size_t kept_room, int64_t kept_shape[2], float *total" in library.header
    library.write(tmp_path / "net")
    cc("-std=c99", *STRICT, "main.c", "net.o", "-o", "main", "-lm", cwd=tmp_path)
    x = _rows(rng, 6, 3)
    (tmp_path / "x.bin").write_bytes(x.tobytes())
    done = subprocess.run(["./main", "6", "x.bin"], cwd=tmp_path, capture_output=True, text=True)
    wanted = net.signatures["run"](x=x)
    found = [float(text.split()[1]) for text in done.stdout.splitlines()]
    np.testing.assert_allclose(found, [*wanted["kept"].ravel(), *wanted["total"]], rtol=1e-4)


def test_a_fixed_batch_is_no_parameter(tmp_path: Path, rng: np.random.Generator):
    made, inputs, _ = masked()
    net = saved(tmp_path / "net.sg", {"run": sg.Signature(made, inputs)})
    native = Native(built(net, batch=5), tmp_path)
    assert "int net_run(net *self, const float *x, float *kept, size_t kept_room" in native.made.header
    assert native.init() == 0
    x = _rows(rng, 5, 3)
    same_bits(native("run", x), net.signatures["run"](x=x))


def test_results_behind_a_change_are_refused(tmp_path: Path):
    """There might be too little room for them when the variables have changed."""
    x = sg.placeholder(sg.float32, [None], name="x")
    w = sg.Variable(1.0, name="w")
    added = sg.assign_add(w, sg.reduce_sum(x))
    net = saved(tmp_path / "net.sg", {"run": sg.Signature({"places": sg.where(x > 0.0)}, [x], step=added.op)})
    with pytest.raises(UnimplementedError, match="where comes after a change of variables"):
        built(net)
