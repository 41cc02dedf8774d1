"""Programs compiled ahead compute the same as a session, to the last bit."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.runtime.files.loaded import LoadedGraph, load
from tests.ahead.digits import draw, lenet
from tests.ahead.native import Native, built, needs_compiler, same_bits, saved

pytestmark = [needs_compiler, pytest.mark.takes_long]


@pytest.fixture(autouse=True)
def known_sizes():
    """Sessions compile for the sizes at hand, as the object was: so that they add in the same order."""
    with sg.options(open_sizes=False):
        yield


def follow(net: LoadedGraph, native: Native, *calls: tuple[str, list[Any]]) -> None:
    """Make the same calls of both, and compare."""
    assert native.init() == 0
    for label, values in calls:
        function = net.signatures[label]
        wanted = function(dict(zip(function.required, values, strict=True)))
        same_bits(native(label, *values), wanted)


@pytest.mark.parametrize("separate", [False, True], ids=["weights inside", "weights in a file"])
def test_digits_are_learned_and_told_apart(tmp_path: Path, rng: np.random.Generator, separate: bool):
    net = saved(tmp_path / "digits.sg", lenet(8))
    native = Native(built(net, batch=20, separate=separate), tmp_path)
    batches = [draw(rng, 20, 8) for _ in range(5)]
    calls: list[tuple[str, list[Any]]] = [("predict", [batches[0][0]])]
    calls += [("train", [*batch]) for batch in batches]
    follow(net, native, *calls, ("predict", [batches[0][0]]))


def test_loops_and_their_derivatives(tmp_path: Path, rng: np.random.Generator):
    x = sg.placeholder(sg.float32, [4, 16], name="x")
    w = sg.get_variable("w", [16, 16], initializer=sg.glorot_uniform_initializer(seed=1))
    _, h = sg.while_loop(lambda i, h: i < 10, lambda i, h: (i + 1, sg.tanh(sg.matmul(h, w))), (0, x))
    slope = sg.gradients(sg.reduce_sum(h), [w])[0]
    train = sg.Signature({"sum": sg.reduce_sum(h)}, step=w.assign_sub(0.01 * slope).op)
    net = saved(tmp_path / "loop.sg", {"predict": sg.Signature({"h": h}), "train": train})
    value = rng.normal(size=(4, 16)).astype(np.float32)
    calls = [("predict", [value]), ("train", [value])] * 3
    follow(net, Native(built(net), tmp_path), *calls)


def test_branches_that_assign(tmp_path: Path):
    x = sg.placeholder(sg.float32, [3], name="x")
    w = sg.Variable(np.ones(3, np.float32), name="w")
    above = sg.reduce_sum(x) > 0.0
    y = sg.cond(above, lambda: x * w, lambda: x - w)
    changed = sg.cond(above, lambda: sg.assign(w, w * 2.0), lambda: sg.assign(w, w + 1.0))
    outputs = {"y": y, "again": y, "x": x, "w": w}
    functions = {"read": sg.Signature(outputs), "change": sg.Signature(inputs=[x], step=changed.op)}
    net = saved(tmp_path / "branch.sg", functions)
    calls: list[tuple[str, list[Any]]] = []
    for value in ([1, 2, 3], [1, 2, -5], [0, 0, 1]):
        calls += [("read", [value]), ("change", [value])]
    follow(net, Native(built(net), tmp_path), *calls)


def test_random_streams_go_on(tmp_path: Path):
    uniform = sg.random_uniform([5], seed=3)
    _, walk = sg.while_loop(
        lambda i, h: i < 4, lambda i, h: (i + 1, h + sg.random_normal([3], seed=5)), (0, sg.zeros([3]))
    )
    signatures = {"uniform": sg.Signature({"u": uniform}), "walk": sg.Signature({"w": walk})}
    with sg.Session() as sess:
        first = sess.run([uniform, walk])
        sg.save(tmp_path / "random.sg", signatures=signatures, session=sess)
    net = load(tmp_path / "random.sg")
    native = Native(built(net), tmp_path)
    follow(net, native, *[("uniform", []), ("walk", [])] * 3)
    native.init()
    assert (native("uniform")[0] != first[0]).all()


def test_types_and_empty_arrays(tmp_path: Path):
    signatures = {}
    for dtype in (sg.float64, sg.int64, sg.int16, sg.uint8, sg.bool):
        x = sg.placeholder(dtype, [2, 3], name=f"x_{dtype.name}")
        outputs = {"wide": sg.cast(x, sg.float64), "half": sg.cast(x, sg.float16)}
        signatures[dtype.name] = sg.Signature(outputs)
    none = sg.placeholder(sg.float32, [0, 3], name="none")
    nothing = sg.Variable(np.zeros([0, 2], np.float32), name="nothing")
    signatures["empty"] = sg.Signature({"sum": sg.reduce_sum(none), "both": sg.concat([nothing, nothing], 0)})
    signatures["assign"] = sg.Signature(step=nothing.assign(nothing * 2.0).op)
    net = saved(tmp_path / "types.sg", signatures)
    value = [[1, 0, 1], [1, 1, 0]]
    calls: list[tuple[str, list[Any]]] = [(name, [value]) for name in list(signatures)[:-2]]
    follow(net, Native(built(net), tmp_path), *calls, ("empty", [np.zeros((0, 3))]), ("assign", []))


def test_initializers_and_counters(tmp_path: Path):
    v = sg.get_variable("v", [4, 4], initializer=sg.random_uniform_initializer(seed=4))
    counter = sg.Variable(0, dtype=sg.int64, name="class")
    net = saved(
        tmp_path / "init.sg",
        {
            "reset": sg.Signature(step=v.initializer),
            "count": sg.Signature({"c": counter.assign_add(1)}),
            "read": sg.Signature({"v": v, "c": counter}),
        },
    )
    follow(net, Native(built(net), tmp_path), *[("count", []), ("read", []), ("reset", []), ("read", [])] * 2)


def test_an_input_with_a_value_of_its_own_is_taken_where_it_is_asked_for(tmp_path: Path):
    x = sg.placeholder(sg.float32, [2], name="x")
    factor = sg.placeholder_with_default(np.float32(3), [], name="factor")
    net = saved(tmp_path / "default.sg", {"predict": sg.Signature({"y": x * factor})})
    assert [a.name for a in built(net).interface.functions[0].inputs] == ["x"]
    made = built(net, given={"factor": ()})
    native = Native(made, tmp_path)
    native.init()
    function = made.interface.functions[0]
    values = {"x": [1, 2], "factor": 5}
    np.testing.assert_array_equal(native("predict", *(values[a.name] for a in function.inputs))[0], [5, 10])


def test_states_are_independent_and_addresses_need_no_alignment(tmp_path: Path):
    x = sg.placeholder(sg.float32, [40, 40], name="x")
    w = sg.Variable(np.eye(40, dtype=np.float32), name="w")
    net = saved(tmp_path / "w.sg", {"step": sg.Signature({"y": sg.matmul(x, w)}, step=w.assign(w * 2.0).op)})
    native = Native(built(net), tmp_path)
    size = native.made.interface.size
    value = np.arange(1600, dtype=np.float32).reshape(40, 40)
    states = []
    for shift in (0, 8, 24, 40):
        native.state = (ctypes.c_char * size).from_buffer(bytearray(size + shift), shift)
        states.append(native.state)
        assert native.init() == 0
        np.testing.assert_array_equal(native("step", value)[0], value)
    for state in states:
        native.state = state
        np.testing.assert_array_equal(native("step", value)[0], value * 2)
    odd = np.frombuffer(bytearray(6400 * 2 + 4), np.float32, 3200, 4)
    odd[:1600] = value.ravel()
    addresses = [ctypes.c_void_p(odd.ctypes.data + start) for start in (0, 6400)]
    assert native.library.net_step(native.state, *addresses) == 0
    np.testing.assert_array_equal(odd[1600:].reshape(40, 40), value * 4)


def test_the_same_file_makes_the_same_object(tmp_path: Path):
    noise = sg.random_normal([3])
    net = saved(tmp_path / "noise.sg", {"noise": sg.Signature({"n": noise})})
    objects = {built(load(tmp_path / "noise.sg")).object for _ in range(2)}
    assert objects == {built(net).object}
