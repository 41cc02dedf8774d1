"""The kernels of a card beside the meaning of their ops, by `bisect`: what agrees, and planted faults."""

from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.__main__ import main
from staticgraph.compiler.gpu import compile as compiling
from staticgraph.compiler.kernel.primitives.functions import FUNCTIONS
from staticgraph.compiler.kernel.primitives.instructions import Texts
from staticgraph.runtime.debug.bisect import Bisection, bisect, calls_of, how
from staticgraph.runtime.debug.bisect_text import dump, text
from staticgraph.runtime.debug.gpu_under_test import GpuUnderTest
from staticgraph.runtime.gpu.cuda.failure import failure
from staticgraph.runtime.gpu.device import Device

pytestmark = pytest.mark.takes_long


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch):
    """Code that is made wrong on purpose must not be there for other tests."""
    monkeypatch.setattr(compiling, "_works", OrderedDict())


def training():
    """The step of a net with a loop in it."""
    x = sg.placeholder(sg.float32, [None, 6], name="x")
    hidden = sg.layers.dense(x, 8, activation=sg.tanh)
    mixed = sg.ones([8, 8]) * 0.1
    deep = sg.while_loop(
        lambda i, h: i < 3, lambda i, h: (i + 1, sg.sigmoid(h) + sg.matmul(h, mixed)), [0, hidden]
    )[1]
    loss = sg.losses.sparse_softmax_cross_entropy(sg.zeros([5], sg.int32), sg.layers.dense(deep, 3))
    return x, [loss, sg.train.AdamOptimizer(0.01).minimize(loss)]


def bisected(x, fetches, value, driver, library: bool = True) -> Bisection:
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        [call] = calls_of(session.graph, fetches, {x: value}, session.variables)
    return bisect(call, how(GpuUnderTest(Device(driver), library=library)))


def test_a_training_step_agrees(rng, one_driver):
    x, fetches = training()
    used = one_driver.memory.used
    found = bisected(x, fetches, rng.standard_normal((5, 6), np.float32), one_driver)
    assert found.agrees and found.kernels > 3 and set(found.results.values()) == {None}
    assert one_driver.memory.used == used, "memory of the card is not given back"


def test_a_wrong_kernel_is_found_in_a_loop(monkeypatch, rng, one_driver, tmp_path):
    x, fetches = training()
    wrong = replace(FUNCTIONS["tanh"], cuda=Texts("(tanhf({0}) * 1.001f)"))
    monkeypatch.setitem(FUNCTIONS, "tanh", wrong)
    found = bisected(x, fetches, rng.standard_normal((5, 6), np.float32), one_driver)
    assert "tanh" in found.kernel.ops and found.fault == f"the code of the kernel {found.kernel.name}"
    assert found.kernel.difference.ulps > 1000
    dump(found.kernel, tmp_path)
    assert "1.001f" in (tmp_path / "code.cu").read_text()


def test_kernels_in_a_loop_are_those_that_the_card_runs(monkeypatch, rng, one_driver):
    x = sg.placeholder(sg.float32, [2, 32, 16], name="x")

    def attended(i, h):
        return i + 1, sg.matmul(sg.nn.softmax(sg.matmul(h, h, transpose_b=True)), h)

    y = sg.while_loop(lambda i, h: i < 3, attended, [0, x])[1]
    wrong = replace(FUNCTIONS["exp"], cuda=Texts("(expf({0}) + 0.01f)"))
    monkeypatch.setitem(FUNCTIONS, "exp", wrong)
    found = bisected(x, y, rng.standard_normal((2, 32, 16), np.float32), one_driver)
    assert {"batch_matmul", "exp", "reduce_sum"} <= set(found.kernel.ops) and found.kernel.rounds


def test_a_kernel_that_breaks_the_card_is_named(rng, one_driver):
    x, fetches = training()
    one_driver.fail("launch", error=failure(700, "cudaErrorIllegalAddress", "waiting for the GPU"))
    found = bisected(x, fetches, rng.standard_normal((5, 6), np.float32), one_driver)
    assert not found.agrees and found.fault == f"the code of the kernel {found.broken}"
    assert f"the kernel {found.broken} does not come to its end" in text(found)
    assert "a kernel reached outside of its memory" in text(found)


def test_the_command(tmp_path, capsys, host):
    x = sg.placeholder(sg.float32, [None, 300], name="x")
    sg.save(tmp_path / "net.sg", {"y": sg.nn.softmax(x)}, session=sg.Session())
    assert main(["bisect", str(tmp_path / "net.sg"), "--device", "standin"]) == 0
    assert "kernels and the whole program do what NumPy does" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["bisect", str(tmp_path / "net.sg"), "--device", "tpu"])
    assert "'tpu' is not cpu, gpu, gpu:1 or standin" in capsys.readouterr().err
