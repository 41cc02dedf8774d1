"""End of a function over rows: the sums over rows that its threads have taken become those of the block."""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.codegen.cuda.expr import CudaWriter
from staticgraph.compiler.codegen.cuda.prelude import combiner, register_type
from staticgraph.compiler.codegen.cuda.scalar import stored
from staticgraph.compiler.kernel.schedule_gpu.rows.group import Sharing
from staticgraph.compiler.kernel.schedule_gpu.rows.parts import RowPart, meet
from staticgraph.compiler.kernel.schedule_gpu.rows.program import Sweep
from staticgraph.compiler.kernel.schedule_gpu.target import WARP


def finish_number(writer: CudaWriter, part: RowPart, name: str, sharing: Sharing) -> None:
    """Write a sum that is one number, which all threads of a group have as `name`."""
    how = combiner(part.combine, part.dtype)
    if sharing.lanes < WARP:
        writer.line(f"{name} = stride_reduce<{how}, {sharing.lanes}>({name});")
    if sharing.lanes <= WARP and sharing.warps > 1:
        pool = writer.name("pool")
        writer.line(f"SG_SHARED({register_type(part.dtype)}, {pool}, {sharing.warps});")
        writer.line(f"if (threadIdx.x % {WARP} == 0) {pool}[threadIdx.x / {WARP}] = {name};")
        writer.line("__syncthreads();")
        writer.line(f"{name} = {pool}[0];")
        writer.line(f"for (int w = 1; w < {sharing.warps}; ++w) {name} = {how}::of({name}, {pool}[w]);")
    writer.line(f"if (threadIdx.x == 0) {part.total}[blockIdx.x] = {stored(part.dtype, name)};")


def finish(
    writer: CudaWriter, part: RowPart, array: str, sweep: Sweep, parts: Sequence[RowPart], sharing: Sharing
) -> None:
    """Write a row of sums, of which each thread has those of its columns of `sweep` in `array`."""
    how, size, lanes, width = combiner(part.combine, part.dtype), part.size, sharing.lanes, sweep.width
    rounds = sharing.rounds(sweep)
    together, alone = meet(part, parts, sharing), lanes > WARP or sharing.warps == 1
    warp = "0" if alone else f"threadIdx.x / {WARP}"
    if lanes < WARP:
        writer.line("#pragma unroll")
        more = f"{array}[k] = stride_reduce<{how}, {lanes}>({array}[k]);"
        writer.line(f"for (int k = 0; k < {rounds * width}; ++k) {more}")
    element = f"{array}[k * {width} + v]"
    if together and not alone:
        pool = writer.name("pool")
        writer.line(f"SG_SHARED({register_type(part.dtype)}, {pool}, {sharing.warps * size});")
        target, start = pool, f"{warp} * {size}"
    else:
        count = 1 if alone else sharing.warps
        target, start = part.total, f"(int64_t(blockIdx.x) * {count} + {warp}) * {size}"
        element = stored(part.dtype, element)
    only = f" && threadIdx.x % {WARP} < {lanes}" if lanes < WARP else ""
    writer.line("#pragma unroll")
    with writer.block(f"for (int k = 0; k < {rounds}; ++k)"):
        writer.line(f"const int q = k * {lanes} + lane;")
        with writer.block(f"if (q < {sweep.vectors.extent}{only})"):
            writer.line("#pragma unroll")
            writer.line(f"for (int v = 0; v < {width}; ++v) {target}[{start} + q * {width} + v] = {element};")
    if together and not alone:
        writer.line("__syncthreads();")
        with writer.block(f"for (int c = threadIdx.x; c < {size}; c += {sharing.threads})"):
            writer.line(f"{register_type(part.dtype)} sum = {target}[c];")
            add = f"sum = {how}::of(sum, {target}[w * {size} + c]);"
            writer.line(f"for (int w = 1; w < {sharing.warps}; ++w) {add}")
            writer.line(f"{part.total}[int64_t(blockIdx.x) * {size} + c] = {stored(part.dtype, 'sum')};")
