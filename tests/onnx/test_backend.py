"""The functions that `onnx.backend` asks for, and its own tests."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.formats.onnx import backend
from tests.onnx.models import info, line, model, node
from tools import onnx_cases

pytestmark = pytest.mark.takes_long

ALL = ("node", "pytorch-converted", "pytorch-operator", "real", "simple")


def test_prepare_and_run():
    prepared = backend.prepare(line().SerializeToString())
    for rows in (1, 3):
        x = np.ones((rows, 2), np.float32)
        (y,) = prepared.run([x])
        np.testing.assert_array_equal(y, np.tile(np.float32([3.5, 1.5]), (rows, 1)))
        np.testing.assert_array_equal(prepared.run({"x": x})[0], y)
    np.testing.assert_array_equal(backend.run_model(line(), [x])[0], y)


def test_values_that_decide_shapes_are_built_in_when_they_come():
    inputs = [info("x", "float32", [2, 3]), info("axes", "int64", [1])]
    proto = model([node("ReduceSum", "x axes", "y", keepdims=0)], inputs, [info("y", "float32", [])])
    prepared = backend.prepare(proto)
    x = np.float32([[1, 2, 3], [4, 5, 6]])
    for axis in (0, 1, 0):
        np.testing.assert_array_equal(prepared.run([x, np.int64([axis])])[0], x.sum(axis))


def test_sizes_that_decide_are_those_of_what_comes():
    nodes = [node("MaxPool", "x", "y", kernel_shape=[2], strides=[2], ceil_mode=1)]
    prepared = backend.prepare(model(nodes, [info("x", "float32", [1, 1, "n"])], [info("y", "float32", [])]))
    for n in (5, 4, 5):
        x = np.arange(n, dtype=np.float32).reshape(1, 1, n)
        np.testing.assert_array_equal(prepared.run([x])[0].ravel(), [1, 3, 4][: -(-n // 2)])


def test_a_single_node():
    x = np.float32([-1, 4])
    np.testing.assert_array_equal(backend.run_node(node("Sqrt", "x", "y"), [x[1:]])[0], [2])
    y, place = backend.run_node(node("TopK", "x k", "y i"), {"x": x, "k": np.int64([1])})
    assert (y, place) == (4, 1)


def test_devices():
    assert backend.supports_device("CPU") and not backend.supports_device("CUDA")
    with pytest.raises(sg.onnx.OnnxError, match="no device 'CUDA'"):
        backend.prepare(line(), "CUDA")


def test_the_class_of_the_package():
    base = pytest.importorskip("onnx.backend.base")
    assert issubclass(backend.Backend, base.Backend)
    (y,) = backend.Backend.prepare(line()).run([np.zeros((1, 2), np.float32)])
    np.testing.assert_array_equal(y, [[0.5, 0]])
    with pytest.raises(AttributeError):
        backend.Nothing


@pytest.mark.filterwarnings("ignore")
def test_some_of_onnx_own_cases():
    pytest.importorskip("onnx")
    cases = onnx_cases.load_cases(["node", "pytorch-converted"])
    for case, test in [each for each in cases if each[0].plain][::80]:
        if not _is_random(case):
            onnx_cases.run_case(test)


def _is_random(case):
    """Cases that no other generator of random numbers can pass."""
    return "bernoulli" in case.name or "training_dropout" in case.name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_all_of_onnx_own_cases():
    pytest.importorskip("onnx")
    cases = [case for case, _ in onnx_cases.load_cases(ALL)]
    results = list(onnx_cases.run_all(cases, range(len(cases)), ALL))
    passed = {result.case.name for result in results if not result.error}
    failed = [
        f"{r.case.name}: {r.error}" for r in results if r.error and r.case.plain and not _is_random(r.case)
    ]
    assert [text for text in failed if "ai_onnx_ml" not in text and "strnorm" not in text] == []
    assert len(passed) >= 1820
