"""A convolution as the GPU's own library, cuDNN, is asked for it.

Its engines want images with their channels last, and filters with those of the image last: [outputs, *taps,
inputs]. What lies otherwise is brought into that form before, and results are taken out of it afterwards. It
could be told strides, but plans for filters [*taps, inputs, outputs] as if they lay in the form it wants.
"""

from __future__ import annotations

import hashlib
import math
from enum import Enum

from staticgraph.compiler.graph.dtypes import DType, bfloat16, float16, float32
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.support.dataclass import dataclass

Ints = tuple[int, ...]
DTYPES = (float32, float16, bfloat16)
_MOST_ROOM, _PARTIAL_SUMS = 1 << 30, 8 << 20  # bytes
_TOGETHER = 8  # channels, of which tensor cores take whole multiples


class Made(Enum):
    """The one of the three arrays of a convolution that is made of the other two."""

    RESULT = "result"
    FILTER = "filter"  # the derivative by it: the result is that by the result


@dataclass(frozen=True, slots=True)
class Convolution:
    """`result[n, p, o]` is the sum over t and i of `image[n, s * p + d * t - before, i] * filter[o, t, i]`.

    Each array lies in a buffer, without gaps, in the order of its indices; t are the `taps`, s the `strides`,
    d the `dilations`, one for each axis of space, of which there are two or three. Outside of the image, as
    far as `before` and `after` reach, there are zeros. Sums are float32, and are rounded once.

    >>> ones = (1, 1)
    >>> same = Convolution(Made.RESULT, float32, 8, 16, 32, (9, 9), (3, 3), (2, 2), ones, ones, ones,
    ...                    "x", "w", "y")
    >>> same.positions, same.image_shape, same.filter_shape
    ((5, 5), (8, 9, 9, 16), (32, 3, 3, 16))
    >>> print(same.text, end="")
    cuDNN, float32:
    y[8, 5, 5, 32] = x[8, 9, 9, 16] * w[32, 3, 3, 16]
    strides (2, 2), dilations (1, 1), zeros (1, 1) before and (1, 1) after
    """

    made: Made
    dtype: DType
    batch: int
    inputs: int
    outputs: int
    space: Ints  # of the image
    taps: Ints
    strides: Ints
    dilations: Ints
    before: Ints
    after: Ints
    image: str
    filter: str
    result: str
    workspace: str = "workspace"
    precision: Precision = Precision.FLOAT32

    def __post_init__(self) -> None:
        axes = (self.taps, self.strides, self.dilations, self.before, self.after)
        if self.dtype not in DTYPES:
            raise ValueError(f"a convolution of {self.dtype}")
        if len(self.space) not in (2, 3) or any(len(each) != len(self.space) for each in axes):
            raise ValueError(f"a convolution has two or three axes of space: {self}")
        sizes = (self.batch, self.inputs, self.outputs, *self.space, *self.taps)
        if min(*sizes, *self.strides, *self.dilations) < 1 or min(*self.before, *self.after) < 0:
            raise ValueError(f"an empty convolution: {self}")
        if min(self.positions) < 1:
            raise ValueError(f"the taps reach further than the image: {self}")

    @property
    def positions(self) -> Ints:
        """Number of positions along each spatial axis."""
        sizes = zip(self.space, self.before, self.after, self.taps, self.dilations, self.strides, strict=True)
        return tuple((n + low + high - d * (t - 1) - 1) // s + 1 for n, low, high, t, d, s in sizes)

    @property
    def image_shape(self) -> Ints:
        """[batch, *space, inputs]."""
        return (self.batch, *self.space, self.inputs)

    @property
    def filter_shape(self) -> Ints:
        """[outputs, *taps, inputs]."""
        return (self.outputs, *self.taps, self.inputs)

    @property
    def result_shape(self) -> Ints:
        """[batch, *positions, outputs]."""
        return (self.batch, *self.positions, self.outputs)

    @property
    def work(self) -> int:
        """Number of multiplications, including those with zeros of the padding."""
        return math.prod(self.result_shape) * math.prod(self.taps) * self.inputs

    @property
    def room(self) -> int:
        """Bytes of its workspace: an algorithm that needs more is not chosen.

        With as much, cuDNN 9 chooses what it would with any amount. It is enough for partial sums, and for a
        copy of each array: many algorithms bring images into another order, those for all bits of float32
        among them, or fill up channels.
        """
        shapes = (self.image_shape, self.filter_shape, self.result_shape)
        filled = (math.prod(s[:-1]) * -(-s[-1] // _TOGETHER) * _TOGETHER for s in shapes)
        return min(self.dtype.size * sum(filled) + _PARTIAL_SUMS, _MOST_ROOM)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The buffers that it works on: image, filter, result, and its workspace."""
        return self.image, self.filter, self.result, self.workspace

    @property
    def name(self) -> str:
        """A name that equal convolutions have in common, and no others."""
        return f"cudnn_{hashlib.sha256(repr(self).encode()).hexdigest()[:10]}"

    @property
    def sizes(self) -> str:
        """Images, channels, positions and taps, to be read."""
        positions, taps = ("×".join(map(str, each)) for each in (self.positions, self.taps))
        made = "" if self.made is Made.RESULT else "by filter, "
        return f"{made}{self.batch} × {positions} × {self.outputs}, {taps} × {self.inputs}"

    @property
    def text(self) -> str:
        """Readable description of the computation."""
        names = (self.image, self.filter, self.result)
        shapes = (self.image_shape, self.filter_shape, self.result_shape)
        x, w, y = (f"{name}{list(shape)}" for name, shape in zip(names, shapes, strict=True))
        made = f"{y} = {x} * {w}"
        if self.made is Made.FILTER:
            made = f"{w} = derivative by it of {x} * {self.filter}, along {y}"
        rounded = "" if self.precision is Precision.FLOAT32 else f" of {self.precision.value}"
        where = f"zeros {self.before} before and {self.after} after"
        steps = f"strides {self.strides}, dilations {self.dilations}, {where}"
        return f"cuDNN, {self.dtype}{rounded}:\n{made}\n{steps}\n"
