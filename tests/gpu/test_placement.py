"""Which device does what: operations that are pinned to the processor, and what is told of it."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.lower.program import HostCall
from staticgraph.formats.tf.messages.config import ConfigProto
from staticgraph.runtime.gpu import placement
from staticgraph.runtime.gpu.backend import GpuBackend
from staticgraph.runtime.gpu.cuda import present
from staticgraph.runtime.gpu.device import Device
from tests.gpu.sessions import on


def pinned():
    x, w = sg.placeholder(sg.float32, [3]), sg.Variable([1.0, 2.0, 3.0])
    with sg.device("/cpu:0"):
        y = sg.exp(x * w)
    loss = sg.reduce_sum(y * y)
    return x, [y, sg.train.GradientDescentOptimizer(0.01).minimize(loss), sg.gradients(loss, w)[0]]


def test_operations_on_the_processor_split_the_program(one_driver):
    found = []
    for driver in (None, one_driver):
        with sg.Graph().as_default(), on(driver), sg.Session() as session:
            x, fetches = pinned()
            session.run(sg.global_variables_initializer())
            found.append([session.run(fetches, {x: [0.1, 0.2, 0.3]})[::2] for _ in range(4)])
            program = session.executable(fetches, {x: [0.1, 0.2, 0.3]}).compiled.program
            calls = [i.node.op.name for i in program.instructions if isinstance(i, HostCall)]
            assert calls == ([] if driver is None else ["multiply", "exp"])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_the_log_of_placements(one_driver, capsys):
    with sg.Graph().as_default(), on(one_driver):
        with sg.device("/cpu:0"):
            a = sg.constant([1.0, 2.0], name="a")
        text = sg.strings.as_string(sg.sqrt(a, name="root"), name="text")
        with sg.Session(config=ConfigProto(log_device_placement=True)) as session:
            session.run(text)
            session.run(text)
    told = capsys.readouterr().err.splitlines()
    assert told == [
        "a: (Const): /job:localhost/replica:0/task:0/device:CPU:0",
        "root: (Sqrt): /job:localhost/replica:0/task:0/device:GPU:0",
        "text: (AsString): /job:localhost/replica:0/task:0/device:CPU:0",
    ]


def test_the_log_tells_cards_apart(one_driver, capsys, monkeypatch):
    monkeypatch.setattr(
        "staticgraph.runtime.session.open_backend",
        lambda settings, config: GpuBackend(Device(one_driver, 1), settings),
    )
    with sg.Session(config=ConfigProto(log_device_placement=True)) as session:
        session.run(sg.constant([4.0], name="a") * 2)
        assert session.device.name == "GPU:1"
    assert "a: (Const): /job:localhost/replica:0/task:0/device:GPU:1" in capsys.readouterr().err


def test_a_config_without_gpus_is_the_processor(monkeypatch):
    def find(*_):
        raise AssertionError("a card was looked for")

    monkeypatch.setattr(placement, "_has_driver", find)
    with sg.Session(config=ConfigProto(device_count={"GPU": 0})) as session:
        assert session.run(sg.constant(1.0)) == 1


@pytest.mark.parametrize("name", ["gpu", "/gpu:0", "/device:GPU:3"])
def test_a_gpu_that_is_not_there(name):
    if present.cards():
        pytest.skip("there is a GPU here")
    with pytest.raises(sg.errors.FailedPreconditionError, match="GPU") as caught:
        sg.Session(device=name)
    assert "install" in str(caught.value)


@pytest.mark.parametrize("name", ["tpu", "gpu:x", "cpu:1", "gpu:-1"])
def test_a_device_that_makes_no_sense(name):
    with pytest.raises(ValueError, match=r"device is .*, it must be"):
        sg.Session(device=name)
