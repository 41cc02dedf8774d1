"""Functions for stores of which each element is computed by itself, as their schedule divides them.

Each operand is read in one go where its elements lie side by side, or once where they are the same, and what
neighbours share, such as a block of random bits, is computed once. All that follows from simplifying the
positions `vector * 4 + 0`, `vector * 4 + 1` and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from staticgraph.compiler.codegen.cuda.elements.lanes import Lanes
from staticgraph.compiler.codegen.cuda.expr import CudaWriter, counter
from staticgraph.compiler.codegen.cuda.function import FunctionCall, call_of, parameters
from staticgraph.compiler.graph.sizes import Size, same
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.schedule_gpu.elements.pointwise import PointwisePart, PointwiseSchedule
from staticgraph.compiler.kernel.schedule_gpu.strides import counting
from staticgraph.compiler.kernel.schedule_gpu.target import THREADS


def pointwise(made: PointwiseSchedule) -> FunctionCall:
    """The function of a schedule."""
    writer, parts = CudaWriter(made.buffers), made.parts
    for number, (part, first) in enumerate(made.ranges):
        head = "else" if number else ""
        if number < len(parts) - 1:
            head += f" if (blockIdx.x < {first + part.blocks})"
        with writer.block(head) if len(parts) > 1 else nullcontext():
            _write(writer, part, f"(blockIdx.x - {first})" if number else "blockIdx.x")
    written = set[str]().union(*(p.writes for p in parts))
    return call_of(made, parameters(made.buffers, written, made.uses), writer.text)


def _write(writer: CudaWriter, part: PointwisePart, block: str) -> None:
    """Write the code of the blocks of a part; `block` is the number of the block, from 0 for the first."""
    vectors, lanes, each = part.vectors, part.lanes, part.vectors_of_a_thread
    kind = counter(part.blocks * each * THREADS)
    writer.line(f"const {kind} vector = {kind}({block}) * {each * THREADS} + threadIdx.x;")
    near, far = (counting(name, vectors, lanes) for name in ("near", "far"))
    if each == 2:
        with writer.block(f"if (vector + {THREADS} < {vectors})"):
            writer.bind_index(near, "vector")
            writer.line(f"const {kind} far = vector + {THREADS};")
            writer.bind_index(far, "far")
            _write_elements(writer, part, [near, far], lanes)
    if not same(vectors, 0):
        with writer.block(f"{'else ' if each == 2 else ''}if (vector < {vectors})"):
            writer.bind_index(near, "vector")
            _write_elements(writer, part, [near], lanes)
    if not same(part.rest, 0):
        with writer.block(f"if ({block} == 0 && threadIdx.x < {part.rest})"):
            element, start, place = Index("element", part.rest), vectors * lanes, "threadIdx.x"
            if isinstance(start, Size):  # then these are the last elements of all
                element, start, place = counting("element", part.count), 0, f"{vectors} * {lanes} + {place}"
            writer.line(f"const int element = {place};")
            writer.bind_index(element, "element")
            _write_elements(writer, part, [element], 1, start)


def _write_elements(
    writer: CudaWriter, part: PointwisePart, vectors: Sequence[Index], lanes: int, start: int = 0
) -> None:
    """Write the work of a thread: the elements from `start + vector * lanes` on, for each of `vectors`.

    All loads come before all computations, and these before all stores.
    """
    mine: list[Lanes] = []
    for vector in vectors:
        places = [simplify_index(vector * lanes + (start + lane)) for lane in range(lanes)]
        mine.append(Lanes(writer, part.stores, [{part.index: place} for place in places]))
    for each in mine:
        each.load()
    lines = [line for each in mine for line in each.stored()]
    for line in lines:
        writer.line(line)
