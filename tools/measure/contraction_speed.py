"""Compare generated contractions with NumPy on one core: matrix products, and convolutions against im2col.

    python tools/measure/contraction_speed.py [matmul | conv] [--target avx2]

With `--target avx2` our side does without AVX-512; set OPENBLAS_CORETYPE=Haswell for NumPy to do the same.
Both sides run in turns and the best time of each counts, so
only the ratio means much. More than 1 is faster than NumPy.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # read when NumPy is imported

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from staticgraph.compiler.codegen.gemm.gemm import emit
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.contraction import Contraction, analyse
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Reduce
from staticgraph.compiler.kernel.predicated_loads import padded_load
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.compiler.ops.neural import windows
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.measurements.autotune import StandaloneKernel

ROUNDS = 10
SLICE = 0.01  # seconds of work in one turn
# fmt: off
PRODUCTS = [  # rows, columns, depth, and the operand that is transposed
    (64, 100, 1000, ""), (1000, 100, 64, "a"), (64, 10, 100, ""), (100, 10, 64, "a"), (64, 100, 10, "b"),
    (128, 128, 64, ""), (256, 1024, 784, ""), (256, 1024, 1024, ""), (256, 1024, 1024, "b"),
    (1024, 1024, 256, "a"), (1024, 256, 256, ""),
    (2048, 2048, 2048, ""), (1, 1000, 1000, ""), (1, 1000, 1000, "b"),
]
# fmt: on
CONVOLUTIONS = [  # images, height and width, channels, window, stride, padding
    (64, 28, 1, 10, 5, 1, "VALID"),
    (64, 12, 10, 20, 5, 1, "VALID"),
    (32, 32, 64, 64, 3, 1, "SAME"),
    (32, 16, 128, 128, 3, 1, "SAME"),
    (32, 8, 256, 256, 3, 1, "SAME"),
    (32, 4, 512, 512, 3, 1, "SAME"),
    (32, 32, 64, 128, 3, 2, "SAME"),
    (1, 224, 3, 64, 7, 2, "SAME"),
    (1, 56, 64, 64, 3, 1, "SAME"),
    (1, 14, 256, 1024, 1, 1, "SAME"),
    (1, 7, 512, 512, 3, 1, "SAME"),
]


def compiled(
    contraction: Contraction | None, arrays: dict[str, np.ndarray]
) -> tuple[Callable[[int], object], float]:
    """Return a function that runs it so many times on these arrays, and milliseconds to compile."""
    assert contraction is not None
    start = time.perf_counter()
    kernel = emit(contraction, cpu_jit.host())
    cpu_jit.load([phase.code for phase in kernel.phases])
    milliseconds = (time.perf_counter() - start) * 1e3
    return StandaloneKernel(kernel, [arrays[name] for name in contraction.buffers]).time, milliseconds


def without_avx512(target: CpuTarget) -> CpuTarget:
    """The processor as it would be with 16 vector registers of 32 bytes."""
    features = [f if not f.startswith("+avx512") else "-" + f[1:] for f in target.features.split(",")]
    return replace(target, cpu="x86-64-v3", features=",".join(features), vector_bytes=32)


def aligned(shape: tuple[int, ...]) -> np.ndarray:
    """A float32 array of random numbers at a multiple of 64 bytes."""
    memory = np.zeros(int(np.prod(shape)) + 16, np.float32)
    start = -memory.ctypes.data % 64 // 4
    array = memory[start : start + int(np.prod(shape))].reshape(shape)
    array[...] = np.random.default_rng(0).normal(size=shape)
    return array


def compare(
    label: str, flops: float, ours: Callable[[int], object], milliseconds: float, peer: Callable[[], object]
) -> None:
    """Print both speeds and their ratio."""
    count = max(1, int(SLICE * 5e10 / flops))
    mine = theirs = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        ours(count)
        middle = time.perf_counter()
        for _ in range(count):
            peer()
        mine = min(mine, (middle - start) / count)
        theirs = min(theirs, (time.perf_counter() - middle) / count)
    speeds = f"{flops / mine / 1e9:7.1f} {flops / theirs / 1e9:7.1f} GF/s"
    print(f"{label:46} {speeds} {theirs / mine:6.2f}x {milliseconds:6.0f} ms", flush=True)


def product(m: int, n: int, k: int, turned: str) -> None:
    """Time one matrix product."""
    i, j, p = Index("i", m), Index("j", n), Index("k", k)
    at = {"a": (p, i) if turned == "a" else (i, p), "b": (j, p) if turned == "b" else (p, j), "c": (i, j)}
    arrays = {name: aligned(tuple(x.extent for x in position)) for name, position in at.items()}
    total = Reduce((p,), "add", Load("a", at["a"], float32) * Load("b", at["b"], float32))
    buffers = {name: Buffer(float32, x.shape, name == "c") for name, x in arrays.items()}
    ours, milliseconds = compiled(analyse((i, j), (Store("c", (i, j), total),), buffers), arrays)
    a, b = (arrays[x].T if turned == x else arrays[x] for x in "ab")
    out = np.empty((m, n), np.float32)
    label = f"{m} x {n} x {k}" + (f", {turned} transposed" if turned else "")
    compare(label, 2.0 * m * n * k, ours, milliseconds, lambda: np.matmul(a, b, out=out))


def convolution(images: int, size: int, ci: int, co: int, window: int, stride: int, padding: str) -> None:
    """Time a convolution with bias and relu, and the gradients of its weights and, for stride 1, input."""
    axis = windows.window(size, window, stride, 1, padding)
    n, p, q, o = Index("n", images), Index("p", axis.count), Index("q", axis.count), Index("o", co)
    y, x, c = Index("y", window), Index("x", window), Index("c", ci)
    shapes = {
        "x": (images, size, size, ci),
        "w": (window, window, ci, co),
        "b": (co,),
        "y": (images, axis.count, axis.count, co),
    }
    arrays = {name: aligned(shape) for name, shape in shapes.items()}
    edges = (axis.before, axis.after)
    padded = np.pad(arrays["x"], ((0, 0), edges, edges, (0, 0)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (window, window), (1, 2))
    seen = np.moveaxis(seen[:, ::stride, ::stride], 3, 5)
    weights = arrays["w"].reshape(-1, co)
    flops = 2.0 * images * axis.count**2 * window * window * ci * co
    label = f"{images}x{size}x{size}x{ci}, {window}x{window} stride {stride}, to {co}, {padding}"

    def load(name: str, at: tuple[Any, ...]) -> Expr:
        return padded_load(lambda place: Load(name, place, float32), at, shapes[name])

    def ours(target: str, domain: tuple[Index, ...], value: Expr) -> tuple[Callable[[int], object], float]:
        buffers = {name: Buffer(float32, shape, name == target) for name, shape in shapes.items()}
        return compiled(analyse(domain, (Store(target, domain, value),), buffers), arrays)

    def columns() -> np.ndarray:
        return np.ascontiguousarray(seen).reshape(-1, window * window * ci)

    def peer() -> np.ndarray:
        result = columns() @ weights
        result += arrays["b"]
        return np.maximum(result, 0, out=result)

    def gradient_of_input() -> np.ndarray:
        spread = (outputs @ weights.T).reshape(seen.shape)
        result = np.zeros_like(padded)
        for i in range(window):
            for j in range(window):
                result[:, i : i + axis.count, j : j + axis.count] += spread[:, :, :, i, j]
        return result

    at = (n, p * stride + y - axis.before, q * stride + x - axis.before, c)
    total = Reduce((y, x, c), "add", load("x", at) * load("w", (y, x, c, o)))
    value = scalar.maximum(total + load("b", (o,)), 0.0)
    compare(label, flops, *ours("y", (n, p, q, o), value), peer)
    total = Reduce((n, p, q), "add", load("x", at) * load("y", (n, p, q, o)))
    outputs = arrays["y"].reshape(-1, co)
    compare("    weights", flops, *ours("w", (y, x, c, o), total), lambda: columns().T @ outputs)
    if stride == 1 and window > 1 and ci > 1:
        i, j, shift = Index("i", size), Index("j", size), axis.before - window + 1
        place = (n, i + y + shift, j + x + shift, o)
        total = Reduce((y, x, o), "add", load("y", place) * load("w", (window - 1 - y, window - 1 - x, c, o)))
        compare("    input", flops, *ours("x", (n, i, j, c), total), gradient_of_input)


if __name__ == "__main__":
    which = sys.argv[1:]
    if "avx2" in which:
        narrow = without_avx512(cpu_jit.host())
        cpu_jit.host = lambda: narrow  # type: ignore[assignment]
    print(f"{'':46}    ours   NumPy         ratio compile")
    if "conv" not in which:
        for case in PRODUCTS:
            product(*case)
    if "matmul" not in which:
        for shape in CONVOLUTIONS:
            convolution(*shape)
