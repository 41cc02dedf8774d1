"""Capture of ranges and of reshapes: if fed numbers decide their sizes, an earlier stage finds these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.capture.rules.operations import applied, attributes, counted, static_value
from staticgraph.compiler.capture.step import Needs
from staticgraph.compiler.capture.walk import RULES, CaptureRule, Made, Walk
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.sizes import AnySize, Size, content, quotient
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.ops.arrays.creation import positions


def capture_range(walk: Walk, op: Operation) -> Made:
    """Return the numbers of a range.

    Whole numbers with a known step are those of its attributes, since start and limit may be open sizes.
    Otherwise an earlier stage finds the length:

        range(start, limit, delta)       ->       count = range_count(start, limit, delta)
                                                  range(count) * delta + start
    """
    if op.attrs["dtype"].is_integer:
        is_known = _has_known_step(walk, op)
    else:
        is_known = not isinstance(attributes(walk, op), Needs)
    if is_known:
        return applied(walk, op, [])
    start, limit, delta = (walk.value(op.operands[name]) for name in ("start", "limit", "delta"))
    count = counted(walk, op, start, limit, delta)
    if isinstance(count, Needs):
        return count
    steps = positions(start, count, start.dtype)
    return steps * ops.stop_gradient(delta) + ops.stop_gradient(start)


def _has_known_step(walk: Walk, op: Operation) -> bool:
    step: Any = static_value(walk, op.operands["delta"])
    return not isinstance(step, Needs) and not isinstance(step.item(), Size)


def capture_reshape(walk: Walk, op: Operation) -> Made:
    """Return a reshape. If -1 stands for an open size divided by another one, an earlier stage divides.

    reshape(x, [n, -1])       ->       size = inferred_size(x, [n, -1])
                                       reshape(x, [n, size])
    """
    attrs = attributes(walk, op)
    if isinstance(attrs, Needs):
        return attrs
    tensor, shape = walk.value(op.tensors[0]), attrs["shape"]
    if _divides(tensor.shape, shape):
        return applied(walk, op, [tensor], attrs)
    size = counted(walk, op, tensor, walk.value(op.operands["shape"]))
    if isinstance(size, Needs):
        return size
    if type(size) is int and size < 0:  # the type rule says why
        return applied(walk, op, [tensor], attrs)
    return ops.reshape(tensor, shape=tuple(size if _is_left(n) else n for n in shape))


def _divides(tensor: Sequence[AnySize], shape: Sequence[AnySize]) -> bool:
    """Return True if what -1 stands for in the shape is known, or a polynomial of open sizes."""
    if not any(map(_is_left, shape)):
        return True
    others = math.prod(n for n in shape if not _is_left(n))
    if not isinstance(others, Size):
        return True
    return quotient(math.prod(tensor), others // content(others)) is not None


def _is_left(size: AnySize) -> bool:
    return type(size) is int and size == -1


RULES["range"] = CaptureRule(capture_range, lambda op: op.operands.values())
RULES["reshape"] = CaptureRule(capture_reshape)
