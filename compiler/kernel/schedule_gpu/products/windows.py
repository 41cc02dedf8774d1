"""Recognition of convolutions among sums of products: of the windows of an image, and a filter.

A sum is taken as it is written, axis by axis: the normal form of contractions has forgotten the axes. An
operand is an image if indices of the sum and of the results move its axes together. Which of the two are its
positions decides what the sum is: a convolution where these are results, the derivative by its filter where
they are summed up. The derivative by the image is a convolution once more, of a filter that is turned around:
graphs have it with strides of 1 only, as in `ops/neural/convolution.py`.

Operands that do not lie as the library wants them are to be packed: they are read where they lie, and written
in an order that is told here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from staticgraph.compiler.graph.dtypes import float32, int64
from staticgraph.compiler.kernel.contraction import factors
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Reduce, free_indices
from staticgraph.compiler.kernel.indices.affine import affine
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import DTYPES, Convolution, Ints, Made
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.support.dataclass import dataclass

Buffers = Mapping[str, Buffer]
_Product = tuple[Reduce, Load, Load]  # a sum of products, and its factors: of an image, and of something else
_LEAST_AXES, _MOST_AXES = 2, 3  # of space


@dataclass(frozen=True, slots=True)
class WindowOrder:
    """An array without gaps, by the indices that move it; None stands for an axis of one element."""

    indices: tuple[Index | None, ...]

    @property
    def loops(self) -> tuple[Index, ...]:
        """The indices."""
        return tuple(i for i in self.indices if i is not None)

    @property
    def shape(self) -> Ints:
        """The extents."""
        return tuple(1 if i is None else i.extent for i in self.indices)

    @property
    def at(self) -> tuple[Expr, ...]:
        """The position of an element."""
        return tuple(Const(0, int64) if i is None else i for i in self.indices)

    def is_that_of(self, at: Sequence[Expr], buffer: Buffer) -> bool:
        """True if a buffer that is accessed at these positions has this order and holds nothing else."""
        moving = tuple(e for e in at if not isinstance(e, Const))
        return moving == self.loops and buffer.size == math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class PackedWindow:
    """An operand as the library wants it: `element` for each point of `order`.

    `lies_so`: that is how its buffer has it.
    """

    element: Load
    order: WindowOrder
    lies_so: bool


@dataclass(frozen=True, slots=True)
class Windowed:
    """A sum that is a convolution of an `image` and `other`, and the order of what it makes.

    The arrays of `convolution` are in no buffers yet.
    """

    sum: Reduce
    image: PackedWindow
    other: PackedWindow
    made: WindowOrder
    convolution: Convolution


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of an image, number `place` of its buffer: position p and tap t meet at
    `stride` * p + `dilation` * t + `first`.
    """

    place: int
    length: int  # of the buffer
    first: int
    position: Index | None
    stride: int
    tap: Index | None
    dilation: int

    @property
    def positions(self) -> int:
        return 1 if self.position is None else self.position.extent

    @property
    def taps(self) -> int:
        return 1 if self.tap is None else self.tap.extent

    @property
    def is_batch(self) -> bool:
        """True if the positions are the elements of the axis, one each, and no tap moves along it."""
        whole = self.position is not None and self.positions == self.length
        return whole and self.tap is None and (self.first, self.stride) == (0, 1)

    @property
    def is_channels(self) -> bool:
        """True if the taps meet the elements of the axis, one each, and no position moves along it."""
        whole = self.tap is not None and self.taps == self.length
        return whole and self.position is None and (self.first, self.dilation) == (0, 1)

    @property
    def last(self) -> int:
        """The element at which the last position meets the last tap."""
        return self.first + self.stride * (self.positions - 1) + self.dilation * (self.taps - 1)

    @property
    def zeros(self) -> tuple[int, int]:
        """Numbers of padding zeros before and after the elements of the buffer."""
        return max(0, -self.first), max(0, self.last + 1 - self.length)

    @property
    def seen(self) -> range:
        """The elements that are the image: all, unless it would have more positions then."""
        reach = sum(self.zeros) + self.length - self.dilation * (self.taps - 1)
        if self.first <= 0 and (reach - 1) // self.stride + 1 == self.positions:
            return range(self.length)
        return range(max(0, self.first), min(self.length, self.last + 1))

    @property
    def turned(self) -> _Axis:
        """Return the axis with positions and taps exchanged."""
        return replace(self, position=self.tap, stride=self.dilation, tap=self.position, dilation=self.stride)


_ONE = _Axis(-1, 1, 0, None, 1, None, 1)  # an axis that the library wants, and the sum does not have


def windowed(nest: Nest, buffers: Buffers, precision: Precision) -> Windowed | None:
    """The convolution whose sums a nest makes its results of; None if there is no such thing in it."""
    product = factors(buffers, nest.stores)
    if product is None or product[0].dtype is not float32:
        return None
    total, left, right = product
    if left[0].dtype is not right[0].dtype or left[0].dtype not in DTYPES:
        return None
    for (image, _), (other, limits) in ((left, right), (right, left)):
        if not limits and (found := _found(nest, buffers, total, image, other, precision)):
            return found
    return None


def _found(
    nest: Nest, buffers: Buffers, total: Reduce, image: Load, other: Load, precision: Precision
) -> Windowed | None:
    outside, summed = ({i for i in indices if i.extent != 1} for indices in (nest.domain, total.axes))
    ours = outside & free_indices(other) - free_indices(image)
    if len(ours) != 1 or free_indices(other) & (outside | summed) != ours | summed:
        return None
    (outputs,) = ours
    axes = _axes(image, buffers, outside - ours, summed)
    if axes is None:
        return None
    for made in _guesses(axes):
        turned = axes if made is Made.RESULT else [axis.turned for axis in axes]
        if found := _described(turned, made, outputs, (total, image, other), buffers, precision):
            return found
    return None


def _axes(image: Load, buffers: Buffers, outside: set[Index], summed: set[Index]) -> list[_Axis] | None:
    """Return the axes of an image, with the results as positions and the indices of the sum as taps.

    None if a position in the image is not affine with positive factors. None as well if an index in neither
    `outside` nor `summed` moves the image, or if one in them moves it twice or not at all.
    """
    axes: list[_Axis] = []
    met: list[Expr] = []
    for place, (at, length) in enumerate(zip(image.at, buffers[image.buffer].shape, strict=True)):
        form = affine(at)
        if form is None or any(factor < 1 for factor in form.terms.values()):
            return None
        position, tap = (next((i for i in some if i in form.terms), None) for some in (outside, summed))
        stride, dilation = (1 if i is None else form.terms[i] for i in (position, tap))
        axes.append(_Axis(place, length, form.constant, position, stride, tap, dilation))
        met += form.terms
    known = [i for axis in axes for i in (axis.position, axis.tap) if i is not None]
    return axes if len(met) == len(known) and set(known) == outside | summed else None


def _guesses(axes: Sequence[_Axis]) -> Sequence[Made]:
    """Return what the sum may compute, the likelier first; nothing for a plain product of matrices.

    An image usually has more positions than the filter has taps. Without windows, positions are several
    elements apart. Channels come last. Without windows and such steps, the sum is a product of matrices.
    """
    windows = [axis for axis in axes if axis.position is not None and axis.tap is not None]
    single = [axis for axis in axes if axis not in windows]
    more = math.prod(axis.positions for axis in windows) - math.prod(axis.taps for axis in windows)
    apart = sum(axis.stride - axis.dilation for axis in single)
    if not windows and all(axis.stride == axis.dilation == 1 for axis in single):
        return ()
    if (more or apart or (1 if axes[-1].position is None else -1)) > 0:
        return Made.RESULT, Made.FILTER
    return Made.FILTER, Made.RESULT


def _described(
    axes: Sequence[_Axis],
    made: Made,
    outputs: Index,
    product: _Product,
    buffers: Buffers,
    precision: Precision,
) -> Windowed | None:
    """The convolution of these axes; None if they are no batch, space and channels."""
    total, image, other = product
    channels = next((axis for axis in reversed(axes) if axis.is_channels), None)
    batch = next((axis for axis in axes if axis.is_batch), None)
    space = [axis for axis in axes if axis is not batch and axis is not channels]
    space = [axis for axis in space if axis.position is not None or axis.tap is not None]
    if channels is None or len(space) > _MOST_AXES or not all(axis.seen for axis in space):
        return None
    space = [_ONE] * (_LEAST_AXES - len(space)) + space
    pixels = tuple(Index(f"at{n}", len(a.seen)) if a is not _ONE else None for n, a in enumerate(space))
    numbers = None if batch is None else batch.position
    positions, taps = (tuple(axis.position for axis in space), tuple(axis.tap for axis in space))
    of_image = WindowOrder((numbers, *pixels, channels.tap))
    of_result, of_filter = (
        WindowOrder((numbers, *positions, outputs)),
        WindowOrder((outputs, *taps, channels.tap)),
    )
    places = [axis.place for axis in (batch, *space, channels) if axis is not None and axis is not _ONE]
    whole = buffers[image.buffer].size == math.prod(of_image.shape)
    at = list(image.at)
    for axis, pixel in zip(space, pixels, strict=True):
        if pixel is not None:
            at[axis.place] = pixel + axis.seen.start if axis.seen.start else pixel
    before, after = zip(*(axis.zeros for axis in space), strict=True)
    sizes = of_image.shape[0], channels.taps, outputs.extent
    seen, strides = (tuple(len(axis.seen) for axis in space), tuple(axis.stride for axis in space))
    geometry = seen, of_filter.shape[1:-1], strides, tuple(axis.dilation for axis in space), before, after
    convolution = Convolution(made, image.dtype, *sizes, *geometry, "", "", "", precision=precision)
    second, third = (of_filter, of_result) if made is Made.RESULT else (of_result, of_filter)
    return Windowed(
        total,
        PackedWindow(
            Load(image.buffer, tuple(at), image.dtype), of_image, whole and places == sorted(places)
        ),
        PackedWindow(other, second, second.is_that_of(other.at, buffers[other.buffer])),
        third,
        convolution,
    )
