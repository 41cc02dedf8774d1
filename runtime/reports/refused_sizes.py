"""The sizes of a run that asks for more memory than there is: who decides them, and on which line.

2147483648  the value of SegmentSum/segment_count (net.py:4), of ids (net.py:2)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from staticgraph.compiler.graph.errors import ResourceExhaustedError
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.runtime.reports.recompile_reason import places

if TYPE_CHECKING:
    from staticgraph.compiler.capture.open_shapes import OpenShapes

_SHOWN = 3
_HEAD = "the sizes that ask for it:"


def with_sizes(
    error: ResourceExhaustedError,
    shapes: OpenShapes,
    rows: Sequence[Sequence[int]],
    feeds: Sequence[Tensor],
) -> ResourceExhaustedError:
    """Return the error of a program with open sizes that needs too much memory, with the largest of them.

    Args:
        error: The error.
        shapes: The shapes that the program takes.
        rows: Those of the run, then the values that are sizes.
        feeds: The fed tensors.
    """
    told = sorted(_sizes(shapes, rows, feeds), reverse=True)[:_SHOWN]
    listed = [f"{n:>14}  {text}" for n, text in told]
    return ResourceExhaustedError("\n".join([str(error), *(" " * 8 + line for line in (_HEAD, *listed))]))


def _sizes(
    shapes: OpenShapes, rows: Sequence[Sequence[int]], feeds: Sequence[Tensor]
) -> Iterator[tuple[int, str]]:
    """Return the sizes of a run that the graph leaves to it, each with where it comes from."""
    tensors = [*feeds, *(feeds[number] for number in shapes.sized)]
    for place, tensor, given in zip(places(shapes, feeds), tensors, rows, strict=True):
        for number, n in enumerate(given):
            yield n, f"{place.at(number, len(given))}{_of(tensor)}"


def _of(tensor: Tensor) -> str:
    """Return the line of a fed tensor, and if an earlier stage computes it, what it is computed of."""
    more = "".join(f", of {t.op.name}{_line(t.op.where)}" for t in tensor.op.tensors[-1:])
    return _line(tensor.op.where) + more


def _line(where: Provenance | None) -> str:
    return "" if where is None else f" ({where.short})"
