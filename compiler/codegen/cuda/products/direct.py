"""Products without tiles: a thread for a few results, or a warp for each.

For products whose operands are used once or a few times, such as those of a matrix and a vector or the
convolution of each channel with a filter of its own: memory is what takes the time. A warp shares a sum whose
elements are neighbours in memory; otherwise neighbouring threads have neighbouring results.
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.codegen.cuda.function import C_TYPES, FunctionCall, call
from staticgraph.compiler.codegen.cuda.limits import THREADS, WARP
from staticgraph.compiler.codegen.cuda.prelude import combiner, register_type
from staticgraph.compiler.codegen.cuda.products.axes import Axis, Values, in_packs, integer, is_wide, place
from staticgraph.compiler.codegen.cuda.products.epilogue import epilogue, indented, pack_width, parameters
from staticgraph.compiler.codegen.cuda.scalar import loaded
from staticgraph.compiler.kernel.contraction import Contraction, Limit
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.support.dataclass import dataclass

_WRITTEN_OUT = 32  # products in the text
_COUNTED = 2**30  # values of an index of which a loop counts fewer in 32 bits
_NAMES = ("left", "right")


@dataclass(frozen=True, slots=True)
class Slices:
    """A sum cut along `index`: slice `number` has `length` values of it, the last one those that are left."""

    index: Index
    number: Index
    length: int


def outputs_of(c: Contraction) -> Axis:
    """All indices of the results as one count, neighbours in the first result next to each other."""
    target = c.targets[0]
    inside = [i for i in (*c.outer, c.rows, c.lanes) if i is not None]
    return Axis("z", tuple(sorted(inside, key=lambda i: -abs(target.step(i)))))


def shares_sums(c: Contraction) -> bool:
    """True if the threads of a warp share a sum.

    They do if, along the last index of the sum, the elements of at least one operand are contiguous and those
    of the other one are contiguous or the same. The index must also be long enough for a warp.
    """
    if not c.k or c.k[-1].extent < WARP:
        return False
    steps = [x.step(c.k[-1]) for x in (c.a, c.b)]
    return sorted(steps) in ([0, 1], [1, 1])


def threads(c: Contraction, outputs: Axis) -> int:
    """Number of threads that work on a slice."""
    return outputs.extent * WARP if shares_sums(c) else outputs.extent // _width(c, outputs.last)


def direct(c: Contraction, outputs: Axis, slices: Sequence[Slices] = ()) -> FunctionCall:
    """The call. The numbers of slices are indices of `outputs`."""
    shared = shares_sums(c)
    width = 1 if shared else _width(c, outputs.last)
    per_block = THREADS // WARP if shared else THREADS * width
    kind = "uint64_t" if outputs.extent >= 2**31 else "uint32_t"
    thread = f"threadIdx.x / {WARP}" if shared else f"threadIdx.x * {width}"
    lines = [f"const {kind} result = {kind}(blockIdx.x) * {per_block} + {thread};"]
    if outputs.extent % per_block:
        lines.append(f"if (result >= {outputs.extent}u) return;")
    lines += outputs.split("result")
    for name, x in zip(_NAMES, (c.a, c.b), strict=True):
        wide = is_wide(c, x)
        lines.append(f"const {integer(wide)} {name}_at = {place(x, outputs.values, wide)};")
    lines.append(f"{register_type(c.dtype)} sums[{width}] = {{}};")
    lines += _loops(c, outputs, slices, width)
    finish = epilogue(c, outputs.values, outputs.last, width, "sums[j]")
    if shared:
        lines.append(f"sums[0] = warp_reduce<{combiner('add', c.dtype)}>(sums[0]);")
        finish = [f"if (threadIdx.x % {WARP} == 0) {{", *indented(finish), "}"]
    blocks = -(-outputs.extent // per_block)
    return call(
        "direct", parameters(c, c.a, c.b), "\n".join(lines + finish), (blocks, 1, 1), (THREADS, 1, 1),
        meets=shared,
    )  # fmt: skip


def _width(c: Contraction, fastest: Index | None) -> int:
    """Number of elements along an index that a thread loads at once from each operand."""
    width = pack_width(fastest, 16 // max(c.dtype.size, c.a.dtype.size, c.b.dtype.size))
    packed = all(in_packs(x, fastest, width, c.limits) or not x.step(fastest) for x in (c.a, c.b))
    return width if packed and not any(x.place is fastest for x in c.limits) else 1


def _loops(c: Contraction, outputs: Axis, slices: Sequence[Slices], width: int) -> list[str]:
    """Loops over the indices of the sum that add the products to `sums`."""
    along, shared, written = Axis("k", c.k), shares_sums(c), 1
    values = outputs.values | along.values
    step = _width(c, along.last) if shared else 1
    cut = {s.index: s for s in slices}
    if along.last in cut and cut[along.last].length % step:
        step = 1
    body = _products(c, along, along.last if shared else outputs.last, step if shared else width, shared)
    for n, index in reversed(list(enumerate(c.k))):
        innermost, name = n == len(c.k) - 1, along.values[index]
        before, first, last = _span(index, values, cut.get(index))
        tests = [_inside(limit, values) for limit in c.limits if limit.k is index]
        if tests:
            body = [f"if ({' && '.join(tests)}) {{", *indented(body), "}"]
        by = 1
        if shared and innermost:
            first, by = f"{first} + int32_t(threadIdx.x % {WARP}) * {step}", WARP * step
        written *= index.extent
        unroll = 4 if innermost else 1
        if written <= _WRITTEN_OUT and not shared and index not in cut:
            unroll = index.extent
        body = [
            *before,
            f"#pragma unroll {unroll}",
            f"for ({integer(index.extent >= _COUNTED)} {name} = {first}; {name} < {last}; {name} += {by}) {{",
            *indented(body),
            "}",
        ]
    return body


def _span(index: Index, values: Values, slices: Slices | None) -> tuple[list[str], str, str]:
    """Return the range of a loop over an index of the sum: statements before it, its first value, its end."""
    if slices is None:
        return [], "0", str(index.extent)
    kind = integer(index.extent >= _COUNTED)
    first = f"{kind}({values[slices.number]}) * {slices.length}"
    end = f"{first} + {slices.length}"
    if index.extent % slices.length:
        end = f"({end} < {index.extent} ? {end} : {index.extent})"
    return [f"const {kind} end = {end};"], first, "end"


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
