"""Functions that write the addresses of the matrices of a batch."""

from __future__ import annotations

from staticgraph.compiler.codegen.cuda.function import FunctionCall, Parameter, call_of
from staticgraph.compiler.codegen.cuda.places import split_count
from staticgraph.compiler.graph.dtypes import uint64
from staticgraph.compiler.kernel.schedule_gpu.limits import THREADS
from staticgraph.compiler.kernel.schedule_gpu.products.library import PointerSchedule


def pointers(made: PointerSchedule) -> FunctionCall:
    """The function of a schedule."""
    product, axis = made.product, made.points
    lines = [
        f"const uint32_t point = blockIdx.x * {THREADS} + threadIdx.x;",
        f"if (point >= {axis.extent}u) return;",
        *split_count(axis, "point"),
    ]
    for number, matrix in enumerate((product.a, product.b, product.out)):
        steps = zip(axis.values.values(), (*matrix.steps, matrix.batch_stride), strict=True)
        terms = [f"int64_t({value}) * {step}" for value, step in steps if step]
        at = " + ".join([matrix.buffer, *([str(matrix.offset)] if matrix.offset else []), *terms])
        place = f"point + {number * axis.extent}" if number else "point"
        lines.append(f"{product.pointers}[{place}] = reinterpret_cast<uint64_t>({at});")
    operands = dict.fromkeys((product.a.buffer, product.b.buffer, product.out.buffer))
    arguments = [Parameter(name, product.dtype) for name in operands]
    arguments.append(Parameter(product.pointers, uint64, written=True))
    return call_of(made, arguments, "\n".join(lines))
