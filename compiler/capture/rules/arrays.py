"""Capture of arrays of rows, whose shape may be known only when a row is written.

Such an array is made without elements first. The first write tells the shape of its row, the walk goes on
with what does not depend on it, and the next walk makes all arrays that were written in their shapes.
"""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.capture.rules.operations import applied, attributes
from staticgraph.compiler.capture.step import Needs, NeedsRows
from staticgraph.compiler.capture.walk import RULES, CaptureRule, Made, Walk
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import Shape
from staticgraph.compiler.graph.tensor import Operation


def capture_array(walk: Walk, op: Operation) -> Made:
    """Return an array of rows of zeros."""
    attrs = attributes(walk, op)
    if isinstance(attrs, Needs):
        return attrs
    number, shape = op.attrs["number"], op.attrs["element_shape"]
    if shape is None or None in shape:
        shape = walk.rows.setdefault(number, None)
    if shape is None:
        shape = (0,)  # what is written later, in another stage, may be of any shape then
    (type,) = walk.build.types(op.definition, (), attrs | {"element_shape": shape})
    return ops.fill(walk.build.constant(0, type.dtype), dims=type.static_shape)


def capture_write(walk: Walk, op: Operation) -> Made:
    """Return an array with one row written."""
    return _written(walk, op, lambda row: row)


def capture_scatter(walk: Walk, op: Operation) -> Made:
    """Return an array with several rows written, which are those of the last input."""
    return _written(walk, op, lambda rows: rows[1:])


def _written(walk: Walk, op: Operation, row_of: Callable[[tuple[int, ...]], Shape]) -> Made:
    inputs = [walk.value(t) for t in op.tensors]
    number = op.attrs["number"]
    if number in walk.rows and walk.rows[number] is None:
        return NeedsRows({number: row_of(inputs[2].shape)})
    return applied(walk, op, inputs)


RULES["tensor_array"] = CaptureRule(capture_array)
RULES["tensor_array_write"] = CaptureRule(capture_write)
RULES["tensor_array_scatter"] = CaptureRule(capture_scatter)
