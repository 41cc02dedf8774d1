"""Functions for products without tiles."""

from __future__ import annotations

from staticgraph.compiler.codegen.cuda.expr import counter
from staticgraph.compiler.codegen.cuda.function import C_TYPES, FunctionCall
from staticgraph.compiler.codegen.cuda.places import integer, place, split_count
from staticgraph.compiler.codegen.cuda.prelude import combiner, register_type
from staticgraph.compiler.codegen.cuda.products.epilogue import epilogue, indented, product_call
from staticgraph.compiler.codegen.cuda.scalar import loaded
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel.contraction import Contraction, Limit, count
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Axis, Values, is_wide
from staticgraph.compiler.kernel.schedule_gpu.products.direct import DirectSchedule, SplitK
from staticgraph.compiler.kernel.schedule_gpu.target import WARP

_WRITTEN_OUT = 32  # products in the text
_COUNTED = 2**30  # values of an index of which a loop counts fewer in 32 bits
_NAMES = ("left", "right")


def direct(made: DirectSchedule) -> FunctionCall:
    """The function of a schedule."""
    c, outputs, shared, width, per_block = made.product, made.outputs, made.shared, made.width, made.per_block
    kind = "uint32_t" if counter(outputs.extent) == "int" else "uint64_t"
    thread = f"threadIdx.x / {WARP}" if shared else f"threadIdx.x * {width}"
    lines = [f"const {kind} result = {kind}(blockIdx.x) * {per_block} + {thread};"]
    if isinstance(outputs.extent, Size) or outputs.extent % per_block:
        lines.append(f"if (result >= {outputs.extent}u) return;")
    lines += split_count(outputs, "result")
    for name, x in zip(_NAMES, (c.a, c.b), strict=True):
        wide = is_wide(c, x)
        lines.append(f"const {integer(wide)} {name}_at = {place(x, outputs.values, wide)};")
    lines.append(f"{register_type(c.dtype)} sums[{width}] = {{}};")
    lines += _loops(made)
    finish = epilogue(c, outputs.values, outputs.last, width, "sums[j]")
    if shared:
        lines.append(f"sums[0] = warp_reduce<{combiner('add', c.dtype)}>(sums[0]);")
        finish = [f"if (threadIdx.x % {WARP} == 0) {{", *indented(finish), "}"]
    return product_call(made, lines + finish)


def _loops(made: DirectSchedule) -> list[str]:
    """Loops over the indices of the sum that add the products to `sums`."""
    c, shared, step = made.product, made.shared, made.step
    along, written = Axis("k", c.k), 1
    values = made.outputs.values | along.values
    cut = {s.index: s for s in made.slices}
    fastest, width = (along.last, step) if shared else (made.outputs.last, made.width)
    body = _products(c, along, fastest, width, shared)
    for n, index in reversed(list(enumerate(c.k))):
        innermost, name = n == len(c.k) - 1, along.values[index]
        before, first, last = _span(index, values, cut.get(index))
        tests = [_inside(limit, values) for limit in c.limits if limit.k is index]
        if tests:
            body = [f"if ({' && '.join(tests)}) {{", *indented(body), "}"]
        by = 1
        if shared and innermost:
            first, by = f"{first} + int32_t(threadIdx.x % {WARP}) * {step}", WARP * step
        written *= count(index)
        unroll = 4 if innermost else 1
        if isinstance(index.extent, int) and written <= _WRITTEN_OUT and not shared and index not in cut:
            unroll = index.extent
        body = [
            *before,
            f"#pragma unroll {unroll}",
            f"for ({integer(_is_long(index))} {name} = {first}; {name} < {last}; {name} += {by}) {{",
            *indented(body),
            "}",
        ]
    return body


def _span(index: Index, values: Values, slices: SplitK | None) -> tuple[list[str], str, str]:
    """Return the range of a loop over an index of the sum: statements before it, its first value, its end."""
    if slices is None:
        return [], "0", f"{index.extent}"
    kind = integer(_is_long(index))
    first = f"{kind}({values[slices.number]}) * {slices.length}"
    end = f"{first} + {slices.length}"
    if isinstance(index.extent, Size) or index.extent % slices.length:
        end = f"({end} < {index.extent} ? {end} : {index.extent})"
    return [f"const {kind} end = {end};"], first, "end"


def _is_long(index: Index) -> bool:
    return isinstance(index.extent, int) and index.extent >= _COUNTED


def _inside(limit: Limit, values: Values) -> str:
    """The test whether a product exists."""
    at = [str(limit.offset), f"{values[limit.k]} * {limit.step}"]
    if limit.place is not None:
        at.append(f"{values[limit.place]} * {limit.place_step}")
    return f"uint32_t({' + '.join(at)}) < {limit.extent}u"


def _products(c: Contraction, along: Axis, fastest: Index | None, width: int, shared: bool) -> list[str]:
    """Statements for `width` products along an index of the results or, where `shared`, of the sum."""
    kind, lines, factors = register_type(c.dtype), [], []
    for name, x in zip(_NAMES, (c.a, c.b), strict=True):
        at = place(x, along.values, is_wide(c, x), f"{name}_at")
        if x.step(fastest) and width > 1:
            pack = f"Vector<{C_TYPES[x.dtype.name]}, {width}>"
            lines.append(f"const {pack} {name} = *reinterpret_cast<const {pack}*>({x.buffer} + {at});")
            factors.append(f"{kind}({loaded(x.dtype, f'{name}.at[j]')})")
        else:
            lines.append(f"const {kind} {name} = {loaded(x.dtype, f'{x.buffer}[{at}]')};")
            factors.append(name)
    target = "sums[0]" if shared else "sums[j]"
    each = ["#pragma unroll", f"for (int j = 0; j < {width}; j++) {target} += {' * '.join(factors)};"]
    return lines + each
