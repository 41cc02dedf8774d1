"""cuDNN's frontend is asked for what a convolution is; its own checks accept that, where it is installed."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from staticgraph.compiler.graph.dtypes import float16, float32
from staticgraph.compiler.graph.errors import OpError, UnimplementedError
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import DTYPES, Convolution, Made
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.runtime.gpu.cuda import cudnn, cupy_driver
from staticgraph.runtime.gpu.cuda.cudnn import Cudnn, described, lacking, layout, left_out
from staticgraph.runtime.gpu.cuda.cupy_driver import CupyDriver
from tests.gpu.fake_cupy import STREAM, FakeCupy

ONE = Convolution(
    Made.RESULT, float32, 2, 16, 24, (9, 9), (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), "x", "w", "y"
)
SHAPES = {
    "same": {},
    "uneven": {"space": (8, 10), "taps": (3, 2), "strides": (1, 2), "before": (0, 1), "after": (1, 0)},
    "apart": {"dilations": (2, 3), "space": (12, 14)},
    "three axes": {
        "space": (4, 5, 6),
        "taps": (2, 3, 2),
        "strides": (1, 1, 2),
        "dilations": (1, 1, 1),
        "before": (0, 1, 0),
        "after": (1, 1, 0),
    },
}
CONVOLUTIONS = [replace(ONE, made=made, **shape) for made in Made for shape in SHAPES.values()]


@pytest.fixture(scope="module")
def real() -> ModuleType:
    """The frontend, with the library behind it, which it needs for its checks."""
    module = pytest.importorskip("cudnn", reason="nvidia-cudnn-frontend is not installed")
    try:
        module.backend_version()
    except RuntimeError:
        pytest.skip("cuDNN itself is not installed")
    return module


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("number", range(len(CONVOLUTIONS)))
def test_the_frontend_accepts_what_it_is_asked_for(number, dtype, real):
    convolution = replace(CONVOLUTIONS[number], dtype=dtype)
    graph, made = described(real, convolution)
    graph.validate()
    shape = convolution.result_shape if convolution.made is Made.RESULT else convolution.filter_shape
    assert (made.get_dim(), made.get_stride()) == layout(shape)


@pytest.mark.parametrize("precision", Precision)
def test_all_that_is_left_out_has_a_name_there(precision):
    module = pytest.importorskip("cudnn", reason="nvidia-cudnn-frontend is not installed")
    assert left_out(module, replace(ONE, precision=precision))


def test_tensor_cores_only_where_they_keep_all_bits(fake):
    def names(**change: Any) -> set[str]:
        return set(left_out(fake, replace(ONE, **change)))

    assert "TENSOR_CORE" in names()
    assert "TENSOR_CORE" not in names(precision=Precision.TF32) | names(dtype=float16)
    assert {"NONDETERMINISTIC", "DOWN_CONVERT_INPUTS"} <= names() & names(dtype=float16)


class Names:
    """An enumeration, any member of which is its name."""

    def __getattr__(self, name: str) -> str:
        return name


class Tensor:
    """Tensor as the frontend tells of it."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return lambda value: self.told.__setitem__(name, value) or self


class FakeCudnn:
    """The frontend as far as it is called: it records that, and one call can fail."""

    def __init__(self) -> None:
        self.data_type = self.numerical_note = self.heur_mode = self.build_plan_policy = Names()
        self.calls: list[tuple[Any, ...]] = []
        self.failing = ""
        self.workspace = 1000

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **keywords: Any) -> Any:
            self.calls.append((name, *arguments, *keywords.items()))
            if name == self.failing:
                raise RuntimeError(f"{name} failed\nand more")
            if name in ("tensor", "conv_fprop", "conv_wgrad"):
                return Tensor()
            made = {"pygraph": self, "get_workspace_size": self.workspace, "create_handle": "handle"}
            return made.get(name)

        return call

    @property
    def names(self) -> list[str]:
        return [call[0] for call in self.calls]


@pytest.fixture
def fake() -> FakeCudnn:
    return FakeCudnn()


def test_algorithms_are_left_out_before_one_is_chosen(fake):
    convolve = Cudnn(fake, STREAM).convolution(ONE)
    assert fake.calls[:2] == [("create_handle",), ("set_stream", ("handle", "handle"), ("stream", STREAM))]
    assert fake.names[-8:] == [
        "validate",
        "build_operation_graph",
        "create_execution_plans",
        "deselect_numeric_notes",
        "deselect_workspace_greater_than",
        "check_support",
        "build_plans",
        "get_workspace_size",
    ]
    assert ("create_execution_plans", ["A", "FALLBACK"]) in fake.calls
    assert ("deselect_workspace_greater_than", ONE.room) in fake.calls
    convolve(0x1000, 0x2000, 0x3000, 0x4000)
    assert fake.calls[-1] == ("execute", {1: 0x1000, 2: 0x2000, 3: 0x3000}, 0x4000, "handle")


@pytest.mark.parametrize("failing", ["validate", "create_execution_plans", "check_support", "build_plans"])
def test_what_it_does_not_do_is_told_as_such(failing, fake):
    library, fake.failing = Cudnn(fake, STREAM), failing
    with pytest.raises(UnimplementedError, match=rf"cuDNN does not do .*: {failing} failed$"):
        library.convolution(ONE)


def test_too_much_memory(fake):
    fake.workspace = ONE.room + 1
    with pytest.raises(UnimplementedError, match="bytes of memory"):
        Cudnn(fake, STREAM).convolution(ONE)


def test_a_run_that_fails(fake):
    convolve, fake.failing = Cudnn(fake, STREAM).convolution(ONE), "execute"
    with pytest.raises(OpError, match=r"cuDNN, asked for .*: execute failed$"):
        convolve(1, 2, 3, 4)


def installed(monkeypatch: pytest.MonkeyPatch, system: bool = False, **versions: str) -> None:
    """Let these be the packages of cuDNN that there are, and say whether the system has the library."""
    told = {name.replace("_", "-"): version for name, version in versions.items()}
    monkeypatch.setattr(cudnn, "version", told.get)
    monkeypatch.setattr(cudnn, "_is_there", lambda library: system)


def test_what_is_missing(monkeypatch):
    installed(monkeypatch, nvidia_cudnn_cu13="9.14.0.64")
    assert lacking() == "nvidia-cudnn-frontend is not installed"
    installed(monkeypatch, nvidia_cudnn_cu13="9.14.0.64", nvidia_cudnn_frontend="1.5.1")
    assert lacking() == "nvidia-cudnn-frontend 1.5.1 is too old: 1.24 or later is needed"
    installed(monkeypatch, nvidia_cudnn_frontend="1.28.0")
    assert "cuDNN itself is not" in lacking()
    installed(monkeypatch, system=True, nvidia_cudnn_frontend="1.28.0")
    assert lacking() is None
    installed(monkeypatch, nvidia_cudnn_cu12="9.14.0.64", nvidia_cudnn_frontend="1.24rc1")
    assert lacking() is None


class TestOnACard:
    @pytest.fixture
    def card(self, monkeypatch: pytest.MonkeyPatch, fake: FakeCudnn) -> CupyDriver:
        installed(monkeypatch, nvidia_cudnn_cu13="9.14.0.64", nvidia_cudnn_frontend="1.28.0")
        monkeypatch.setitem(sys.modules, "cupy", FakeCupy())
        monkeypatch.setitem(sys.modules, "cudnn", fake)
        monkeypatch.setattr(cupy_driver, "library", fake.load)
        return CupyDriver()

    def test_it_starts_with_the_first_convolution(self, card, fake):
        assert card.convolutions and not fake.calls
        card.convolution(ONE)
        card.convolution(replace(ONE, made=Made.FILTER))
        assert fake.names.count("create_handle") == 1
        assert fake.calls[:2] == [("load", "cublasLt"), ("load", "nvrtc")], "before it looks for them"
        assert ("set_stream", ("handle", "handle"), ("stream", STREAM)) in fake.calls
        card.close()
        assert fake.calls[-1] == ("destroy_handle", "handle")

    def test_none_are_chosen_in_a_capture(self, card):
        card.begin_capture()
        with pytest.raises(RuntimeError, match="a capture does not allow to choose how to convolve"):
            card.convolution(ONE)
        card.abandon_capture()

    @pytest.mark.parametrize("failing", ["load", "backend_version", "create_handle"])
    def test_where_it_does_not_start_there_is_none(self, failing, card, fake):
        fake.failing = failing
        with pytest.raises(UnimplementedError, match=f"cuDNN does not start: {failing} failed"):
            card.convolution(ONE)
        assert not card.convolutions

    def test_without_the_package_there_is_none(self, monkeypatch, card):
        installed(monkeypatch)
        assert not CupyDriver().convolutions
