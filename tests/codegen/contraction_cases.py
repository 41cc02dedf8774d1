"""Contractions as the ops state them, and how to run them as machine code."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from staticgraph.compiler.codegen.contraction import emit
from staticgraph.compiler.graph.dtypes import DType, float32
from staticgraph.compiler.kernel.contraction import Contraction, analyse
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Reduce
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.runtime.devices import cpu_jit
from tests.codegen.native import launch

Arrays = dict[str, np.ndarray]
Image = tuple[int, int, int, int]  # NHWC
Epilogue = Callable[[Expr, tuple[Index, ...]], Expr]
_GUARD = 64


def contraction(
    domain: tuple[Index, ...], stores: tuple[Store, ...], buffers: dict[str, Buffer]
) -> Contraction:
    """Of this form, or the test fails."""
    found = analyse(domain, stores, buffers)
    assert found is not None
    return found


def matmul(
    m: int,
    n: int,
    k: int,
    turn_a: bool = False,
    turn_b: bool = False,
    dtype: DType = float32,
    **epilogues: Epilogue,
) -> Contraction:
    """c = op(a) @ op(b); or one result per epilogue, named by it. The epilogues may read bias[n], mask[m,
    n], old[m, n].
    """
    i, j, l = Index("i", m), Index("j", n), Index("k", k)  # noqa: E741
    buffers = {
        "a": Buffer(dtype, (k, m) if turn_a else (m, k)),
        "b": Buffer(dtype, (n, k) if turn_b else (k, n)),
    }
    total = Reduce(
        (l,),
        "add",
        Load("a", (l, i) if turn_a else (i, l), dtype) * Load("b", (j, l) if turn_b else (l, j), dtype),
    )
    stores = []
    for name, epilogue in (epilogues or {"c": lambda x, at: x}).items():
        value = epilogue(total, (i, j))
        buffers[name] = Buffer(value.dtype, (m, n), written=True)
        stores.append(Store(name, (i, j), value))
    return contraction(
        (i, j), tuple(stores), with_read(buffers, stores, {"bias": (n,), "mask": (m, n), "row": (m,)})
    )


def with_read(
    buffers: dict[str, Buffer], stores: list[Store], shapes: dict[str, tuple[int, ...]]
) -> dict[str, Buffer]:
    """`buffers`, and those that the stores read besides."""
    from_stores = [e for s in stores for e in _loads(s.value)]
    return buffers | {
        e.buffer: Buffer(e.dtype, shapes[e.buffer]) for e in from_stores if e.buffer not in buffers
    }


def _loads(expr: Expr) -> list[Load]:
    below = [x for child in expr.children for x in _loads(child)]
    return [expr, *below] if isinstance(expr, Load) else below


def convolution(
    image: Image, window: tuple[int, int], channels: int, stride: int = 1, dilation: int = 1,
    depthwise: bool = False, dtype: DType = float32,
) -> Contraction:  # fmt: skip
    """y = x * w + bias, cut off below zero. NHWC images, HWIO weights, no padding; depthwise: HWI weights."""
    n, (kh, kw), (oh, ow) = image[0], window, output_size(image, window, stride, dilation)
    b, p, q, o = Index("n", n), Index("p", oh), Index("q", ow), Index("o", channels)
    y, x, c = Index("y", kh), Index("x", kw), Index("c", image[3])
    at = (b, p * stride + y * dilation, q * stride + x * dilation, o if depthwise else c)
    weight = Load("w", (y, x, o) if depthwise else (y, x, c, o), dtype)
    total = Reduce((y, x) if depthwise else (y, x, c), "add", Load("x", at, dtype) * weight)
    value = total + Load("bias", (o,), dtype)
    buffers = {
        "x": Buffer(dtype, image),
        "w": Buffer(dtype, (kh, kw, channels) if depthwise else (kh, kw, image[3], channels)),
        "bias": Buffer(dtype, (channels,)),
        "y": Buffer(dtype, (n, oh, ow, channels), written=True),
    }
    return contraction((b, p, q, o), (Store("y", (b, p, q, o), value),), buffers)


def weight_gradient(
    image: Image, window: tuple[int, int], channels: int, stride: int = 1, dilation: int = 1,
    dtype: DType = float32,
) -> Contraction:  # fmt: skip
    """dw[y, x, c, o] = sum of x[n, p + y, q + x, c] * dy[n, p, q, o]."""
    n, (kh, kw), (oh, ow) = image[0], window, output_size(image, window, stride, dilation)
    b, p, q, o = Index("n", n), Index("p", oh), Index("q", ow), Index("o", channels)
    y, x, c = Index("y", kh), Index("x", kw), Index("c", image[3])
    at = (b, p * stride + y * dilation, q * stride + x * dilation, c)
    total = Reduce((b, p, q), "add", Load("x", at, dtype) * Load("dy", (b, p, q, o), dtype))
    buffers = {
        "x": Buffer(dtype, image),
        "dy": Buffer(dtype, (n, oh, ow, channels)),
        "dw": Buffer(dtype, (kh, kw, image[3], channels), written=True),
    }
    return contraction((y, x, c, o), (Store("dw", (y, x, c, o), total),), buffers)


def output_size(image: Image, window: tuple[int, int], stride: int, dilation: int) -> tuple[int, int]:
    """Height and width of the result of a convolution without padding."""
    height, width = (
        (size - (k - 1) * dilation - 1) // stride + 1 for size, k in zip(image[1:3], window, strict=True)
    )
    return height, width


def windows(x: np.ndarray, window: tuple[int, int], stride: int, dilation: int) -> np.ndarray:
    """x[n, p * stride + y * dilation, q * stride + x * dilation, c] as an array [n, p, q, y, x, c]."""
    reach = [(k - 1) * dilation + 1 for k in window]
    view = np.lib.stride_tricks.sliding_window_view(x, reach, (1, 2))
    view = view[:, ::stride, ::stride, :, ::dilation, ::dilation]
    return np.moveaxis(view, 3, 5)


def inputs(c: Contraction, rng: np.random.Generator) -> Arrays:
    """Random numbers for every buffer."""
    return {
        name: rng.random(b.shape) < 0.5 if b.dtype.is_bool else b.dtype.round(rng.normal(size=b.shape))
        for name, b in c.buffers.items()
    }


def run(c: Contraction, arrays: Arrays, vector_bytes: int | None = None) -> Arrays:
    """The written arrays after the compiled contraction ran on copies of `arrays`; nothing around them has
    changed.
    """
    target = cpu_jit.host()
    target = replace(target, vector_bytes=min(vector_bytes or 64, target.vector_bytes))
    edge = np.full(_GUARD, 0xA5, np.uint8)
    memory = [np.concatenate([edge, arrays[name].reshape(-1).view(np.uint8), edge]) for name in c.buffers]
    launch(emit(c, target), [m.ctypes.data + _GUARD for m in memory])
    assert all((m[:_GUARD] == 0xA5).all() and (m[-_GUARD:] == 0xA5).all() for m in memory)
    return {
        name: m[_GUARD:-_GUARD].view(b.dtype.numpy).reshape(b.shape).copy()
        for m, (name, b) in zip(memory, c.buffers.items(), strict=True)
        if b.written
    }


def assert_close(found: np.ndarray, exact: np.ndarray, magnitude: np.ndarray | float = 1.0) -> None:
    """Equal within the rounding of sums whose terms add up to `magnitude` without their signs."""
    eps = np.finfo(found.dtype).eps
    assert found.shape == exact.shape
    assert np.isfinite(found).all()
    assert (np.abs(found - exact) <= 16 * eps * (magnitude + np.abs(exact))).all()
