"""Compare generated contractions with NumPy on one core: matrix products, and convolutions against im2col.

    python tools/contraction_speed.py [matmul | conv]

Both sides run in turns and the best time of each counts, so
only the ratio means much. More than 1 is faster than NumPy.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # read when NumPy is imported

import ctypes
import sys
import time
from collections.abc import Callable

import numpy as np

from staticgraph.compiler.codegen.contraction import emit
from staticgraph.compiler.codegen.llvm_text import Emitter
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.contraction import Contraction, analyse
from staticgraph.compiler.kernel.expr import Index, Load, Reduce
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.runtime.devices import cpu_jit

ROUNDS = 10
SLICE = 0.01  # seconds of work in one turn
PRODUCTS = [  # rows, columns, depth, and the operand that is transposed
    (64, 100, 1000, ""), (1000, 100, 64, "a"), (64, 10, 100, ""), (100, 10, 64, "a"), (64, 100, 10, "b"),
    (128, 128, 64, ""), (256, 1024, 784, ""), (256, 1024, 1024, ""), (256, 1024, 1024, "b"),
    (1024, 1024, 256, "a"), (1024, 256, 256, ""),
    (2048, 2048, 2048, ""), (1, 1000, 1000, ""), (1, 1000, 1000, "b"),
]  # fmt: skip
CONVOLUTIONS = [  # images, padded height and width, channels, window, stride
    (64, 28, 28, 1, 10, 5, 1), (64, 12, 12, 10, 20, 5, 1),
    (32, 34, 34, 64, 64, 3, 1), (1, 230, 230, 3, 64, 7, 2),
]  # fmt: skip


def compiled(
    contraction: Contraction | None, arrays: dict[str, np.ndarray]
) -> tuple[Callable[[int], None], float]:
    """What runs it on these arrays so many times without Python in between; milliseconds to compile."""
    assert contraction is not None
    start = time.perf_counter()
    kernel = emit(contraction, cpu_jit.host())
    library = cpu_jit.load([phase.code for phase in kernel.phases])
    milliseconds = (time.perf_counter() - start) * 1e3
    shared, private = aligned((kernel.shared_bytes // 4 + 16,)), aligned((kernel.private_bytes // 4 + 16,))
    pointers = [
        *(arrays[name].ctypes.data for name in contraction.buffers),
        shared.ctypes.data,
        private.ctypes.data,
    ]
    names = [f"ptr %p{n}" for n in range(len(pointers))]
    repeat = Emitter()
    with repeat.loop(0, "%times"):
        for phase in kernel.phases:
            with repeat.loop(0, phase.chunks) as chunk:
                repeat.call(
                    "void", phase.code.name, *(("ptr", n.split()[1]) for n in names), ("i64", chunk.index)
                )
    repeated = repeat.finish(["i64 %times", *names])
    loop = cpu_jit.load([*(phase.code for phase in kernel.phases), repeated])
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * len(names))
    entry, held = function(loop[repeated.name]), (arrays, shared, private, library, loop)

    def run(times: int) -> None:
        assert held  # what the pointers point to
        entry(times, *pointers)

    return run, milliseconds


def aligned(shape: tuple[int, ...]) -> np.ndarray:
    """A float32 array of random numbers at a multiple of 64 bytes."""
    memory = np.zeros(int(np.prod(shape)) + 16, np.float32)
    start = -memory.ctypes.data % 64 // 4
    array = memory[start : start + int(np.prod(shape))].reshape(shape)
    array[...] = np.random.default_rng(0).normal(size=shape)
    return array


def compare(
    label: str, flops: float, ours: Callable[[int], None], milliseconds: float, peer: Callable[[], object]
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
    print(f"{label:42} {speeds} {theirs / mine:6.2f}x {milliseconds:6.0f} ms", flush=True)


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


def convolution(images: int, height: int, width: int, ci: int, co: int, window: int, stride: int) -> None:
    """Time a convolution with bias and relu, and the gradient of its weights."""
    oh, ow = (height - window) // stride + 1, (width - window) // stride + 1
    n, p, q, o = Index("n", images), Index("p", oh), Index("q", ow), Index("o", co)
    y, x, c = Index("y", window), Index("x", window), Index("c", ci)
    at = {"x": (n, p * stride + y, q * stride + x, c), "w": (y, x, c, o), "b": (o,), "y": (n, p, q, o)}
    shapes = {
        "x": (images, height, width, ci),
        "w": (window, window, ci, co),
        "b": (co,),
        "y": (images, oh, ow, co),
    }
    arrays = {name: aligned(shape) for name, shape in shapes.items()}
    element = {name: Load(name, position, float32) for name, position in at.items()}
    seen = np.lib.stride_tricks.sliding_window_view(arrays["x"], (window, window), (1, 2))
    seen = np.moveaxis(seen[:, ::stride, ::stride], 3, 5)
    flops = 2.0 * images * oh * ow * window * window * ci * co
    label = f"{images}x{height}x{width}x{ci}, {window}x{window} stride {stride}, to {co}"

    def columns() -> np.ndarray:
        return np.ascontiguousarray(seen).reshape(-1, window * window * ci)

    def peer() -> np.ndarray:
        result = columns() @ arrays["w"].reshape(-1, co)
        result += arrays["b"]
        return np.maximum(result, 0, out=result)

    value = scalar.maximum(Reduce((y, x, c), "add", element["x"] * element["w"]) + element["b"], 0.0)
    buffers = {name: Buffer(float32, shape, name == "y") for name, shape in shapes.items()}
    ours, milliseconds = compiled(analyse((n, p, q, o), (Store("y", at["y"], value),), buffers), arrays)
    compare(label, flops, ours, milliseconds, peer)

    total = Reduce((n, p, q), "add", element["x"] * element["y"])
    buffers = {name: Buffer(float32, shapes[name], name == "w") for name in "xyw"}
    ours, milliseconds = compiled(analyse((y, x, c, o), (Store("w", at["w"], total),), buffers), arrays)
    compare(label + ", weights", flops, ours, milliseconds, lambda: columns().T @ arrays["y"].reshape(-1, co))


if __name__ == "__main__":
    which = sys.argv[1:]
    print(f"{'':42}    ours   NumPy         ratio compile")
    if "conv" not in which:
        for case in PRODUCTS:
            product(*case)
    if "matmul" not in which:
        for shape in CONVOLUTIONS:
            convolution(*shape)
