"""Functions for sums along memory: a block adds up a column, or a part of one."""

from __future__ import annotations

from staticgraph.compiler.codegen.cuda.expr import CudaWriter, counter
from staticgraph.compiler.codegen.cuda.function import FunctionCall, call_of, parameters
from staticgraph.compiler.codegen.cuda.prelude import combiner, register_type
from staticgraph.compiler.codegen.cuda.vectors import write_columns
from staticgraph.compiler.kernel.expr import Index, identity
from staticgraph.compiler.kernel.schedule_gpu.limits import THREADS, WARP
from staticgraph.compiler.kernel.schedule_gpu.sums.schedule import SumSchedule


def full(made: SumSchedule) -> FunctionCall:
    """The call of a function with a block for each result, or for each part of it."""
    sums, parts = made.sums, made.parts
    vectors, lane, body = sums.along(made.width)
    writer = CudaWriter(sums.flat)
    column, stores = sums.results()
    writer.bind_index(column, "int(blockIdx.x)")
    for local, reduce in sums.reduces.items():
        writer.define(local, identity(reduce.combine, local.dtype))
    kind = counter(vectors.extent + parts * THREADS)
    first = f"{kind}(blockIdx.y) * {THREADS} + int(threadIdx.x)"
    writer.line("#pragma unroll 4")
    with writer.block(f"for ({kind} q = {first}; q < {vectors.extent}; q += {parts * THREADS})"):
        writer.bind_index(vectors, "q")
        write_columns(writer, body, lane)
    for local, reduce in sums.reduces.items():
        name, pool, how = writer.value(local), writer.name("warps"), combiner(reduce.combine, local.dtype)
        writer.line(f"SG_SHARED({register_type(local.dtype)}, {pool}, {THREADS // WARP});")
        writer.line(f"{name} = block_reduce<{how}, {THREADS}>({name}, {pool});")
    writer.forget(sums.reduces)
    with writer.block("if (threadIdx.x == 0)"):
        writer.bind_index(Index("part", parts), "int(blockIdx.y)")
        writer.store_all(stores)  # an update in place reads what another one of them writes
    arguments = parameters(sums.buffers, {s.buffer for s in stores}, writer.text)
    return call_of(made, arguments, writer.text)
