"""Functions of C whose sizes are parameters: the bits of a session, and a code for each refusal."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.llvm.c_interface import NO_POINTER, NOT_READY, OUT_OF_RANGE
from staticgraph.compiler.codegen.llvm.open_interface import (
    NEGATIVE_SIZE,
    OTHER_SIZES,
    SIZES_DISAGREE,
    SMALL_WORKSPACE,
    TOO_LARGE,
)
from staticgraph.compiler.graph.errors import UnimplementedError
from staticgraph.runtime.files.loaded import LoadedGraph, load
from tests.ahead.digits import draw, lenet
from tests.ahead.native import STRICT, Native, before_a_page, built, cc, needs_compiler, same_bits, saved

pytestmark = [needs_compiler, pytest.mark.takes_long]
BATCHES = (3, 1, 0, 20, 2, 33, 7, 64, 1, 0)


@pytest.fixture(autouse=True)
def open_sizes():
    """Sessions of loaded graphs compile for all sizes, too: so they add in the same order."""
    with sg.options(open_sizes=True):
        yield


def line() -> dict[str, sg.Signature]:
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    target = sg.placeholder(sg.float32, [None, 1], name="target")
    w = sg.Variable([[1.0], [2.0], [3.0]], name="w")
    y = sg.matmul(x, w, name="y")
    loss = sg.reduce_sum(sg.square(y - target))
    train = sg.train.GradientDescentOptimizer(0.001).minimize(loss)
    return {"predict": sg.Signature({"y": y}), "train": sg.Signature({"loss": loss}, step=train)}


def follow(net: LoadedGraph, native: Native, label: str, *values: Any) -> None:
    """Make the same call of both, and compare."""
    function = net.signatures[label]
    wanted = function(dict(zip(function.required, values, strict=True)))
    same_bits(native(label, *values), wanted)


@pytest.mark.parametrize("threads", [1, 3])
def test_digits_are_learned_in_batches_of_any_size(tmp_path: Path, rng: np.random.Generator, threads: int):
    """Inputs, outputs and workspace end at pages without access."""
    net = saved(tmp_path / "digits.sg", lenet(8))
    native = Native(built(net, threads=threads), tmp_path)
    assert native.init() == 0
    for count in BATCHES:
        images, labels = draw(rng, count, 8)
        follow(net, native, "predict", images)
        if count:  # the mean of no losses is NaN
            follow(net, native, "train", images, labels)


@pytest.mark.parametrize("threads", [1, 3])
def test_few_rows_and_many_go_two_ways(tmp_path: Path, rng: np.random.Generator, threads: int):
    x = sg.placeholder(sg.float32, [None, 1000], name="x")
    w = sg.Variable(rng.normal(size=(1000, 100)).astype(np.float32), name="w")
    y = sg.nn.relu(sg.matmul(x, w))
    net = saved(tmp_path / "wide.sg", {"run": sg.Signature({"y": y}, [x])})
    native = Native(built(net, threads=threads), tmp_path)
    assert native.init() == 0
    for count in (64, 0, 129, 1, 128, 300):
        follow(net, native, "run", rng.normal(size=(count, 1000)).astype(np.float32))


@pytest.mark.takes_long
def test_images_that_choose_between_two_kinds_of_products(tmp_path: Path, rng: np.random.Generator):
    x = sg.placeholder(sg.float32, [None, None, None, 32], name="x")
    w = sg.Variable(rng.normal(size=(3, 3, 32, 32)).astype(np.float32) / 17, name="w")
    y = sg.nn.relu(sg.nn.conv2d(x, w, 1, "SAME"))
    net = saved(tmp_path / "images.sg", {"run": sg.Signature({"y": y}, [x])})
    native = Native(built(net), tmp_path)
    assert native.init() == 0
    for shape in ((2, 16, 16), (1, 5, 5), (0, 8, 8), (2, 17, 40), (1, 1, 1)):
        follow(net, native, "run", rng.normal(size=(*shape, 32)).astype(np.float32))


def recurrent(path: Path) -> LoadedGraph:
    """Two inputs with open sizes of their own, a loop, random numbers, and an output that has two names."""
    x = sg.placeholder(sg.float32, [None, 5, 4], name="x")
    more = sg.placeholder(sg.float32, [None], name="more")
    w = sg.get_variable("w", [4, 4], initializer=sg.glorot_uniform_initializer(seed=1))

    def again(i: sg.Tensor, h: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
        return i + 1, sg.tanh(sg.matmul(h, w)) + sg.random_uniform(sg.shape(h), seed=2)

    state = sg.while_loop(lambda i, h: i < 3, again, (0, x[:, 0]))[1]
    noisy = sg.nn.dropout(x, rate=0.5, seed=3)
    made = {"noisy": noisy, "state": state, "again": state, "count": sg.shape(x)[0], "more": more * 2.0}
    return saved(path, {"run": sg.Signature(made, [x, more])})


def test_loops_and_random_numbers(tmp_path: Path, rng: np.random.Generator):
    net = recurrent(tmp_path / "net.sg")
    native = Native(built(net), tmp_path)
    assert native.init() == 0
    for count in BATCHES:
        values = rng.normal(size=(count, 5, 4)), rng.normal(size=2 * count + 1)
        follow(net, native, "run", *(v.astype(np.float32) for v in values))


def test_sizes_that_a_program_compares(tmp_path: Path):
    """Programs with other guards are in one function: which one runs depends on the sizes."""
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    y = sg.placeholder(sg.float32, [None, 3], name="y")
    net = saved(tmp_path / "sum.sg", {"sum": sg.Signature({"z": x + y}, [x, y])})
    native = Native(built(net), tmp_path)
    assert native.init() == 0
    for rows, others in ((4, 4), (1, 6), (5, 1), (1, 1), (0, 0), (0, 1)):
        values = np.arange(3.0 * rows).reshape(rows, 3), np.ones((others, 3))
        follow(net, native, "sum", *(v.astype(np.float32) for v in values))
    assert native.sizes("sum", 3, 4)[0] == SIZES_DISAGREE


def test_results_of_sizes_that_only_some_programs_know(tmp_path: Path):
    """A part of at most three rows has three of them in one program, and as many as there are in others."""
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    cut = {"part": x[2:5] * 2.0, "start": x[:-3], "turns": x[1:] * x[:-1]}
    net = saved(tmp_path / "parts.sg", {name: sg.Signature({name: y}, [x]) for name, y in cut.items()})
    native = Native(built(net), tmp_path)
    assert native.init() == 0
    for rows in (0, 1, 2, 3, 4, 5, 6, 33):
        for name in cut:
            follow(net, native, name, np.arange(2.0 * rows, dtype="f4").reshape(rows, 2))


def test_sizes_that_others_tell(tmp_path: Path):
    """A size may have to be a multiple of a number, or to be what other sizes make of it."""
    x = sg.placeholder(sg.float32, [None], name="x")
    y = sg.placeholder(sg.float32, [None, None], name="y")
    z = sg.placeholder(sg.float32, [None], name="z")
    signatures = {
        "rows": sg.Signature({"r": sg.reduce_sum(sg.reshape(x, [-1, 4]), 1)}, [x]),
        "flat": sg.Signature({"r": sg.reshape(y, [-1]) + z}, [y, z]),
    }
    net = saved(tmp_path / "net.sg", signatures)
    native = Native(built(net), tmp_path)
    assert native.init() == 0
    for rows in (0, 1, 2, 33):
        follow(net, native, "rows", np.arange(4.0 * rows, dtype="f4"))
        follow(net, native, "flat", np.ones((rows, 3), "f4"), np.arange(3.0 * rows, dtype="f4"))
    assert native.sizes("rows", 5)[0] == OTHER_SIZES
    assert native.sizes("flat", 2, 3, 6)[:2] == (0, [(6,)])
    assert native.sizes("flat", 2, 3, 5)[0] == SIZES_DISAGREE
    assert native.sizes("flat", 1 << 31, 2, 1 << 31)[0] == TOO_LARGE


def test_each_refusal_has_a_code(tmp_path: Path):
    large = sg.placeholder(sg.float32, [None, 1 << 20, 1 << 18], name="large")
    pairs = sg.placeholder(sg.float32, [None, 2], name="pairs")
    first, outer = sg.slice(pairs, [0, 0], [2, -1]), large * 2.0
    functions = {"first": sg.Signature({"y": first}), "outer": sg.Signature({"y": outer}), **line()}
    net = saved(tmp_path / "net.sg", functions)
    native = Native(built(net), tmp_path)
    assert native.sizes("outer", 3)[:2] == (0, [(3, 1 << 20, 1 << 18)])
    assert native.sizes("outer", -1)[0] == native.sizes("outer", -(1 << 63))[0] == NEGATIVE_SIZE
    assert native.sizes("outer", 1 << 16)[0] == 0
    for rows in (1 << 23, (1 << 31) - 1, 1 << 31, 1 << 40):
        assert native.sizes("outer", rows)[0] == TOO_LARGE
    assert native.sizes("first", 1)[0] == OTHER_SIZES
    assert native.sizes("train", 3, 4)[0] == SIZES_DISAGREE
    status, shapes, space = native.sizes("predict", 4)
    assert (status, shapes) == (0, [(4, 1)])
    run = native.library[native.function("predict").symbol]
    given, result = before_a_page(np.ones((4, 3), "f4")), before_a_page(np.zeros((4, 1), "f4"))
    memory = before_a_page(np.zeros(space, np.uint8))

    def call(rows: int = 4, x: Any = given, y: Any = result, memory: Any = memory, bytes: int = space) -> int:
        pointers = [None if a is None else ctypes.c_void_p(a.ctypes.data) for a in (x, y, memory)]
        return int(run(native.state, ctypes.c_int64(rows), *pointers, ctypes.c_size_t(bytes)))

    assert call() == NOT_READY
    assert native.init() == 0
    assert call() == 0
    assert result.tolist() == [[6.0]] * 4
    assert call(bytes=space - 1) == SMALL_WORKSPACE
    assert call(bytes=0) == SMALL_WORKSPACE
    assert call(memory=None) == NO_POINTER
    assert call(x=None) == call(y=None) == NO_POINTER
    assert call(rows=0, x=None, y=None) == 0
    assert call(rows=-4) == NEGATIVE_SIZE
    assert call(rows=1 << 40) == TOO_LARGE


def test_an_index_out_of_range(tmp_path: Path):
    words = sg.placeholder(sg.int32, [None], name="words")
    table = sg.Variable(np.arange(10, dtype="f4").reshape(5, 2), name="table")
    net = saved(tmp_path / "n.sg", {"look": sg.Signature({"y": sg.nn.embedding_lookup(table, words)})})
    native = Native(built(net), tmp_path)
    assert native.init() == 0
    follow(net, native, "look", np.array([4, 0, 2], np.int32))
    assert native.call("look", np.array([4, 5], np.int32))[0] == OUT_OF_RANGE


def test_given_sizes_are_known(tmp_path: Path):
    x, more = (sg.placeholder(sg.float32, [None, 2], name=name) for name in ("x", "more"))
    net = saved(tmp_path / "net.sg", {"f": sg.Signature({"y": x * 2.0, "z": more * 2.0}, [x, more])})
    made = built(net, given={"x": (4, 2)})
    assert made.interface.functions[0].axes == ("more_0",)
    takes, gives = "x float32[4, 2], more float32[more_0, 2]", "y float32[4, 2], z float32[more_0, 2]"
    assert f"{takes} -> {gives}" in made.header
    assert "#define NET_F_X 8 " in made.header


def test_what_closes_a_size_is_named_with_its_line(tmp_path: Path):
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    small = sg.nn.dilation2d(sg.ones([1, 9, 9, 1]), x[:, :, None], [1] * 4, [1] * 4, "SAME")
    net = saved(tmp_path / "net.sg", {"f": sg.Signature({"y": small})})
    message = r"f cannot be compiled for all sizes: .*size 0 of x(.|\n)*test_open_sizes.py(.|\n)*"
    with pytest.raises(UnimplementedError, match=message + "--shape x=8,3"):
        built(net)


# Reads numbers of rows and rows, and writes what a line predicts for them.
_PREDICT = """
#include <stdio.h>
#include <stdlib.h>
#include "line.h"

static line model;

int main(void) {
    int64_t rows, shape[2];
    if (line_init(&model)) return 2;
    while (fread(&rows, sizeof rows, 1, stdin) == 1) {
        size_t bytes;
        if (line_predict_sizes(rows, shape, &bytes) || shape[0] != rows || shape[1] != 1) return 3;
        float *x = malloc(rows * 3 * sizeof *x + 1), *y = malloc(rows * sizeof *y + 1);
        void *workspace = malloc(bytes);
        if (!x || !y || !workspace) return 4;
        if (fread(x, 3 * sizeof *x, rows, stdin) != (size_t)rows) return 5;
        if (line_predict(&model, rows, x, y, workspace, bytes)) return 6;
        fwrite(y, sizeof *y, rows, stdout);
        free(workspace), free(x), free(y);
    }
    return line_predict_sizes(-1, 0, 0) == LINE_NEGATIVE_SIZE ? 0 : 7;
}
"""


def test_a_c_program_with_a_batch_that_is_given_when_it_runs(tmp_path: Path, rng: np.random.Generator):
    net = saved(tmp_path / "line.sg", line())
    (tmp_path / "main.c").write_text(_PREDICT)
    built(net, "line").write(tmp_path / "line")
    cc("-std=c99", *STRICT, "main.c", "line.o", "-lm", "-o", "predict", cwd=tmp_path)
    given = [rng.normal(size=(rows, 3)).astype(np.float32) for rows in BATCHES]
    text = b"".join(np.int64(len(x)).tobytes() + x.tobytes() for x in given)
    run = subprocess.run(["./predict"], cwd=tmp_path, input=text, capture_output=True)
    assert run.returncode == 0
    assert run.stdout == b"".join(net(x=x)["y"].tobytes() for x in given)


def test_the_example_takes_sizes(tmp_path: Path):
    net = saved(tmp_path / "line.sg", line())
    built(net, "line").write(tmp_path / "line")
    cc("-std=c99", *STRICT, "main.c", "line.o", "-lm", "-o", "line", cwd=tmp_path)
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    (tmp_path / "x.bin").write_bytes(x.tobytes())
    run = subprocess.run(["./line", "2", "x.bin"], cwd=tmp_path, capture_output=True, text=True)
    assert re.findall(r"y (\S+)", run.stdout) == ["14", "32"]
    for arguments, message in ((["x.bin"], "usage: .*x_0 x.bin"), (["-2", "x.bin"], "cannot read x.bin")):
        run = subprocess.run(["./line", *arguments], cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 1
        assert re.search(message, run.stderr)


def test_a_loaded_file_compiles_to_the_same_object(tmp_path: Path):
    saved(tmp_path / "line.sg", line())
    first, second = (built(load(tmp_path / "line.sg"), "line") for _ in range(2))
    assert (first.object, first.header) == (second.object, second.header)


def test_names_of_programs_are_those_of_no_function(tmp_path: Path):
    """A function has programs, which have numbers, and so have the names of functions."""
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    y = sg.placeholder(sg.float32, [None, 3], name="y")
    functions = {
        "f": sg.Signature({"z": x + y}),
        "f_0": sg.Signature({"z": x - y}),
        "f_1": sg.Signature({"z": x}),
    }
    net = saved(tmp_path / "net.sg", functions)
    native = Native(built(net), tmp_path)
    assert native.init() == 0
    ones = np.ones((2, 3), np.float32)
    follow(net, native, "f", ones, ones)
    follow(net, native, "f_0", ones, ones)
