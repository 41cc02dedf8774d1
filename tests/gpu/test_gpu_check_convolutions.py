"""Convolutions by cuDNN and by our own kernels are compared with float64, and what is wrong is named."""

from collections import Counter
from contextlib import nullcontext

import numpy as np
import pytest

import staticgraph as sg
from gpu_stages import convolutions, layers
from gpu_stages.findings import Finding, read
from gpu_stages.layers import BY_FILTER, BY_IMAGE, KINDS, LAYERS, RESULT, Case, Layer, cases, compile_ahead
from gpu_stages.sampled import sampled
from gpu_stages.setting import Setting
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.runtime.gpu.cuda import nvrtc
from staticgraph.runtime.gpu.simulator import convolution as standin_convolution
from staticgraph.runtime.state.memory import from_storage

CONVOLVED = "staticgraph.compiler.kernel.schedule_gpu.products.convolved"


def found(setting: Setting) -> list[Finding]:
    return read(setting.folder / "test.jsonl")


def test_there_are_fewer_cases_for_tensor_cores():
    counts = Counter(case.numbers_text for case in cases(small=False))
    assert counts == {"float32": 18, "float32 by tf32": 9, "float16": 9, "bfloat16": 9}


@pytest.mark.takes_long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "layer",
    [Layer(9, 8, 10, 3), Layer(15, 8, 9, 3, 2), Layer(16, 8, 9, 3, 2), Layer(8, 9, 8, 1, 2)],
    ids=lambda layer: layer.text,
)
def test_places_of_a_convolution_are_right(layer, kind):
    case = Case(layer, 2, kind, "bfloat16")
    numbers = case.numbers()
    x, w, g = (from_storage(array, case.dtype).astype(np.float64) for array in numbers.values())
    with sg.Session(device="cpu") as session:
        image, filter, gradient = map(sg.constant, (x, w, g))
        y = sg.nn.conv2d(image, filter, [1, layer.stride, layer.stride, 1], "SAME")
        by_image, by_filter = sg.gradients(y, [image, filter], gradient)
        whole = session.run({RESULT: y, BY_IMAGE: by_image, BY_FILTER: by_filter}[kind])
    worst = tuple(extent - 1 for extent in whole.shape)
    at, right = sampled(case, numbers, worst)
    assert worst in zip(*at, strict=True) and len(right) > 64
    np.testing.assert_allclose(whole[at], right, rtol=1e-12, atol=1e-12 * np.abs(right).max())


def small(monkeypatch: pytest.MonkeyPatch, *kinds: str) -> None:
    """One small layer, which cuDNN does all the same."""
    monkeypatch.setattr(f"{CONVOLVED}._LEAST", 1)
    monkeypatch.setattr(f"{CONVOLVED}._TENSOR_CORES_ALONE", False)
    monkeypatch.setattr(layers, "SMALL_TYPES", (("float32", Precision.FLOAT32),))
    monkeypatch.setattr(layers, "KINDS", kinds)
    monkeypatch.setattr(layers, "SMALL", (Layer(6, 8, 8, 3),))


def test_layers_are_compared(setting, monkeypatch):
    small(monkeypatch, RESULT, BY_IMAGE)
    convolutions.run(setting)
    checks = {finding.name: finding.ok for finding in found(setting) if finding.ok is not None}
    assert checks == {
        f"float32 6², 8 to 8, 3×3: {kind}: {who}": True
        for kind in (RESULT, BY_IMAGE)
        for who in ("ours", "cuDNN's")
    }
    assert all("by cuDNN" in finding.text for finding in found(setting) if finding.value)


def test_what_cudnn_is_not_asked_for_is_measured_alone(setting, monkeypatch):
    small(monkeypatch, RESULT)
    monkeypatch.setattr(f"{CONVOLVED}._TENSOR_CORES_ALONE", True)
    monkeypatch.setattr(layers, "SMALL", (Layer(7, 8, 8, 3),))  # what is decided is remembered
    convolutions.run(setting)
    check, number = found(setting)
    assert check.name.endswith("the result: ours") and check.ok
    assert number.unit == "TFLOP/s" and number.text.endswith("by our own kernels")


def test_the_one_that_is_wrong_is_named(setting, monkeypatch):
    small(monkeypatch, BY_FILTER)
    convolve = standin_convolution.convolve

    def wrong(convolution, image, filter, result):
        convolve(convolution, image, filter, result)
        filter.view(np.float32)[17] += 1e3

    monkeypatch.setattr(standin_convolution, "convolve", wrong)
    convolutions.run(setting)
    ours, theirs = (finding for finding in found(setting) if finding.ok is not None)
    assert ours.name.endswith("by the filter: ours") and ours.ok
    assert theirs.name.endswith("by the filter: cuDNN's") and theirs.ok is False
    assert " at (" in theirs.text and "both differ in 0.17 % of all numbers" in theirs.text


def test_what_is_not_computed_at_all_is_wrong(setting, monkeypatch):
    small(monkeypatch, RESULT)
    monkeypatch.setattr(standin_convolution, "convolve", lambda convolution, *arrays: None)
    convolutions.run(setting)
    assert [finding.ok for finding in found(setting) if finding.ok is not None] == [True, False]


def test_without_a_library_there_is_nothing_to_compare(setting, monkeypatch, one_driver):
    monkeypatch.setattr(Setting, "small", False)
    monkeypatch.setattr(Setting, "driver", lambda setting: nullcontext(one_driver))
    monkeypatch.setattr(convolutions.cudnn, "lacking", lambda: "nothing is there")
    convolutions.run(setting)
    assert [finding.text for finding in found(setting)] == ["by our own kernels: nothing is there"]


@pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not installed")
def test_what_is_compiled_ahead_is_found_again(monkeypatch, tmp_path):
    monkeypatch.setenv("SG_CACHE_DIR", str(tmp_path))
    case = Case(LAYERS[0], 2, BY_FILTER, "float32")
    compile_ahead("sm_90", case)
    monkeypatch.setattr(nvrtc, "_compiled", lambda *given: pytest.fail("it is compiled again"))
    for refused in (None, frozenset()):
        assert nvrtc.compile(case.compiled(refused).functions, "sm_90")
