"""Questions of programs about GPUs, in TF1's words, and the sessions that others open on one."""

import json

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.__main__ import main
from staticgraph.runtime.gpu.cuda import present
from staticgraph.runtime.gpu.cuda.driver import Card
from staticgraph.runtime.gpu.cuda.present import CudaSystem
from staticgraph.tf1 import keras
from staticgraph.tf1.compat.devices.local_devices import list_local_devices
from staticgraph.tf1.compat.testing.cases import (
    gpu_device_name,
    is_built_with_cuda,
    is_built_with_rocm,
    is_gpu_available,
)
from staticgraph.tf1.keras import backend

pytestmark = pytest.mark.takes_long

CARDS = Card("Tesla T4", "sm_75", 40, 16 << 30), Card("NVIDIA H200", "sm_90", 132, 141 << 30)


@pytest.fixture
def machine(monkeypatch):
    """Makes the machine one with these cards and packages."""

    def change(cards, **packages):
        system = CudaSystem((13, 0), 0, tuple(cards)) if cards else None
        monkeypatch.setattr(present, "system", lambda: system)
        monkeypatch.setattr(present, "version", lambda name: packages.get(name.replace("-", "_")))

    return change


def test_no_gpu(machine):
    machine([])
    assert not is_gpu_available() and gpu_device_name() == "" and not is_built_with_cuda()
    assert [device.name for device in list_local_devices()] == ["/device:CPU:0"]


def test_a_gpu_without_cupy_is_none_that_can_be_used(machine):
    machine(CARDS)
    assert not is_gpu_available() and gpu_device_name() == "" and not is_built_with_cuda()


def test_gpus(machine):
    machine(CARDS, cupy_cuda13x="14.2.0")
    assert is_built_with_cuda() and not is_built_with_rocm()
    assert is_gpu_available() and is_gpu_available(True, (9, 0)) and not is_gpu_available(True, (10, 0))
    assert gpu_device_name() == "/device:GPU:0"
    _, first, second = list_local_devices()
    assert (second.name, second.device_type, second.memory_limit) == ("/device:GPU:1", "GPU", 141 << 30)
    assert first.physical_device_desc == "device: 0, name: Tesla T4, compute capability: 7.5"
    without = sg.ConfigProto(device_count={"GPU": 0})
    assert [device.device_type for device in list_local_devices(without)] == ["CPU"]


def test_sessions_of_keras_and_estimators(host, tmp_path):
    def model_fn(features, labels, mode):
        loss = sg.reduce_mean((sg.layers.dense(features["x"], 1) - labels) ** 2)
        step = sg.train.GradientDescentOptimizer(0.1).minimize(loss, sg.train.get_global_step())
        return sg.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    def data():
        rows = {"x": np.ones((8, 2), np.float32)}, np.ones((8, 1), np.float32)
        return sg.data.Dataset.from_tensor_slices(rows).batch(4).repeat()

    with sg.options(device="standin"):
        backend.clear_session()
        model = keras.Sequential([keras.layers.Dense(5, "relu", input_shape=(4,)), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        losses = model.fit(np.ones((8, 4)), np.ones((8, 1)), epochs=3, verbose=0).history["loss"]
        assert losses[-1] < losses[0]
        assert repr(backend.get_session().device) == "<Device GPU:0, 'stand-in'>"
        backend.clear_session()
        estimator = sg.estimator.Estimator(model_fn, str(tmp_path))
        estimator.train(data, steps=4)
        assert estimator.evaluate(data, steps=2)["global_step"] == 4


def test_default_sessions(host):
    with sg.Graph().as_default():
        y = sg.placeholder_with_default(2.0, []) * 3
        session = sg.InteractiveSession(device="standin")
        assert y.eval() == 6 and repr(session.device) == "<Device GPU:0, 'stand-in'>"
        session.close()
        other = sg.Session(device="standin")
        with other.as_default():
            assert y.eval() == 6
        other.close()


def test_bench_tells_the_gpu(host, tmp_path, capsys):
    net = str(tmp_path / "net.sg")
    with sg.Graph().as_default(), sg.Session(device="standin") as session:
        x = sg.placeholder(sg.float32, [None, 16], name="x")
        w = sg.Variable(np.ones((16, 8), np.float32))
        y = sg.nn.softmax(sg.matmul(x, w), name="y")
        session.run(w.initializer)
        sg.save(net, {"y": y}, session=session)
    with sg.options(device="standin"):
        assert main(["bench", net, "--batch", "4", "--runs", "3"]) == 0
        assert capsys.readouterr().out.startswith(f"{net}, predict: stand-in\n")
        assert main(["bench", net, "--batch", "4", "--runs", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["gpu"] == "stand-in" and told["kernels"][0]["seconds"] > 0
