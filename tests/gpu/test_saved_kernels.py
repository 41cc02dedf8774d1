"""GPU code in saved graphs: what is in the file need not be compiled where it is loaded."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.kernel.schedule_gpu.products import convolved
from staticgraph.runtime.files.arrays import safetensors
from staticgraph.runtime.files.code import gpu as gpu_kernels
from staticgraph.runtime.gpu.cuda import nvrtc
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu.sessions import draws, on


@pytest.fixture
def path(tmp_path, monkeypatch, host):
    """A saved net with code for a stand-in; its values before."""
    monkeypatch.setattr(nvrtc, "compile", lambda functions, architecture: Simulator().image(functions))
    with sg.Graph().as_default(), sg.Session(device="cpu", open_sizes=False) as session:
        sg.set_random_seed(1)
        x = sg.placeholder(sg.float32, [None, 12], name="x")
        y = sg.nn.softmax(sg.layers.dense(x, 5, activation=sg.nn.tanh))
        session.run(sg.global_variables_initializer())
        sg.save(str(tmp_path / "net.sg"), {"y": y}, kernels=["sm_90", "native"], shapes={"x": [4, 12]})
        np.save(tmp_path / "y.npy", session.run(y, {x: draws(1, 4, 12)[0]}))
    return tmp_path / "net.sg"


@pytest.mark.parametrize(("trusted", "compilations"), [(True, 0), (False, 1)])
def test_trusted_images_are_not_compiled_again(path, one_driver, trusted, compilations):
    with on(one_driver):
        net = sg.load(str(path), trusted=trusted)
        made = net(x=draws(1, 4, 12)[0])["y"]
    np.testing.assert_allclose(made, np.load(path.parent / "y.npy"), rtol=1e-6)
    assert one_driver.counts.compilations == compilations


def test_images_are_of_use_with_a_library_of_convolutions(tmp_path, monkeypatch, host):
    monkeypatch.setattr(nvrtc, "compile", lambda functions, architecture: Simulator().image(functions))
    monkeypatch.setattr(convolved, "_LEAST", 1)
    monkeypatch.setattr(convolved, "_TENSOR_CORES_ALONE", False)
    images = draws(1, 2, 6, 6, 8)[0]
    with sg.Graph().as_default(), sg.Session(device="cpu") as session:
        x = sg.placeholder(sg.float32, [None, 6, 6, 8], name="x")
        y = sg.nn.relu(sg.layers.conv2d(x, 8, 3))
        session.run(sg.global_variables_initializer())
        path, shapes = str(tmp_path / "net.sg"), {"x": [2, 6, 6, 8]}
        sg.save(path, {"y": y}, kernels=["sm_90"], shapes=shapes)
        expected = session.run(y, {x: images})
    for library in (False, True):
        driver = Simulator(convolutions=library)
        with on(driver):
            found = sg.load(path, trusted=True)(x=images)["y"]
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)  # some are nearly zero
        assert (driver.counts.compilations, driver.counts.convolutions) == (0, library)


def test_images_of_another_version_are_compiled_again(path, one_driver, monkeypatch):
    monkeypatch.setattr(gpu_kernels, "prelude_digest", lambda: "of tomorrow")
    with on(one_driver):
        sg.load(str(path), trusted=True)(x=draws(1, 4, 12)[0])
    assert one_driver.counts.compilations == 1


@pytest.mark.parametrize("opens", [True, False])
def test_another_shape_is_compiled_where_functions_are_for_one(path, one_driver, opens):
    with on(one_driver), sg.options(open_sizes=opens):
        net = sg.load(str(path), trusted=True)
        assert net(x=draws(1, 7, 12)[0])["y"].shape == (7, 5)
    assert one_driver.counts.compilations == (not opens)


def test_a_processor_takes_its_own_code(path):
    with sg.options(open_sizes=False):
        made = sg.load(str(path), trusted=True)(x=draws(1, 4, 12)[0])["y"]
    np.testing.assert_array_equal(made, np.load(path.parent / "y.npy"))


def test_the_summary_tells_of_it(path):
    summary = sg.inspect(str(path))
    code = summary.kernels["cuda-sm_90"]
    assert code.programs == [{"signature": "predict", "feeds": {"x": "float32[4, 12]"}}]
    assert "cuda-sm_90" in str(summary)


def test_what_is_no_image_is_an_error(path, one_driver, monkeypatch):
    read = safetensors.read

    def damaged(member, what):
        found = dict(read(member, what))
        found.pop("image", None)
        return found

    monkeypatch.setattr(safetensors, "read", damaged)
    with on(one_driver), pytest.raises(sg.errors.InvalidFileError, match="its code for GPUs"):
        sg.load(str(path), trusted=True)


def test_cards_that_nobody_knows_are_processors_that_nobody_knows(tmp_path):
    with sg.Graph().as_default(), sg.Session() as session, pytest.raises(sg.errors.OpError):
        sg.save(str(tmp_path / "net.sg"), {"y": sg.constant(1.0) * 2}, session=session, kernels=["sm_x"])
