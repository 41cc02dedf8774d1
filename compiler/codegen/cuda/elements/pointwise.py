"""Functions for stores of which each element is computed by itself, as `schedule` divides them.

Each operand is read in one go where its elements lie side by side, or once where they are the same, and what
neighbours share, such as a block of random bits, is computed once. All that follows from simplifying the
positions `vector * 4 + 0`, `vector * 4 + 1` and so on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext

from staticgraph.compiler.codegen.cuda.elements.lanes import Lanes
from staticgraph.compiler.codegen.cuda.elements.schedule import PointwisePart, PointwiseSchedule, schedule
from staticgraph.compiler.codegen.cuda.elements.transposed import transposed
from staticgraph.compiler.codegen.cuda.elements.turned import TransposePlan
from staticgraph.compiler.codegen.cuda.expr import CudaWriter, index_type
from staticgraph.compiler.codegen.cuda.function import FunctionCall, Parameter, call
from staticgraph.compiler.codegen.cuda.limits import THREADS
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.index import simplify_index
from staticgraph.compiler.kernel.lower_reductions import Nest
from staticgraph.compiler.kernel.stmt import Buffer


def pointwise(nests: Sequence[Nest], buffers: Mapping[str, Buffer]) -> list[FunctionCall]:
    """Calls that do the nests, one after the other or several at once. There is no `Reduce` in them."""
    return [
        transposed(made, buffers) if isinstance(made, TransposePlan) else _call(made, buffers)
        for made in schedule(nests, buffers)
    ]


def _call(made: PointwiseSchedule, buffers: Mapping[str, Buffer]) -> FunctionCall:
    writer, parts = CudaWriter(buffers), made.parts
    for number, (part, first) in enumerate(made.ranges):
        head = "else" if number else ""
        if number < len(parts) - 1:
            head += f" if (blockIdx.x < {first + part.blocks})"
        with writer.block(head) if len(parts) > 1 else nullcontext():
            _write(writer, part, f"(blockIdx.x - {first})" if first else "blockIdx.x")
    used = set[str]().union(*(p.uses for p in parts))
    written = set[str]().union(*(p.writes for p in parts))
    parameters = [Parameter(name, b.dtype, name in written) for name, b in buffers.items() if name in used]
    return call("pointwise", parameters, writer.text, (made.blocks, 1, 1), (THREADS, 1, 1))


def _write(writer: CudaWriter, part: PointwisePart, block: str) -> None:
    """Write the code of the blocks of a part; `block` is the number of the block, from 0 for the first."""
    vectors, lanes, each = part.vectors, part.lanes, part.vectors_of_a_thread
    kind = index_type(Index("thread", part.blocks * each * THREADS))
    writer.line(f"const {kind} vector = {kind}({block}) * {each * THREADS} + threadIdx.x;")
    near, far = Index("near", vectors), Index("far", vectors)
    if each == 2:
        with writer.block(f"if (vector + {THREADS} < {vectors})"):
            writer.bind_index(near, "vector")
            writer.line(f"const {kind} far = vector + {THREADS};")
            writer.bind_index(far, "far")
            _write_elements(writer, part, [near, far], lanes)
    if vectors:
        with writer.block(f"{'else ' if each == 2 else ''}if (vector < {vectors})"):
            writer.bind_index(near, "vector")
            _write_elements(writer, part, [near], lanes)
    if rest := part.index.extent % lanes:
        with writer.block(f"if ({block} == 0 && threadIdx.x < {rest})"):
            element = Index("element", rest)
            writer.line("const int element = threadIdx.x;")
            writer.bind_index(element, "element")
            _write_elements(writer, part, [element], 1, vectors * lanes)


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
