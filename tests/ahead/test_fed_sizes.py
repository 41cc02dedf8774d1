"""Functions of C whose sizes are elements of inputs: the bits of a session, and a code for each refusal."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.llvm.c_interface import NO_POINTER
from staticgraph.compiler.codegen.llvm.open_interface import NEGATIVE_SIZE, OTHER_SIZES, TOO_LARGE
from staticgraph.runtime.files.loaded import LoadedGraph
from tests.ahead.native import STRICT, Native, built, cc, needs_compiler, same_bits, saved

pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def open_sizes():
    """Sessions of loaded graphs compile for all sizes, too: so they add in the same order."""
    with sg.options(open_sizes=True):
        yield


def decoder(path: Path) -> LoadedGraph:
    """A batch that is fed, as for the zero state of a recurrent net, and lengths up to one that is fed."""
    batch = sg.placeholder(sg.int32, [], name="batch")
    x = sg.placeholder(sg.float32, [None, 4], name="x")
    limits = sg.placeholder(sg.int64, [2], name="limits")
    w = sg.get_variable("w", [4, 4], initializer=sg.glorot_uniform_initializer(seed=1))
    state = sg.ones([batch, 4]) * 0.5
    for _ in range(3):
        state = sg.tanh(sg.matmul(state + x, w))
    mask = sg.sequence_mask(sg.range(batch), sg.cast(limits[1], sg.int32))
    table = sg.reshape(sg.range(limits[0] * limits[1]), limits)
    made = {"state": state, "mask": mask, "table": table, "total": sg.reduce_sum(table)}
    return saved(path, {"run": sg.Signature(made, [batch, x, limits])})


@pytest.mark.parametrize("threads", [1, 3])
def test_one_function_takes_all_values(tmp_path: Path, rng: np.random.Generator, threads: int):
    net = decoder(tmp_path / "net.sg")
    native = Native(built(net, threads=threads), tmp_path)
    assert native.init() == 0
    function = net.signatures["run"]
    for batch, rows, columns in ((3, 2, 5), (1, 1, 1), (0, 0, 4), (20, 7, 3), (3, 5, 0), (33, 64, 65)):
        x = rng.normal(size=(batch, 4)).astype(np.float32)
        limits = np.array([rows, columns], np.int64)
        wanted = function({"batch": batch, "x": x, "limits": limits})
        same_bits(native("run", batch, x, limits), wanted)


def test_values_that_are_no_sizes(tmp_path: Path):
    native = Native(built(decoder(tmp_path / "net.sg")), tmp_path)
    assert native.init() == 0
    x, batch = np.zeros((2, 4), np.float32), np.array(2, np.int32)
    for limits, status in (
        ([-1, 3], NEGATIVE_SIZE),
        ([3, 2**40], TOO_LARGE),
        ([2**31 - 1, 2**31 - 1], TOO_LARGE),
    ):
        assert native.call("run", batch, x, np.array(limits, np.int64))[0] == status
    status, shapes, _ = native.sizes("run", 2, batch, np.array([3, 4], np.int64))
    assert status == 0 and shapes == [(2, 4), (2, 4), (3, 4), ()]
    tell = native.library[native.function("run").entry.sizes_name]
    assert tell(2, None, None, None, None, None, None) == NO_POINTER


def test_the_header_and_the_example_tell_of_them(tmp_path: Path, rng: np.random.Generator):
    net = decoder(tmp_path / "net.sg")
    made = built(net)
    assert "batch int32[], x float32[x_0, 4], limits int64[2] -> state float32[" in made.header
    assert (
        "int net_run_sizes(int64_t x_0, const int32_t *batch, const int64_t *limits, int64_t state[2]"
        in made.header
    )
    made.write(tmp_path / "net")
    (tmp_path / "main.c").write_text(made.example)
    cc(*STRICT, "main.c", "net.o", "-lm", "-o", "main", cwd=tmp_path)
    x = rng.normal(size=(2, 4)).astype(np.float32)
    for name, value in (("batch", np.int32(2)), ("x", x), ("limits", np.array([2, 3], np.int64))):
        (tmp_path / f"{name}.bin").write_bytes(value.tobytes())
    arguments = ["./main", "2", "batch.bin", "x.bin", "limits.bin"]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "total 15"


def test_a_size_that_an_earlier_stage_computes(tmp_path: Path):
    n = sg.placeholder(sg.float32, [], name="n")
    net = saved(tmp_path / "net.sg", {"run": sg.Signature({"y": sg.zeros([sg.cast(n, sg.int32), 2])}, [n])})
    native = Native(built(net), tmp_path)
    assert native.init() == 0
    for size in (3, 0, 1):
        same_bits(native("run", np.float32(size)), net.signatures["run"](n=size))
    assert native.call("run", np.float32(-1))[0] == NEGATIVE_SIZE


def test_a_product_of_sizes_that_leaves_its_dtype(tmp_path: Path):
    """`shape(x)[0] * 64` of int32 wraps around as TensorFlow's, and is refused as a size."""
    x = sg.placeholder(sg.float32, [None], name="x")
    count = sg.shape(x)[0] * 64
    numbers = sg.Signature({"count": count, "third": count // 3}, [x])
    made = sg.Signature({"made": sg.zeros([count], sg.int8)}, [x])
    native = Native(built(saved(tmp_path / "net.sg", {"run": numbers, "make": made})), tmp_path)
    assert native.init() == 0
    run = native.library[native.function("run").symbol]
    for rows, wanted in ((5, 320), (2**25 - 1, 2**31 - 64), (2**25, -(2**31)), (2**25 + 3, 192 - 2**31)):
        status, _, bytes = native.sizes("run", rows)
        space, found = ctypes.create_string_buffer(bytes), (ctypes.c_int32(), ctypes.c_int32())
        parts = (ctypes.c_int64(rows), space, *map(ctypes.byref, found), space, ctypes.c_size_t(bytes))
        assert (status, run(native.state, *parts)) == (0, 0)
        assert [each.value for each in found] == [wanted, wanted // 3]
        assert native.sizes("make", rows)[0] == (0 if wanted > 0 else OTHER_SIZES)


def test_a_size_of_8_bits_without_a_sign(tmp_path: Path):
    n = sg.placeholder(sg.uint8, [], name="n")
    made = sg.zeros([sg.cast(n, sg.int32)]) + 1.0
    native = Native(built(saved(tmp_path / "net.sg", {"run": sg.Signature({"made": made}, [n])})), tmp_path)
    assert native.init() == 0
    assert native.sizes("run", np.array(200, np.uint8))[:2] == (0, [(200,)])
