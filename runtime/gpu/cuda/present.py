"""Detection of a usable GPU, and advice on what to install if there is none.

The system's driver is asked, which needs no package. CuPy is imported only to use a GPU.
"""

from __future__ import annotations

import ctypes
from typing import Any

from staticgraph.compiler.graph.errors import FailedPreconditionError, OpError, misuse
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.cuda.cupy_driver import CupyDriver
from staticgraph.runtime.gpu.cuda.driver import Card, Driver
from staticgraph.runtime.gpu.cuda.failure import NO_CARD, failure
from staticgraph.runtime.gpu.cuda.installed import version
from staticgraph.runtime.gpu.libcuda import libcuda

# The packages that bring CuPy, which must not meet, with the version of CUDA that each is for.
PACKAGES = {"cupy-cuda12x": 12, "cupy-cuda13x": 13, "cupy": 0, "cupy-cuda11x": 11}
LEAST_CUDA = 12
_MULTIPROCESSORS, _MAJOR, _MINOR = 16, 75, 76  # of CUdevice_attribute
_INSTEAD = "device='cpu' runs the same program on the processor"


@dataclass(frozen=True, slots=True)
class CudaSystem:
    """Report of the system's driver: its version of CUDA, as (13, 0), its status at start, and the GPUs."""

    cuda: tuple[int, int]
    status: int
    cards: tuple[Card, ...]


def system() -> CudaSystem | None:
    """Return the report of the system's driver; None if there is no driver."""
    library = libcuda()
    return None if library is None else _asked(library)


def cards() -> tuple[Card, ...]:
    """The GPUs that this process may use; none if there is no driver, or it does not work."""
    found = system()
    return found.cards if found else ()


def usable() -> bool:
    """Return True if `find` would return a driver, as far as known without importing CuPy."""
    return unmet(0) is None


def find(index: int) -> Driver:
    """The driver of a GPU. Where there is none, an error says what to install."""
    if error := unmet(index):
        raise misuse(type(error), error.message, error.hint)
    return CupyDriver(index)


def unmet(index: int) -> OpError | None:
    """The error that says what is missing to use a GPU; None if nothing is, as far as can be told."""
    found = system()
    if found is None:
        return FailedPreconditionError(
            "there is no GPU of NVIDIA here, or no driver for it: no libcuda is found",
            hint=f"install the driver of the GPU; {_INSTEAD}",
        )
    cuda = ".".join(map(str, found.cuda))
    if found.cuda < (LEAST_CUDA, 0):
        return FailedPreconditionError(
            f"the NVIDIA driver is too old: it knows CUDA {cuda}, and {LEAST_CUDA}.0 or later is needed",
            hint=f"install a newer driver; {_INSTEAD}",
        )
    if found.status or not found.cards:
        return failure(found.status or NO_CARD, f"CUDA {cuda}", "the GPU cannot be used")
    if index >= len(found.cards):
        names = ", ".join(f"gpu:{n} is {card.name}" for n, card in enumerate(found.cards))
        return FailedPreconditionError(f"there is no GPU {index} here: {names}")
    return _lacking_package(found.cuda[0], cuda)


def _lacking_package(major: int, cuda: str) -> OpError | None:
    installed = packages()
    extra = f'pip install "staticgraph[cuda{min(major, 13)}]"'
    if not installed:
        return FailedPreconditionError("a GPU is here, and CuPy is not installed", hint=extra)
    if len(installed) > 1:
        names = " and ".join(installed)
        return FailedPreconditionError(
            f"{names} are both installed, and only one of them works at a time",
            hint=f"pip uninstall -y {' '.join(installed)}; then {extra}",
        )
    ((name, number),) = installed.items()
    if int(number.partition(".")[0]) < 14:
        return FailedPreconditionError(f"{name} {number} is too old: 14 or later is needed", hint=extra)
    if PACKAGES[name] > major:
        return FailedPreconditionError(
            f"{name} needs a driver of CUDA {PACKAGES[name]}, and the driver here is of CUDA {cuda}",
            hint=f"install a newer driver, or: pip uninstall -y {name}; then {extra}",
        )
    return None


def packages() -> dict[str, str]:
    """The packages of CuPy that are installed, with their versions."""
    return {name: found for name in PACKAGES if (found := version(name))}


def _asked(library: Any) -> CudaSystem:
    number = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(number))
    cuda = number.value // 1000, number.value % 1000 // 10
    status = library.cuInit(0)
    if status == 0:
        status = library.cuDeviceGetCount(ctypes.byref(number))
    count = 0 if status else number.value
    return CudaSystem(cuda, status, tuple(_card(library, index) for index in range(count)))


def _card(library: Any, index: int) -> Card:
    device, number, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    name = ctypes.create_string_buffer(256)
    library.cuDeviceGet(ctypes.byref(device), index)
    library.cuDeviceGetName(name, len(name), device)
    library.cuDeviceTotalMem_v2(ctypes.byref(memory), device)

    def attribute(which: int) -> int:
        library.cuDeviceGetAttribute(ctypes.byref(number), which, device)
        return number.value

    architecture = f"sm_{attribute(_MAJOR)}{attribute(_MINOR)}"
    return Card(name.value.decode(errors="replace"), architecture, attribute(_MULTIPROCESSORS), memory.value)
