"""Presence of a GPU, and the one error that says what is missing."""

from typing import Any

import pytest

from staticgraph.compiler.graph.errors import FailedPreconditionError, UnavailableError
from staticgraph.runtime.gpu import libcuda
from staticgraph.runtime.gpu.cuda import present
from staticgraph.runtime.gpu.cuda.driver import Card
from staticgraph.runtime.gpu.cuda.present import CudaSystem

H200, T4 = Card("NVIDIA H200", "sm_90", 132, 141 << 30), Card("Tesla T4", "sm_75", 40, 16 << 30)
THIRTEEN = {"cupy-cuda13x": "14.2.0"}


class FakeCuda:
    """libcuda, with these cards."""

    def __init__(self, cards: tuple[Card, ...], version: int = 13000, status: int = 0) -> None:
        self.cards, self.version, self.status = cards, version, status

    def cuDriverGetVersion(self, number: Any) -> int:
        number._obj.value = self.version
        return 0

    def cuInit(self, flags: int) -> int:
        return self.status

    def cuDeviceGetCount(self, number: Any) -> int:
        number._obj.value = len(self.cards)
        return 0

    def cuDeviceGet(self, device: Any, index: int) -> int:
        device._obj.value = index
        return 0

    def cuDeviceGetName(self, name: Any, size: int, device: Any) -> int:
        name.value = self.cards[device.value].name.encode()
        return 0

    def cuDeviceTotalMem_v2(self, memory: Any, device: Any) -> int:
        memory._obj.value = self.cards[device.value].memory
        return 0

    def cuDeviceGetAttribute(self, number: Any, which: int, device: Any) -> int:
        card = self.cards[device.value]
        major, minor = divmod(int(card.architecture.removeprefix("sm_")), 10)
        number._obj.value = {16: card.multiprocessors, 75: major, 76: minor}[which]
        return 0


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the machine one with this system and these packages."""

    def machine(system: CudaSystem | None, packages: dict[str, str]) -> None:
        monkeypatch.setattr(present, "system", lambda: system)
        monkeypatch.setattr(present, "version", packages.get)

    return machine


def test_the_driver_of_the_system_is_asked(monkeypatch):
    asked = []

    def opened(name: str) -> FakeCuda:
        asked.append(name)
        return FakeCuda((H200, T4))

    monkeypatch.setattr(libcuda.ctypes, "CDLL", opened)
    monkeypatch.setattr(present, "libcuda", libcuda.libcuda.__wrapped__)  # without its memory
    assert present.system() == CudaSystem((13, 0), 0, (H200, T4))
    assert asked[0] == libcuda._NAME and present.cards() == (H200, T4)


def test_a_system_without_a_driver_is_asked_once(monkeypatch):
    asked = []

    def refused(name: str) -> None:
        asked.append(name)
        raise OSError(name)

    monkeypatch.setattr(libcuda.ctypes, "CDLL", refused)
    assert libcuda.libcuda.__wrapped__() is None and len(asked) == 1


def test_a_driver_that_does_not_start_has_no_cards(monkeypatch):
    monkeypatch.setattr(present, "libcuda", lambda: FakeCuda((H200,), 12080, status=803))
    assert present.system() == CudaSystem((12, 8), 803, ())
    assert present.cards() == ()


def test_a_card_that_can_be_used(here, monkeypatch):
    here(CudaSystem((13, 0), 0, (H200, T4)), THIRTEEN)
    assert present.usable() and present.unmet(1) is None
    monkeypatch.setattr(present, "CupyDriver", lambda index: index)
    assert present.find(1) == 1


def test_cupy_for_an_older_cuda_is_fine(here):
    here(CudaSystem((13, 1), 0, (H200,)), {"cupy-cuda12x": "14.0.1"})
    assert present.usable()


@pytest.mark.parametrize(
    ("system", "packages", "text", "hint"),
    [
        (None, THIRTEEN, "no GPU of NVIDIA here, or no driver", "device='cpu'"),
        (CudaSystem((11, 8), 0, (T4,)), THIRTEEN, "too old: it knows CUDA 11.8, and 12.0 or", "newer driver"),
        (
            CudaSystem((13, 0), 100, ()),
            THIRTEEN,
            "no GPU here that this process may use",
            "CUDA_VISIBLE_DEVICES",
        ),
        (
            CudaSystem((13, 0), 0, ()),
            THIRTEEN,
            "no GPU here that this process may use",
            "CUDA_VISIBLE_DEVICES",
        ),
        (CudaSystem((13, 0), 0, (T4,)), {}, "CuPy is not installed", 'pip install "staticgraph[cuda13]"'),
        (CudaSystem((12, 4), 0, (T4,)), {}, "CuPy is not installed", 'pip install "staticgraph[cuda12]"'),
        (CudaSystem((15, 0), 0, (T4,)), {}, "CuPy is not installed", 'pip install "staticgraph[cuda13]"'),
        (
            CudaSystem((13, 0), 0, (T4,)),
            {"cupy-cuda12x": "14.0.1", "cupy-cuda13x": "14.2.0"},
            "cupy-cuda12x and cupy-cuda13x are both installed",
            'pip uninstall -y cupy-cuda12x cupy-cuda13x; then pip install "staticgraph[cuda13]"',
        ),
        (
            CudaSystem((13, 0), 0, (T4,)),
            {"cupy-cuda12x": "13.6.0"},
            "cupy-cuda12x 13.6.0 is too old",
            "cuda13",
        ),
        (
            CudaSystem((12, 4), 0, (T4,)),
            THIRTEEN,
            "cupy-cuda13x needs a driver of CUDA 13, and the driver here is of CUDA 12.4",
            'pip uninstall -y cupy-cuda13x; then pip install "staticgraph[cuda12]"',
        ),
    ],
)
def test_what_is_missing_is_said_in_one_error(here, system, packages, text, hint):
    here(system, packages)
    assert not present.usable()
    with pytest.raises(FailedPreconditionError) as raised:
        present.find(0)
    told, _, cure = " ".join(str(raised.value).split()).partition("hint: ")
    assert text in told and hint in cure


def test_a_card_that_is_not_there(here):
    here(CudaSystem((13, 0), 0, (H200, T4)), THIRTEEN)
    with pytest.raises(FailedPreconditionError) as raised:
        present.find(2)
    assert "there is no GPU 2 here: gpu:0 is NVIDIA H200, gpu:1 is Tesla T4" in str(raised.value)


@pytest.mark.parametrize(("status", "text"), [(803, "different versions"), (802, "not ready")])
def test_a_driver_that_is_not_in_order(here, status, text):
    here(CudaSystem((13, 0), status, ()), THIRTEEN)
    with pytest.raises(UnavailableError, match=rf"(?s)the GPU cannot be used: .*{text}.*hint: "):
        present.find(0)
