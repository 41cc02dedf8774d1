"""Windows that slide along axes: how many positions they have, and how much padding.

Convolution and pooling share this arithmetic. Per axis, a window of `size` taps, `dilation` apart, moves by
`stride` over `length` elements with `before` and `after` padding elements around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.dataclass import dataclass
from staticgraph.compiler.graph.errors import require


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
        """From the first tap to the last."""
        return (self.size - 1) * self.dilation

    @property
    def count(self) -> int:
        """The number of positions of the window."""
        return max(0, (self.length + self.before + self.after - self.reach - 1) // self.stride + 1)


def positions(
    length: int | None,
    size: int | None,
    stride: int,
    dilation: int,
    padding: str,
    extra: tuple[int, int] = (0, 0),
) -> int | None:
    """The number of positions of a window, None where it is not known yet."""
    if length is None:
        return None
    if padding == "SAME":
        return -(-length // stride)
    if size is None:
        return None
    reach = (size - 1) * dilation + 1
    room = length + sum(extra)
    require(
        room >= reach or reach == 1,
        f"a window of {reach} does not fit into {room} elements",
        hint="padding='SAME' pads the input",
    )
    return (room - reach) // stride + 1


def window(
    length: int, size: int, stride: int, dilation: int, padding: str, extra: tuple[int, int] = (0, 0)
) -> Window:
    """The window of one axis. SAME: as many positions as strides fit, an odd padding element at the end."""
    if padding == "SAME":
        count = -(-length // stride)
        total = max(0, (count - 1) * stride + (size - 1) * dilation + 1 - length)
        extra = (total // 2, total - total // 2)
    return Window(length, size, stride, dilation, *extra)


def check_padding(padding: Any, allowed: Sequence[str] = ("SAME", "VALID")) -> None:
    """For type rules."""
    require(padding in allowed, f"padding {padding!r} is none of {', '.join(map(repr, allowed))}")
