"""Facts about the card: what it is, what it can do at best, and whether what the runtime counts on is so."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterator

import numpy as np

import staticgraph as sg
from gpu_stages import card
from gpu_stages.ceilings import ceilings
from gpu_stages.setting import Setting, seconds_per_call
from staticgraph.compiler.graph.dtypes import DTYPES, DType, bfloat16, float16, float32, float64
from staticgraph.compiler.kernel.schedule_gpu.products.product import Matrix, Precision, Product
from staticgraph.runtime.gpu.cuda.driver import Direction, Driver, Multiplication

PACKAGES = (
    "cupy-cuda13x",
    "cupy-cuda12x",
    "cuda-pathfinder",
    "nvidia-cublas",
    "nvidia-cuda-nvrtc",
    "nvidia-cudnn-cu13",
    "nvidia-cudnn-frontend",
    "torch",
    "jax",
    "numpy",
)


def run(setting: Setting) -> None:
    """The stage."""
    findings = setting.findings
    with setting.driver() as driver:
        about = driver.card
        findings.note("card", f"{about.name}, {about.architecture}, {about.multiprocessors} multiprocessors")
        findings.note("versions", ", ".join(_versions(setting)))
        findings.measured("memory", about.memory / 2**30, "GiB", text=f"{driver.free_memory() >> 30} free")
        for name, part in (
            ("copies", _copies),
            ("capture", _capture),
            ("products", _products),
            ("replays", _replays),
            ("ceilings", _ceilings),
            ("rates of products", _rates),
        ):
            if setting.within(name, 2):
                with findings.trying(name):
                    part(setting, driver)


def _versions(setting: Setting) -> Iterator[str]:
    yield f"Python {platform.python_version()}"
    yield f"staticgraph {sg.__version__}"
    if not setting.small:
        from staticgraph.runtime.gpu.cuda.present import system

        if (found := system()) is not None:
            yield f"driver of CUDA {'.'.join(map(str, found.cuda))}"
    for package in PACKAGES:
        try:
            yield f"{package} {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            continue


def _copies(setting: Setting, driver: Driver) -> None:
    """There and back, from pinned memory and from other memory; how fast."""
    size = setting.sized(1 << 28, 1 << 16)
    device, pinned = driver.allocate(size), driver.pinned(size)
    sent = np.random.default_rng(1).integers(0, 256, size, np.uint8)
    for name, source in (("pinned", pinned), ("pageable", sent.copy())):
        source[:], back = sent, driver.pinned(size)
        driver.copy(device, source.ctypes.data, size, Direction.TO_DEVICE)
        driver.copy(back.ctypes.data, device, size, Direction.FROM_DEVICE)
        driver.synchronize()
        setting.findings.check(f"{name} memory comes back as it was", np.array_equal(back, sent))
    for name, direction in (("to the card", Direction.TO_DEVICE), ("from the card", Direction.FROM_DEVICE)):
        ends = (device, pinned.ctypes.data)
        target, source_ = ends if direction is Direction.TO_DEVICE else ends[::-1]
        took = seconds_per_call(
            lambda target=target, source=source_, way=direction: driver.copy(target, source, size, way),
            driver.synchronize,
        )
        setting.findings.measured(f"copy {name}, pinned", size / took / 1e9, "GB/s")
    driver.free(device)


def _capture(setting: Setting, driver: Driver) -> None:
    """A captured step reads what its slot holds when it is replayed."""
    slot, device, out = driver.pinned(256), driver.allocate(256), driver.allocate(256)
    (kernel,) = driver.load([card.nothing(driver)])
    result = driver.pinned(256)
    slot.view(np.float32)[0] = 0

    def step() -> None:
        driver.copy(device, slot.ctypes.data, 256, Direction.TO_DEVICE)
        kernel((device, out))
        driver.copy(result.ctypes.data, out, 256, Direction.FROM_DEVICE)

    graph = card.captured(driver, step)
    got = []
    for value in (1.5, 2.5, 3.5):
        slot.view(np.float32)[0] = value
        graph.replay()
        driver.synchronize()
        got.append(float(result.view(np.float32)[0]))
    setting.findings.check("a captured step is replayed on new feeds", got == [1.5, 2.5, 3.5], str(got))
    driver.begin_capture()
    try:
        driver.allocate(256)
    except RuntimeError as error:
        setting.findings.check("an allocation in a capture is refused", True, str(error))
    else:
        setting.findings.check("an allocation in a capture is refused", False)
    finally:
        driver.abandon_capture()
    graph.replay()
    driver.synchronize()
    setting.findings.check("a capture that was given up leaves others usable", True)


# How far a product may be off, relative to the sum of magnitudes.
_EXACT = {"float32": 1e-6, "float64": 1e-14, "float16": 2e-3, "bfloat16": 2e-2}


def _products(setting: Setting, driver: Driver) -> None:
    """By cuBLAS inside a capture, each form, against NumPy."""
    rng = np.random.default_rng(2)
    batch, m, n, k = 3, 37, 50, 65
    for name, most in _EXACT.items():
        dtype = DTYPES[name]
        for ta in (False, True):
            for tb in (False, True):
                a = Matrix("a", m if ta else k, ta, 0, m * k)
                b = Matrix("b", k if tb else n, tb, 0, k * n)
                product = Product(dtype, m, n, k, batch, a, b, Matrix("out", n, False, 0, m * n), False)
                left = dtype.round(rng.standard_normal((batch, m, k)))
                right = dtype.round(rng.standard_normal((batch, k, n)))
                multiply = driver.multiplication(product)
                operands = (left.mT if ta else left, right.mT if tb else right)
                got = _multiplied(driver, product, multiply, *operands)
                wide = left.astype(np.float64), right.astype(np.float64)
                off = np.abs(got - wide[0] @ wide[1]) / (np.abs(wide[0]) @ np.abs(wide[1]))
                what = f"a product of {name}{', a transposed' if ta else ''}{', b transposed' if tb else ''}"
                asked = getattr(multiply, "ask", multiply)
                by = getattr(asked, "__qualname__", type(asked).__name__).partition(".")[0]
                setting.findings.check(what, float(off.max()) < most, f"off by {off.max():.1e}, by {by}")


def _multiplied(
    driver: Driver, product: Product, multiply: Multiplication, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """The product, computed in a graph."""
    stored = [_stored(each, product.dtype) for each in (left, right)]
    count, size = product.batch * product.m * product.n, product.dtype.size
    places = [driver.allocate(each.nbytes) for each in stored] + [driver.allocate(count * size)]
    for place, each in zip(places, stored, strict=False):
        driver.copy(place, each.ctypes.data, each.nbytes, Direction.TO_DEVICE)
    card.captured(driver, lambda: multiply(*places)).replay()
    back = np.empty(count, stored[0].dtype)
    driver.copy(back.ctypes.data, places[2], back.nbytes, Direction.FROM_DEVICE)
    for place in places:
        driver.free(place)
    if product.dtype.name == "bfloat16":
        back = (back.astype(np.uint32) << 16).view(np.float32)
    return back.astype(np.float64).reshape(product.batch, product.m, product.n)


def _stored(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Values that the type has, or almost, as they lie in memory."""
    values = np.ascontiguousarray(values)
    if dtype is bfloat16:
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(dtype.numpy)


def _replays(setting: Setting, driver: Driver) -> None:
    (kernel,) = driver.load([card.nothing(driver)])
    x, y = driver.allocate(256), driver.allocate(256)
    graph = card.captured(driver, lambda: kernel((x, y)))
    asked = seconds_per_call(graph.replay, driver.synchronize)
    setting.findings.measured("a replay of one node, one after the other", 1e6 * asked, "us")

    def waited() -> None:
        graph.replay()
        driver.synchronize()

    both = seconds_per_call(waited, lambda: None)
    setting.findings.measured("a replay of one node, and the wait for it", 1e6 * both, "us")
    launch = seconds_per_call(lambda: kernel((x, y)), driver.synchronize)
    setting.findings.measured("a launch of one kernel, not captured", 1e6 * launch, "us")


def _ceilings(setting: Setting, driver: Driver) -> None:
    copied, read = ceilings(driver, setting.sized(1 << 30, 1 << 16))
    what = "ceiling of copies on the card, bytes read and written"
    setting.findings.measured(what, copied.best / 1e9, "GB/s", text=copied.text)
    setting.findings.measured("ceiling of reads", read.best / 1e9, "GB/s", text=read.text)


def _rates(setting: Setting, driver: Driver) -> None:
    for dtype in (float32, bfloat16, float16, float64):
        _rate(setting, driver, dtype)
    for precision in (Precision.TF32, Precision.BFLOAT16):
        _rate(setting, driver, float32, precision)


def _rate(setting: Setting, driver: Driver, dtype: DType, precision: Precision = Precision.FLOAT32) -> None:
    size = setting.sized(8192 if dtype is not float64 else 4096, 32)
    matrix = Matrix("", size)
    multiply = driver.multiplication(
        Product(dtype, size, size, size, 1, matrix, matrix, matrix, precision=precision)
    )
    shown = dtype.name if precision is Precision.FLOAT32 else f"float32 by {precision.value}"
    # Not zeros: they take less power, and a card that gets less warm runs faster.
    values = _stored(np.random.default_rng(3).random(size * size, np.float32) - 0.5, dtype)
    places = [driver.allocate(values.nbytes) for _ in range(3)]
    for place in places:
        driver.copy(place, values.ctypes.data, values.nbytes, Direction.TO_DEVICE)
    took = card.seconds(driver, lambda: multiply(*places), times=2)
    setting.findings.measured(f"product of {size} x {size}, {shown}", 2 * size**3 / took / 1e12, "TFLOP/s")
    for place in places:
        driver.free(place)
