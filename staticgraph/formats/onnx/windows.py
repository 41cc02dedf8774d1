"""The windows that convolutions and pooling slide over their input: sizes, steps and padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.onnx.errors import OnnxError, UnknownValueError
from staticgraph.formats.onnx.nodes import Node


@dataclass(frozen=True, slots=True)
class Window:
    """A window along one axis. `length` is the size of the input, None if it depends on what is fed."""

    length: int | None
    taps: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def reach(self) -> int:
        """The number of elements from the first tap to the last, both included."""
        return (self.taps - 1) * self.dilation + 1

    @property
    def count(self) -> int:
        """The number of positions."""
        return (_known(self) + self.before + self.after - self.reach) // self.stride + 1


def windows(node: Node, space: Sequence[int | None], taps: Sequence[int]) -> list[Window]:
    """The windows that a node describes, per spatial axis."""
    rank = len(space)
    strides, dilations = node.get("strides") or [1] * rank, node.get("dilations") or [1] * rank
    pads = node.get("pads") or [0] * (2 * rank)
    if not len(taps) == len(strides) == len(dilations) == rank or len(pads) != 2 * rank:
        raise OnnxError(f"its kernel, strides, dilations and pads are not those of {rank} axes")
    made = []
    for i, (length, k, s, d) in enumerate(zip(space, taps, strides, dilations, strict=True)):
        one = Window(length, k, s, d, pads[i], pads[rank + i])
        match node.get("auto_pad", "NOTSET"):
            case "VALID":
                one = replace(one, before=0, after=0)
            case "SAME_UPPER" | "SAME_LOWER" as how:
                one = _same(one, how == "SAME_LOWER")
        made.append(_rounded_up(one) if node.get("ceil_mode") else one)
    return made


def _known(one: Window) -> int:
    if one.length is None:
        raise UnknownValueError("the sizes of its input must be known")
    return one.length


def _same(one: Window, lower: bool) -> Window:
    """Pad a window for as many positions as strides fit; an odd element goes to the end, unless `lower`."""
    if one.stride == 1:
        total = one.reach - 1
    else:
        length = _known(one)
        total = max(0, (-(-length // one.stride) - 1) * one.stride + one.reach - length)
    less = total // 2
    return replace(one, before=total - less if lower else less, after=less if lower else total - less)


def _rounded_up(one: Window) -> Window:
    """A last window that reaches beyond the end counts, unless it begins there."""
    length = _known(one)
    count = -(-(length + one.before + one.after - one.reach) // one.stride) + 1
    if (count - 1) * one.stride >= length + one.before:
        count -= 1
    return replace(one, after=max((count - 1) * one.stride + one.reach - length - one.before, 0))
