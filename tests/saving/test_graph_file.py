"""A graph that is saved and loaded computes the same, bit for bit, and is saved to the same bytes again."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import (
    FeedError,
    InvalidArgumentError,
    NotFoundError,
    SaveError,
    UninitializedError,
)
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.graph import Graph, get_default_graph
from staticgraph.runtime.files.attributes import decode, encode
from staticgraph.runtime.files.loaded import load
from staticgraph.runtime.session import Session
from staticgraph.saved.saving import save
from tests.saving.nets import again, line

ROOT = Path(__file__).resolve().parents[2]


def test_a_call_gives_what_the_session_gave(tmp_path):
    net, same = again(line(tmp_path / "net.sg"))
    x = np.array([[1, 2], [3, 4]], np.float32)
    assert same
    np.testing.assert_array_equal(net(x=x, target=x)["y"], [[4, 7], [6, 11]])
    assert net.inputs["x"].type.shape == (None, 2)
    assert net.outputs["loss"].dtype is sg.float32
    assert net.graph is not get_default_graph()
    assert net.graph.get_tensor_by_name("y:0") is net.outputs["y"]


def test_sizes_that_were_unknown_stay_unknown(tmp_path):
    net = load(line(tmp_path / "net.sg"))
    for rows in (0, 1, 5):
        x = np.ones((rows, 2), np.float32)
        assert net(x=x, target=x)["y"].shape == (rows, 2)


def test_the_training_step_goes_on_where_it_was(tmp_path):
    path = line(tmp_path / "net.sg")
    x, target = np.array([[1, 2]], np.float32), np.array([[0, 0]], np.float32)
    first = load(path)
    losses = [first.step(x=x, target=target)["loss"] for _ in range(3)]
    assert losses[0] > losses[1] > losses[2]
    second = load(path)
    second.step(x=x, target=target)
    second.save(tmp_path / "later.sg")
    third = load(tmp_path / "later.sg")
    assert [third.step(x=x, target=target)["loss"] for _ in range(2)] == losses[1:]


def test_a_graph_without_a_step_says_so(tmp_path):
    net = load(line(tmp_path / "net.sg", step=None))
    assert not net.trains
    with pytest.raises(InvalidArgumentError, match="no training step"):
        net.step(x=[[1, 2]])


def test_random_operations_continue_their_streams(tmp_path):
    seeded = ops.random_uniform(shape=[4], seed=3, seed2=5, name="seeded")
    unseeded = ops.random_standard_normal(shape=[4], name="unseeded")
    path = tmp_path / "random.sg"
    with Session() as session:
        session.run([seeded, unseeded])
        save(path, [seeded, unseeded])
        wanted = [session.run(seeded) for _ in range(2)]
    net, same = again(path)
    assert same
    np.testing.assert_array_equal([net()[0] for _ in range(2)], wanted)
    np.testing.assert_array_equal(load(path)()[0], wanted[0])
    assert any(net()[1] != load(path)()[1])  # without a seed, each process has a stream of its own


def test_control_dependencies_devices_and_scopes_are_kept(tmp_path):
    count = sg.Variable(0, name="scope/count")
    with get_default_graph().device("/gpu:0"), sg.name_scope("inner"):
        increment = count.assign_add(1)
        with sg.control_dependencies([increment]):
            out = sg.identity(ops.read_variable(count.handle), name="out")
    path = tmp_path / "control.sg"
    with Session() as session:
        session.run(count.initializer)
        save(path, out)
    net, same = again(path)
    assert same
    assert [net() for _ in range(3)] == [1, 2, 3]
    op = net.outputs["inner/out"].op
    assert [c.name for c in op.control_inputs] == [increment.op.name]
    assert op.device == "/device:GPU:0"
    assert op.where.short == out.op.where.short
    with net.graph.as_default(), sg.name_scope("inner"):
        assert sg.no_op(name="out").name == "inner_1/out"


ATTRIBUTES = [
    None,
    True,
    False,
    0,
    -3,
    2**63 - 1,
    0.1,
    -0.0,
    1.0,
    5e-324,
    np.inf,
    -np.inf,
    np.nan,
    "",
    "VALID",
    'ü\n"',
    (),
    (1, (2.0, None), ("a", sg.bfloat16)),
    sg.complex64,
]


def test_attributes_come_back_with_their_types(tmp_path):
    for value in ATTRIBUTES:
        there = encode(value, lambda literal: pytest.fail("not an array"))
        back = decode(there, "it", lambda key: pytest.fail("not an array"))
        assert repr(back) == repr(value)
        assert type(back) is type(value)


@pytest.mark.parametrize(
    "dtype", [d for d in sg.compiler.graph.dtypes.DTYPES.values() if d is not sg.string], ids=str
)
@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (40, 20)], ids=str)
def test_values_of_every_dtype_are_kept_bit_by_bit(tmp_path, dtype, shape, rng):
    bits = rng.integers(0, 2 if dtype.is_bool else 256, (*shape, dtype.numpy.itemsize), np.uint8)
    array = dtype.round(
        bits.copy().view(dtype.numpy).reshape(shape) if not dtype.is_bool else bits[..., 0] == 1
    )
    x = ops.constant(value=Literal.of(array, dtype), name="x")
    v = ops.variable(dtype=dtype, shape=shape, name="v")
    path = tmp_path / "values.sg"
    with Session() as session:
        session.variables.write(v.op, array)
        save(path, {"x": x, "v": ops.read_variable(v)})
        stored = session.variables.stored(v.op).tobytes()
    net, same = again(path)
    assert same
    assert net.session.variables.stored(net.graph.get_operation_by_name("v")).tobytes() == stored
    assert net.outputs["x"].op.attrs["value"] == x.op.attrs["value"]


def test_large_weights_are_aligned_in_the_file(tmp_path):
    big = ops.constant(value=Literal.of(np.arange(1000, dtype=np.float32), sg.float32), name="big")
    path = tmp_path / "big.sg"
    save(path, [big])
    data = path.read_bytes()
    assert data.index(np.arange(1000, dtype=np.float32).tobytes()) % 64 == 0
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["manifest.json", "graph.json", "weights.safetensors"]


def test_a_shape_told_by_the_user_is_kept(tmp_path):
    x = sg.placeholder(sg.float32, None, name="x")
    y = sg.identity(x)
    x.set_shape([None, 3])
    path = tmp_path / "shape.sg"
    save(path, y)
    net, same = again(path)
    assert same
    assert (net.inputs["x"].type.shape, net.outputs[y.op.name].type.shape) == ((None, 3), None)


def test_outputs_keep_their_structure(tmp_path):
    a, b = sg.constant(1.0, name="a"), sg.constant(2.0, name="b")
    for outputs, wanted in ((a, 1), ([a, b], [1, 2]), ((b,), [2]), ({"first": b}, {"first": 2})):
        save(tmp_path / "out.sg", outputs)
        assert load(tmp_path / "out.sg")() == wanted


def test_only_what_the_outputs_need_is_saved(tmp_path):
    used, unused = sg.Variable(1.0, name="used"), sg.Variable(2.0, name="unused")
    sg.placeholder(sg.float32, [], name="apart")
    with Session() as session:
        session.run(used.initializer)
        save(tmp_path / "net.sg", used + 1.0)
    net = load(tmp_path / "net.sg")
    assert list(net.variables) == ["used"]
    assert not net.graph.has_operation(unused.op.name)
    assert net() == 2


def test_inputs_may_be_renamed_chosen_and_inner_tensors(tmp_path):
    x = sg.placeholder(sg.float32, [2], name="scope/x")
    hidden = x * 2.0
    y = hidden + sg.placeholder_with_default(10.0, [], name="shift")
    save(tmp_path / "a.sg", y, inputs={"x": x})
    np.testing.assert_array_equal(load(tmp_path / "a.sg")(x=[1, 2]), [12, 14])
    save(tmp_path / "b.sg", y, inputs={"hidden": hidden})
    np.testing.assert_array_equal(load(tmp_path / "b.sg")(hidden=[1, 2]), [11, 12])
    save(tmp_path / "c.sg", y)
    net = load(tmp_path / "c.sg")
    assert list(net.inputs) == ["scope/x", "shift"]
    np.testing.assert_array_equal(net({"scope/x": [1, 2]}, shift=0), [2, 4])
    assert again(tmp_path / "b.sg")[1]


def test_feeds_are_checked_by_name(tmp_path):
    net = load(line(tmp_path / "net.sg", outputs={"y": "y:0"}))
    assert list(net(x=[[1, 2]])) == ["y"]  # only the step needs `target`
    with pytest.raises(FeedError, match=r"needs a value for its input 'x' \(float32\[\?, 2\]\)"):
        net()
    with pytest.raises(FeedError, match=r"net\.sg has no input 'target'"):
        net(x=[[1, 2]], target=[[1, 2]])
    with pytest.raises(FeedError, match=r"no input 'targte'[^$]*did you mean 'target'"):
        net.step(x=[[1, 2]], targte=1)
    with pytest.raises(FeedError, match=r"net.sg: train needs a value for its input 'target'"):
        net.step(x=[[1, 2]])
    with pytest.raises(FeedError, match=r"has shape \[3\]"):
        net(x=[1, 2, 3])


def test_variables_can_be_read_and_set(tmp_path):
    net = load(line(tmp_path / "net.sg"))
    variables = net.variables
    np.testing.assert_array_equal(variables["w"], [1, 2])
    variables["w"][0] = 100  # a copy
    variables["w"] = variables["w"] * 2
    np.testing.assert_array_equal(net(x=[[1, 1]], target=[[0, 0]])["y"], [[5, 7]])
    assert dict(variables).keys() == {"w", "b"}
    with pytest.raises(InvalidArgumentError, match=r"w is float32\[2\], and the new value float64\[3\]"):
        variables["w"] = np.zeros(3)
    with pytest.raises(InvalidArgumentError, match="complex"):
        variables["w"] = np.zeros(2, complex)
    with pytest.raises(NotFoundError, match="no variable 'ww'"):
        variables["ww"]
    with pytest.raises(TypeError, match="cannot be removed"):
        del variables["w"]


def test_collections_come_back(tmp_path):
    graph = load(line(tmp_path / "net.sg")).graph
    assert [v.name for v in graph.get_collection("variables")] == ["w:0", "b:0"]
    assert [v.name for v in graph.get_collection("trainable_variables")] == ["w:0"]


def test_it_introduces_itself(tmp_path):
    assert repr(load(line(tmp_path / "net.sg"))) == (
        "<sg.LoadedGraph net.sg\n"
        "  inputs     x: float32[?, 2], target: float32[?, 2]\n"
        "  outputs    y: float32[?, 2], loss: float32[]\n"
        "  variables  2 with 3 elements\n"
        "  signatures predict, train\n"
        "  operations 41>"
    )


def test_another_process_gives_the_same_bits(tmp_path, rng):
    x = sg.placeholder(sg.float32, [None, 7], name="x")
    w = sg.Variable(rng.normal(size=(7, 5)).astype(np.float32), name="w")
    noise = ops.random_uniform(shape=[5], seed=1, seed2=2)
    y = sg.reduce_sum(sg.matmul(x, w.to_tensor()) * noise, axis=1)
    slope = sg.gradients(y, [x])[0]
    batch = rng.normal(size=(3, 7)).astype(np.float32)
    np.save(tmp_path / "x.npy", batch)
    with Session() as session:
        session.run(w.initializer)
        save(tmp_path / "net.sg", {"y": y, "slope": slope})
        wanted = session.run([y, slope], {x: batch})
    program = """
import numpy as np, sys
from staticgraph.saved.saving import load
made = load("net.sg")(x=np.load("x.npy"))
np.savez("made.npz", **made)
assert not [name for name in sys.modules if name in ("pickle", "marshal") and name not in before], sys.modules
"""
    program = "import sys, numpy\nbefore = set(sys.modules)\n" + program
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", program]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    made = np.load(tmp_path / "made.npz")
    assert made["y"].tobytes() == wanted[0].tobytes()
    assert made["slope"].tobytes() == wanted[1].tobytes()


# What cannot be saved


def refused(path, error, match, *arguments, **options):
    version = get_default_graph().version
    with pytest.raises(error, match=match) as caught:
        save(path, *arguments, **options)
    assert get_default_graph().version == version
    assert "test_graph_file.py" in str(caught.value)
    assert list(path.parent.iterdir()) == []


def test_what_cannot_be_saved_is_refused(tmp_path):
    path = tmp_path / "net.sg"
    x, w = sg.placeholder(sg.float32, [2], name="x"), sg.Variable([1.0, 2.0], name="w")
    y = x * w
    refused(path, SaveError, "the values of w are in a session", y)
    with Session() as session:
        refused(path, UninitializedError, "variable w: it has no value", y)
        refused(path, SaveError, "is an operation", w.initializer)
        refused(path, SaveError, "of type int is not a Tensor", {"y": 3})
        refused(path, SaveError, "3 is not a name", {3: y})
        refused(path, SaveError, "needs an output", [])
        refused(path, SaveError, "given twice", [y, y])
        refused(path, SaveError, "no operation 'z'", "z:0")
        refused(path, SaveError, "need the placeholder x, which is not among", y, inputs=[])
        session.run(w.initializer)
        refused(path, SaveError, "not an element of this graph", y, session=Session(graph=Graph()))


@pytest.mark.parametrize("value", ["a\0", ["a", "é"], [[], []], ["long" * 999] * 3], ids=["0", "1", "2", "3"])
def test_strings_are_kept(tmp_path, value):
    x = sg.constant(np.array(value, object) if value == [[], []] else value, sg.string, name="names")
    wanted = np.asarray(value, object)
    save(tmp_path / "net.sg", x)
    loaded = load(tmp_path / "net.sg")
    with Session(graph=loaded.graph) as session:
        made = np.asarray(session.run("names:0"), object)
    assert made.shape == wanted.shape
    assert [v.decode() for v in made.flat] == list(wanted.flat)


def test_a_function_of_python_is_refused(tmp_path):
    x = sg.py_func(abs, [1.0], sg.float32, name="call")
    refused(tmp_path / "net.sg", SaveError, r"cannot save call \(PyFunc\): its func is of type builtin", x)


def test_a_closed_session_is_refused(tmp_path):
    w = sg.Variable(1.0)
    session = Session()
    session.close()
    with pytest.raises(sg.errors.ClosedSessionError):
        save(tmp_path / "net.sg", w, session=session)


def test_an_optimizer_goes_on_in_another_session(tmp_path, rng):
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    loss = sg.reduce_mean(sg.square(sg.layers.dense(x, 2, activation=sg.tanh, use_bias=True)))
    step = sg.train.AdamOptimizer(0.1).minimize(loss, global_step=sg.train.get_or_create_global_step())
    batch = rng.normal(size=(4, 3)).astype(np.float32)
    path = tmp_path / "adam.sg"
    with Session() as session:
        session.run(sg.global_variables_initializer())
        session.run(step, {x: batch})
        sg.save(path, {"loss": loss}, step=step)
        wanted = [session.run([loss, step], {x: batch})[0] for _ in range(3)]
    net, same = again(path)
    assert same
    assert [net.step(x=batch)["loss"] for _ in range(3)] == wanted
    assert net.variables["global_step"] == 4
    assert {"dense/kernel", "dense/kernel/Adam", "beta1_power"} <= set(net.variables)


def test_ops_that_take_strings_too(tmp_path):
    with sg.Graph().as_default():
        x = sg.placeholder(sg.string, [None], name="x")
        y = sg.where(sg.equal(x, "A"), x, sg.gather(sg.constant(["p", "q", "r"]), [1, 2]))
        with sg.Session() as sess:
            sg.save(tmp_path / "words.sg", outputs={"y": sg.expand_dims(y, 1)}, session=sess)
    assert sg.load(tmp_path / "words.sg")(x=["A", "B"])["y"].tolist() == [[b"A"], [b"r"]]
