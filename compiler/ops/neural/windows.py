"""Windows that slide along axes: how many positions they have, and how much padding.

Convolution and pooling share this arithmetic. Per axis, a window of `size` taps, `dilation` apart, moves by
`stride` over `length` elements with `before` and `after` padding elements around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.shapes import Shape
from staticgraph.compiler.graph.sizes import at_least, same
from staticgraph.compiler.support.dataclass import dataclass

LONGEST = 1 << 24  # elements from the first tap of a window to the last
LONGEST_PADDED = 1 << 8  # the same, of windows that see more padding than elements


@dataclass(frozen=True, slots=True)
class Window:
    """A sliding window along one axis."""

    length: int
    size: int
    stride: int
    dilation: int = 1
    before: int = 0
    after: int = 0

    @property
    def reach(self) -> int:
        """Distance from the first tap to the last."""
        return (self.size - 1) * self.dilation

    @property
    def count(self) -> int:
        """The number of positions of the window; `positions` has refused one that does not fit."""
        if (self.size, self.stride, self.before, self.after) == (1, 1, 0, 0):
            return self.length
        return (self.length + self.before + self.after - self.reach - 1) // self.stride + 1

    @property
    def is_padded(self) -> bool:
        """True if there may be padding."""
        return not (same(self.before, 0) and same(self.after, 0))


def positions(
    length: int | None,
    size: int | None,
    stride: int,
    dilation: int,
    padding: str,
    extra: tuple[int, int] = (0, 0),
) -> int | None:
    """The number of positions of a window, None if it is not known yet."""
    reach = None if size is None else (size - 1) * dilation + 1
    require(
        reach is None or reach <= LONGEST,
        f"a window of {reach} elements is too long",
        f"{LONGEST} is the most",
    )
    if length is None or (reach == 1 and stride == 1 and not any(extra)):
        return length
    if padding == "SAME":
        fits = reach is None or reach <= LONGEST_PADDED or reach <= 2 * length
        require(fits, f"a window of {reach} elements is too long for {length} elements")
        return -(-length // stride)
    if reach is None:
        return None
    room = length + sum(extra)
    require(
        room >= reach or reach == 1,
        f"a window of {reach} does not fit into {room} elements",
        hint="padding='SAME' pads the input",
    )
    return (room - reach) // stride + 1


def pooled_shape(shape: Shape, ksize: Sequence[int], strides: Sequence[int], padding: str) -> Shape:
    """The shape that windows over all axes leave. For type rules: it checks the attributes of pooling."""
    rank = len(shape)
    for name, values in (("ksize", ksize), ("strides", strides)):
        require(len(values) == rank, f"{name} {values} has {len(values)} entries, {rank} are needed")
        require(min(values, default=1) > 0, f"{name} {values} must be positive")
    check_padding(padding)
    return tuple(positions(n, k, s, 1, padding) for n, k, s in zip(shape, ksize, strides, strict=True))


def window(
    length: int, size: int, stride: int, dilation: int, padding: str, extra: tuple[int, int] = (0, 0)
) -> Window:
    """The window of one axis. SAME: as many positions as strides fit, an odd padding element at the end."""
    if padding == "SAME" and (size > 1 or stride > 1):
        count = -(-length // stride)
        total = at_least((count - 1) * stride + (size - 1) * dilation + 1 - length, 0)
        extra = (total // 2, total - total // 2)
    return Window(length, size, stride, dilation, *extra)


def check_padding(padding: Any, allowed: Sequence[str] = ("SAME", "VALID")) -> None:
    """Refuse a kind of padding that is not among the allowed ones, for a type rule."""
    require(padding in allowed, f"padding {padding!r} is none of {', '.join(map(repr, allowed))}")
