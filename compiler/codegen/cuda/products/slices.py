"""Functions that run after the sums of a contraction: they add slices in order, and compute the results.

Long sums with few results, such as gradients of weights, are cut into slices, so that there is work for the
whole GPU. The sums of the slices wait in scratch memory.
"""

from __future__ import annotations

import math
from dataclasses import replace

from staticgraph.compiler.codegen.cuda.function import FunctionCall, call
from staticgraph.compiler.codegen.cuda.limits import THREADS, WARP
from staticgraph.compiler.codegen.cuda.prelude import combiner, register_type
from staticgraph.compiler.codegen.cuda.products.axes import Axis
from staticgraph.compiler.codegen.cuda.products.epilogue import epilogue, indented, pack_width, parameters
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.kernel.contraction import Access, Contraction
from staticgraph.compiler.kernel.stmt import Buffer, Store

_MANY = 32  # slices that one thread does not add by itself


def in_scratch(name: str, dtype: DType, outputs: Axis) -> Access:
    """Return an access to the results in scratch memory of their own, contiguous and in order."""
    steps, step = {}, 1
    for index in reversed(outputs.indices):
        steps[index] = step
        step *= index.extent
    return Access(name, dtype, 0, steps)


def into(c: Contraction, target: Access) -> Contraction:
    """The contraction whose only results are the sums, in scratch memory."""
    size = math.prod(i.extent for i in target.steps)
    buffers = {**c.buffers, target.buffer: Buffer(c.dtype, (size,), written=True)}
    return replace(c, stores=(Store(target.buffer, (), c.acc),), targets=(target,), loads={}, buffers=buffers)


def add_slices(c: Contraction, sums: Access, outputs: Axis, slices: int) -> FunctionCall:
    """The call that adds the slices of each sum, of which there are so many, and computes the results."""
    c = replace(c, buffers=into(c, sums).buffers)
    if slices > _MANY:
        return _add_many(c, sums, outputs, slices)
    width = pack_width(outputs.last, 16 // c.dtype.size)
    pack = f"Vector<{register_type(c.dtype)}, {width}>"
    before = [
        f"{pack} sum = *reinterpret_cast<const {pack}*>({sums.buffer} + result);",
        "#pragma unroll 4",
        f"for (int32_t slice = 1; slice < {slices}; slice++) {{",
        f"  const int64_t at = result + int64_t(slice) * {outputs.extent};",
        f"  const {pack} next = *reinterpret_cast<const {pack}*>({sums.buffer} + at);",
        "  #pragma unroll",
        f"  for (int j = 0; j < {width}; j++) sum.at[j] += next.at[j];",
        "}",
    ]
    work = epilogue(c, outputs.values, outputs.last, width, "sum.at[j]")
    return _for_each("add_slices", c, outputs, width, [*before, *outputs.split("result"), *work], sums)


def elementwise(c: Contraction, outputs: Axis) -> FunctionCall:
    """The call that computes results which need no sum."""
    width = pack_width(outputs.last, 16 // max(x.dtype.size for x in (*c.targets, *c.loads.values())))
    work = epilogue(c, outputs.values, outputs.last, width, "no sum")
    return _for_each("after_product", c, outputs, width, [*outputs.split("result"), *work])


def _for_each(
    kind: str, c: Contraction, outputs: Axis, width: int, work: list[str], *read: Access
) -> FunctionCall:
    """A call whose threads make a pack of results each."""
    number, per_block = _number(outputs), THREADS * width
    lines = [f"const {number} result = ({number}(blockIdx.x) * {THREADS} + threadIdx.x) * {width};"]
    if outputs.extent % per_block:
        lines.append(f"if (result >= {outputs.extent}u) return;")
    blocks = -(-outputs.extent // per_block)
    return call(kind, parameters(c, *read), "\n".join(lines + work), (blocks, 1, 1), (THREADS, 1, 1))


def _add_many(c: Contraction, sums: Access, outputs: Axis, slices: int) -> FunctionCall:
    """A call whose warps add many slices of one sum each."""
    number, per_block = _number(outputs), THREADS // WARP
    lines = [f"const {number} result = {number}(blockIdx.x) * {per_block} + threadIdx.x / {WARP};"]
    if outputs.extent % per_block:
        lines.append(f"if (result >= {outputs.extent}u) return;")
    lines += [
        f"{register_type(c.dtype)} sum = 0;",
        "#pragma unroll 4",
        f"for (int32_t slice = threadIdx.x % {WARP}; slice < {slices}; slice += {WARP})",
        f"  sum += {sums.buffer}[result + int64_t(slice) * {outputs.extent}];",
        f"sum = warp_reduce<{combiner('add', c.dtype)}>(sum);",
        f"if (threadIdx.x % {WARP} == 0) {{",
        *indented(outputs.split("result")),
        *indented(epilogue(c, outputs.values, None, 1, "sum")),
        "}",
    ]
    blocks = -(-outputs.extent // per_block)
    return call(
        "add_slices", parameters(c, sums), "\n".join(lines), (blocks, 1, 1), (THREADS, 1, 1), meets=True
    )


def _number(outputs: Axis) -> str:
    """The type of the number of a result."""
    return "uint64_t" if outputs.extent >= 2**31 - THREADS * 8 else "uint32_t"
