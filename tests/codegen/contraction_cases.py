"""Contractions as the ops state them, and how to run them as machine code."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from staticgraph.compiler.codegen.gemm.choice import NO_CHOICE, Choice
from staticgraph.compiler.codegen.gemm.gemm import emit
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.dtypes import DType, float32, float64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.contraction import Contraction, analyse
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Reduce, walk
from staticgraph.compiler.kernel.predicated_loads import padded_load
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import launch, loaded, stored

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
    """c = op(a) @ op(b); or one result per epilogue, named by it. The epilogues may read bias[n], row[m],
    mask[m, n], and the number `power`.
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
    others = {"bias": (n,), "mask": (m, n), "row": (m,), "power": ()}
    return contraction((i, j), tuple(stores), with_read(buffers, stores, others))


def widened(m: int, n: int, k: int, turn_a: bool, turn_b: bool, dtype: DType) -> Contraction:
    """c = op(a) @ op(b) of narrow elements, summed in float32."""
    i, j, l = Index("i", m), Index("j", n), Index("k", k)  # noqa: E741
    at = {"a": (l, i) if turn_a else (i, l), "b": (j, l) if turn_b else (l, j), "c": (i, j)}
    buffers = {name: Buffer(dtype, tuple(x.extent for x in place), name == "c") for name, place in at.items()}
    a, b = (scalar.cast(Load(x, at[x], dtype), float32) for x in "ab")
    total = scalar.cast(Reduce((l,), "add", a * b), dtype)
    return contraction((i, j), (Store("c", (i, j), total),), buffers)


def with_read(
    buffers: dict[str, Buffer], stores: list[Store], shapes: dict[str, tuple[int, ...]]
) -> dict[str, Buffer]:
    """`buffers`, and those that the stores read besides."""
    from_stores = [e for s in stores for e in _loads(s.value)]
    return buffers | {
        e.buffer: Buffer(e.dtype, shapes[e.buffer]) for e in from_stores if e.buffer not in buffers
    }


def _loads(expr: Expr) -> list[Load]:
    return [e for e in walk(expr) if isinstance(e, Load)]


@dataclass(frozen=True)
class Conv:
    """A convolution of NHWC images with HWIO weights, or HWI if it is depthwise."""

    image: Any
    window: tuple[int, int]
    channels: int
    stride: int = 1
    dilation: int = 1
    before: int = 0  # zeros around the image
    after: int = 0
    depthwise: bool = False
    dtype: DType = float32

    @property
    def positions(self) -> list[int]:
        """Along height and width of the result."""
        return [
            (n + self.before + self.after - (k - 1) * self.dilation - 1) // self.stride + 1
            for n, k in zip(self.image[1:3], self.window, strict=True)
        ]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        outputs = () if self.depthwise else (self.channels,)
        return {
            "x": self.image,
            "w": (*self.window, self.image[3], *outputs),
            "bias": (self.channels,),
            "y": (self.image[0], *self.positions, self.channels),
        }

    def load(self, name: str, at: tuple[Any, ...]) -> Expr:
        """An element, zero outside of the array."""
        return padded_load(lambda place: Load(name, place, self.dtype), at, self.shapes[name])

    def contraction(self, target: str) -> Contraction:
        """`target` y: the convolution plus a bias; w: the gradient of the
        weights from x and y; x: that of the images from w and y, for stride 1.
        """
        n, y, x = (Index(name, size) for name, size in zip("nyx", self.image, strict=False))
        p, q = (Index(name, size) for name, size in zip("pq", self.positions, strict=True))
        u, v = (Index(name, size) for name, size in zip("uv", self.window, strict=True))
        o, c = Index("o", self.channels), Index("c", self.image[3])
        c = o if self.depthwise else c
        weight = (u, v, o) if self.depthwise else (u, v, c, o)
        step, gap = self.stride, self.dilation
        seen = (n, p * step + u * gap - self.before, q * step + v * gap - self.before, c)
        if target == "y":
            axes = (u, v) if self.depthwise else (u, v, c)
            total = Reduce(axes, "add", self.load("x", seen) * self.load("w", weight))
            value = total + self.load("bias", (o,))
            domain: tuple[Index, ...] = (n, p, q, o)
        elif target == "w":
            value = Reduce((n, p, q), "add", self.load("x", seen) * self.load("y", (n, p, q, o)))
            domain = weight
        else:
            turned = (self.window[0] - 1 - u, self.window[1] - 1 - v)
            back = (y + self.before - gap * turned[0], x + self.before - gap * turned[1])
            axes = (u, v) if self.depthwise else (u, v, o)
            product = self.load("y", (n, *back, o)) * self.load("w", (*turned, *weight[2:]))
            value, domain = Reduce(axes, "add", product), (n, y, x, c)
        used = {e.buffer for e in _loads(value)} | {target}
        buffers = {
            name: Buffer(self.dtype, shape, written=name == target)
            for name, shape in self.shapes.items()
            if name in used
        }
        return contraction(domain, (Store(target, domain, value),), buffers)

    def exact(self, target: str, arrays: Arrays) -> tuple[np.ndarray, int]:
        """Return the result of the contraction of this name in float64, and how many terms its sums have."""
        x, w, y = (arrays[n].astype("d") if n in arrays and n != target else None for n in "xwy")
        if target == "x":
            letters = "npqc,uvc->npquvc" if self.depthwise else "npqo,uvco->npquvc"
            return self._scattered(np.einsum(letters, y, w, optimize=True)), w[..., 0].size
        seen = self.windows(x)
        if target == "w":
            letters = "npquvc,npqc->uvc" if self.depthwise else "npquvc,npqo->uvco"
            return np.einsum(letters, seen, y, optimize=True), y[..., 0].size
        letters = "npquvc,uvc->npqc" if self.depthwise else "npquvc,uvco->npqo"
        return np.einsum(letters, seen, w, optimize=True) + arrays["bias"], w[..., 0].size

    def _scattered(self, parts: np.ndarray) -> np.ndarray:
        """The sum of an array [n, p, q, u, v, c] where its windows lie in the image, for stride 1."""
        _, height, width, channels = self.image
        room = self.before + self.after
        found = np.zeros((len(parts), height + room, width + room, channels))
        (p, q), gap = self.positions, self.dilation
        for u in range(self.window[0]):
            for v in range(self.window[1]):
                found[:, u * gap : u * gap + p, v * gap : v * gap + q] += parts[:, :, :, u, v]
        return found[:, self.before :, self.before :][:, :height, :width]

    def windows(self, x: np.ndarray) -> np.ndarray:
        """Return what the windows see, as an array [n, p, q, u, v, c]."""
        edges = (self.before, self.after)
        x = np.pad(x, ((0, 0), edges, edges, (0, 0)))
        reach = [(k - 1) * self.dilation + 1 for k in self.window]
        view = np.lib.stride_tricks.sliding_window_view(x, reach, (1, 2))
        view = view[:, :: self.stride, :: self.stride, :, :: self.dilation, :: self.dilation]
        return np.moveaxis(view, 3, 5)


def inputs(c: Contraction, rng: np.random.Generator) -> Arrays:
    """Random numbers for every buffer."""
    return {
        name: rng.random(b.shape) < 0.5 if b.dtype.is_bool else b.dtype.round(rng.normal(size=b.shape))
        for name, b in c.buffers.items()
    }


def wide(arrays: Arrays, dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    """The operands of a product with digits to spare; NumPy multiplies wider ones than float64 slowly."""
    a, b = (arrays[name].astype(np.longdouble if dtype is float64 else np.float64) for name in "ab")
    return a, b


def processor(vector_bytes: int | None) -> CpuTarget:
    """This one, with vectors of so many bytes: if its registers are shorter, LLVM takes them apart."""
    return replace(cpu_jit.host(), vector_bytes=vector_bytes or 64)


def run(
    c: Contraction, arrays: Arrays, vector_bytes: int | None = None, choice: Choice = NO_CHOICE
) -> Arrays:
    """The written arrays after the compiled contraction ran on copies of `arrays`; nothing around them has
    changed.
    """
    edge = np.full(_GUARD, 0xA5, np.uint8)
    memory = [
        np.concatenate([edge, stored(b.dtype, arrays[name]).reshape(-1).view(np.uint8), edge])
        for name, b in c.buffers.items()
    ]
    launch(emit(c, processor(vector_bytes), choice), [m.ctypes.data + _GUARD for m in memory])
    assert all((m[:_GUARD] == 0xA5).all() and (m[-_GUARD:] == 0xA5).all() for m in memory)
    return {
        name: loaded(b.dtype, m[_GUARD:-_GUARD].view(stored(b.dtype, arrays[name]).dtype)).reshape(b.shape)
        for m, (name, b) in zip(memory, c.buffers.items(), strict=True)
        if b.written
    }


def assert_close(found: np.ndarray, exact: np.ndarray, magnitude: np.ndarray | float = 1.0) -> None:
    """Equal within the rounding of sums whose terms add up to `magnitude` without their signs."""
    eps = np.finfo(found.dtype).eps
    assert found.shape == exact.shape
    assert np.isfinite(found).all()
    assert (np.abs(found - exact) <= 16 * eps * (magnitude + np.abs(exact))).all()
