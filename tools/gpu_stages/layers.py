"""Convolutions of usual nets: what is computed of them, from which numbers, and how it is compiled."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.capture.capture import capture
from staticgraph.compiler.capture.step import CaptureRequest, Step
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.gpu.step import GpuCompiled
from staticgraph.compiler.graph.dtypes import DTYPES, DType
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.runtime.gpu.cuda import nvrtc as in_groups
from staticgraph.runtime.state.memory import to_storage

_DRAWN = 1_000_003  # numbers that are drawn: a prime, so that rows of an array are not alike


@dataclass(frozen=True, slots=True)
class Layer:
    """Images of so many pixels and channels, so many taps along both axes."""

    size: int
    inputs: int
    outputs: int
    taps: int
    stride: int = 1

    @property
    def text(self) -> str:
        """Return it as text, to be read."""
        stride = f", stride {self.stride}" if self.stride > 1 else ""
        return f"{self.size}², {self.inputs} to {self.outputs}, {self.taps}×{self.taps}{stride}"

    @property
    def positions(self) -> int:
        """Pixels of a result along an axis."""
        return -(-self.size // self.stride)

    @property
    def before(self) -> int:
        """Zeros before the first pixel along an axis."""
        return max((self.positions - 1) * self.stride + self.taps - self.size, 0) // 2


LAYERS = (
    Layer(56, 64, 64, 3),
    Layer(28, 128, 128, 3),
    Layer(14, 256, 256, 3),
    Layer(7, 512, 512, 3),
    Layer(56, 128, 128, 3, 2),
    Layer(56, 256, 512, 1, 2),
)
FEWER = (Layer(56, 64, 64, 3), Layer(14, 256, 256, 3), Layer(56, 128, 128, 3, 2))  # for tensor cores
TYPES = (
    ("float32", Precision.FLOAT32),
    ("float32", Precision.TF32),
    ("float16", Precision.FLOAT32),
    ("bfloat16", Precision.FLOAT32),
)
SMALL = (Layer(16, 64, 64, 3),)
SMALL_TYPES = TYPES[1:2]
BATCH, SMALL_BATCH = 64, 2
RESULT, BY_IMAGE, BY_FILTER = KINDS = ("the result", "by the image", "by the filter")
_IMAGE, _FILTER, _GRADIENT = NAMES = ("image", "filter", "gradient")


@dataclass(frozen=True, slots=True)
class Case:
    """A layer, or one of its derivatives, for numbers of some type."""

    layer: Layer
    batch: int
    kind: str
    type: str
    precision: Precision = Precision.FLOAT32

    @property
    def name(self) -> str:
        """Return its name, to be read."""
        return f"{self.numbers_text} {self.layer.text}: {self.kind}"

    @property
    def numbers_text(self) -> str:
        """The type of numbers, and how they are multiplied where that is another one."""
        return self.type if self.precision is Precision.FLOAT32 else f"{self.type} by {self.precision.value}"

    @property
    def flops(self) -> int:
        """Floating operations, those with zeros beyond the edges included."""
        layer = self.layer
        return 2 * self.batch * layer.positions**2 * layer.outputs * layer.taps**2 * layer.inputs

    @property
    def dtype(self) -> DType:
        """The type of all numbers."""
        return DTYPES[self.type]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the inputs, by name."""
        layer, places = self.layer, self.layer.positions
        return {
            _IMAGE: (self.batch, layer.size, layer.size, layer.inputs),
            _FILTER: (layer.taps, layer.taps, layer.inputs, layer.outputs),
            _GRADIENT: (self.batch, places, places, layer.outputs),
        }

    def numbers(self) -> dict[str, np.ndarray]:
        """Random ones, as a card holds them: the same for all kinds."""
        made = {}
        for seed, (name, shape) in enumerate(self.shapes.items()):
            drawn = np.random.default_rng(seed).standard_normal(_DRAWN, np.float32)
            stored = to_storage(self.dtype.round(drawn), self.dtype)
            made[name] = np.resize(stored, math.prod(shape)).reshape(shape)
        return made

    def compiled(self, refused: frozenset[Any] | None) -> GpuCompiled:
        """The step that computes it: by our own kernels where `refused` is None."""
        stride = self.layer.stride
        with sg.Graph().as_default():
            x, w, g = (sg.placeholder(self.dtype, shape, name) for name, shape in self.shapes.items())
            y = sg.nn.conv2d(x, w, [1, stride, stride, 1], "SAME")
            fetch = y if self.kind == RESULT else sg.gradients(y, x if self.kind == BY_IMAGE else w, g)[0]
            fed = {t: TensorType(t.dtype, tuple(t.shape.as_list())) for t in (x, w, g)}
            step = capture(CaptureRequest(fetch.graph, [fetch], [], fed))
        assert isinstance(step, Step), step
        return compile_gpu(step, target=GpuTarget(self.precision, refused))


def cases(small: bool) -> Iterator[Case]:
    """All that are compared, the kinds of a layer one after the other."""
    batch = SMALL_BATCH if small else BATCH
    for type, precision in SMALL_TYPES if small else TYPES:
        exact = type == "float32" and precision is Precision.FLOAT32
        for layer in SMALL if small else LAYERS if exact else FEWER:
            for kind in KINDS:
                yield Case(layer, batch, kind, type, precision)


def compile_ahead(architecture: str, case: Case) -> str:
    """Have our own functions for a case in the cache on disk: with and without cuDNN."""
    for refused in (None, frozenset[Any]()):
        list(in_groups.compiled(case.compiled(refused).functions, architecture))
    return case.name
