"""Functions that generated code calls one lane at a time: loops, and formulas too long to be written inline.

Each is the text of one `define internal`; a module holds those that it needs once. Numbers of a
table are looked up in a register, in each lane another one: one instruction of x86-64 since AVX2.
"""

from __future__ import annotations

from collections.abc import Iterable

from staticgraph.compiler.codegen.llvm.text import Site, constant, register_type, suffix, vector
from staticgraph.compiler.graph.dtypes import DType, float32, float64
from staticgraph.compiler.kernel.stmt import ALIGNMENT


def each_lane(site: Site, name: str, *operands: str) -> str:
    """Call the scalar function `name` for every lane, in a helper that is written once per module."""
    element, lanes, emitter = register_type(site.dtype), site.lanes, site.emitter
    if lanes == 1:
        return site.value(f"call {element} @{name}({', '.join(f'{element} {x}' for x in operands)})")
    helper = f"{name}.v{lanes}"
    parameters = ", ".join(f"{site.type} %x{k}" for k in range(len(operands)))
    body, result = [], "poison"
    for lane in range(lanes):
        for k in range(len(operands)):
            body.append(f"  %x{k}.{lane} = extractelement {site.type} %x{k}, i64 {lane}")
        arguments = ", ".join(f"{element} %x{k}.{lane}" for k in range(len(operands)))
        body.append(f"  %y.{lane} = call {element} @{name}({arguments})")
        body.append(f"  %z.{lane} = insertelement {site.type} {result}, {element} %y.{lane}, i64 {lane}")
        result = f"%z.{lane}"
    lines = "\n".join(body)
    head = f"define internal {site.type} @{helper}({parameters}) nounwind"
    emitter.need(f"{head} {{\n{lines}\n  ret {site.type} {result}\n}}\n")
    return site.value(f"call {site.type} @{helper}({', '.join(f'{site.type} {x}' for x in operands)})")


def each_lane_in_turn(site: Site, name: str, operand: str) -> str:
    """The same for a function that is rarely called: a loop over the lanes, which LLVM compiles sooner."""
    element, lanes = register_type(site.dtype), site.lanes
    if lanes == 1:
        return site.value(f"call {element} @{name}({element} {operand})")
    helper = f"{name}.v{lanes}"
    site.emitter.need(f"""define internal {site.type} @{helper}({site.type} %x) nounwind {{
entry:
  %lanes = alloca {site.type}, align {ALIGNMENT}
  store {site.type} %x, ptr %lanes, align {ALIGNMENT}
  br label %lane
lane:
  %n = phi i64 [ 0, %entry ], [ %next, %lane ]
  %place = getelementptr {element}, ptr %lanes, i64 %n
  %before = load {element}, ptr %place
  %after = call {element} @{name}({element} %before)
  store {element} %after, ptr %place
  %next = add nuw nsw i64 %n, 1
  %again = icmp ult i64 %next, {lanes}
  br i1 %again, label %lane, label %done
done:
  %all = load {site.type}, ptr %lanes, align {ALIGNMENT}
  ret {site.type} %all
}}
""")
    return site.value(f"call {site.type} @{helper}({site.type} {operand})")


def integer_power(site: Site, a: str, b: str) -> str:
    """Integers: squares and products. With a negative exponent only 1 and -1 have an integer power."""
    signed, t = site.dtype.kind == "int", register_type(site.dtype)
    name = f"integer_power.{'s' if signed else 'u'}{8 * site.dtype.size}"
    bounded = (
        f"""  %up = add {t} %a, 1
  %unit = icmp ule {t} %up, 2
  %unit2 = icmp ne {t} %a, 0
  %keep = and i1 %unit, %unit2
  %positive = icmp sge {t} %b, 0
  %valid = or i1 %positive, %keep
  %result = select i1 %valid, {t} %next, {t} 0
  ret {t} %result"""
        if signed
        else f"  ret {t} %next"
    )
    site.emitter.need(f"""define internal {t} @{name}({t} %a, {t} %b) nounwind {{
entry:
  br label %square
square:
  %power = phi {t} [ 1, %entry ], [ %next, %square ]
  %base = phi {t} [ %a, %entry ], [ %squared, %square ]
  %left = phi {t} [ %b, %entry ], [ %halved, %square ]
  %odd = trunc {t} %left to i1
  %product = mul {t} %power, %base
  %next = select i1 %odd, {t} %product, {t} %power
  %squared = mul {t} %base, %base
  %halved = lshr {t} %left, 1
  %more = icmp ne {t} %halved, 0
  br i1 %more, label %square, label %done
done:
{bounded}
}}
""")
    return each_lane(site, name, a, b)


def float_remainder(site: Site, a: str, b: str) -> str:
    """Floats: what is left of |a| after the greatest whole multiple of |b|, with the sign of a; exact.

    The mantissas are divided as integers of 64 bits, as many bits of the quotient at a time as there is room
    for beside a mantissa.
    """
    t = register_type(site.dtype)
    name = f"remainder.{suffix(t)}"
    i = "i64" if site.dtype is float64 else "i32"
    for intrinsic, kind, arity in (("fabs", t, 1), ("copysign", t, 2), ("umin", i, 2), ("umax", i, 2)):
        site.emitter.need(f"declare {kind} @llvm.{intrinsic}.{suffix(kind)}({', '.join([kind] * arity)})")
    site.emitter.need(_remainder(name, t, site.dtype))
    return each_lane(site, name, a, b)


def _remainder(name: str, t: str, dtype: DType) -> str:
    i, mantissa, bias = _FORMATS[float64 if dtype is float64 else float32]  # as those of 16 bits are computed
    step = 63 - mantissa  # bits of the quotient at a time
    infinite = (2 * bias + 1) << mantissa
    return f"""define internal {t} @{name}({t} %a, {t} %b) nounwind {{
entry:
  %a.size = call {t} @llvm.fabs.{suffix(t)}({t} %a)
  %b.size = call {t} @llvm.fabs.{suffix(t)}({t} %b)
  %a.bits = bitcast {t} %a.size to {i}
  %b.bits = bitcast {t} %b.size to {i}
  %no.a = icmp uge {i} %a.bits, {infinite}
  %no.b = icmp ugt {i} %b.bits, {infinite}
  %zero = icmp eq {i} %b.bits, 0
  %no = or i1 %no.a, %no.b
  %undefined = or i1 %no, %zero
  br i1 %undefined, label %nan, label %defined
nan:
  ret {t} 0x7FF8000000000000
defined:
  %below = icmp ult {i} %a.bits, %b.bits
  br i1 %below, label %same, label %divide
same:
  ret {t} %a
divide:
{_parts("a", i, mantissa)}
{_parts("b", i, mantissa)}
  %distance = sub {i} %a.exponent, %b.exponent
  %first = urem i64 %a.mantissa, %b.mantissa
  br label %head
head:
  %rest = phi i64 [ %first, %divide ], [ %next, %loop ]
  %left = phi {i} [ %distance, %divide ], [ %remaining, %loop ]
  %more = icmp ne {i} %left, 0
  br i1 %more, label %loop, label %done
loop:
  %now = call {i} @llvm.umin.{i}({i} %left, {i} {step})
  %remaining = sub {i} %left, %now
  %by = {_widened("%now", i)}
  %moved = shl i64 %rest, %by
  %next = urem i64 %moved, %b.mantissa
  br label %head
done:
  %whole = uitofp i64 %rest to {t}
  %small = fmul {t} %whole, {constant(2.0**-mantissa, dtype)}
  %scale.bits = shl {i} %b.exponent, {mantissa}
  %scale = bitcast {i} %scale.bits to {t}
  %size = fmul {t} %small, %scale
  %result = call {t} @llvm.copysign.{suffix(t)}({t} %size, {t} %a)
  ret {t} %result
}}
"""


_FORMATS = {float32: ("i32", 23, 127), float64: ("i64", 52, 1023)}  # integer, bits of the mantissa, bias


def _parts(x: str, i: str, mantissa: int) -> str:
    """The exponent of `x`, at least 1 as of a denormal number, and the mantissa with its leading bit."""
    unit = 1 << mantissa
    return f"""  %{x}.raw = lshr {i} %{x}.bits, {mantissa}
  %{x}.exponent = call {i} @llvm.umax.{i}({i} %{x}.raw, {i} 1)
  %{x}.stored = and {i} %{x}.bits, {unit - 1}
  %{x}.normal = icmp ne {i} %{x}.raw, 0
  %{x}.lead = select i1 %{x}.normal, {i} {unit}, {i} 0
  %{x}.narrow = or {i} %{x}.stored, %{x}.lead
  %{x}.mantissa = {_widened(f"%{x}.narrow", i)}"""


def _widened(x: str, i: str) -> str:
    """An instruction that makes 64 bits of an unsigned integer."""
    return f"add i64 0, {x}" if i == "i64" else f"zext i32 {x} to i64"


_INSTRUCTION = {8: "llvm.x86.avx2.permps", 16: "llvm.x86.avx512.permvar.sf.512"}  # by the numbers of a table


def look_up(site: Site, table: tuple[float, ...], index: str) -> str:
    """The numbers of `table` at the positions that the low bits of `index` are, in all lanes."""
    width, lanes = len(table), site.lanes
    numbers = ", ".join(f"float {constant(x, site.dtype)}" for x in table)

    def found(positions: str) -> str:
        kind = vector("float", width)
        operands = (kind, f"<{numbers}>"), (vector("i32", width), positions)
        return site.emitter.call(kind, _INSTRUCTION[width], *operands)

    if lanes == 1:
        first = site.value(f"insertelement {vector('i32', width)} poison, i32 {index}, i64 0")
        return site.value(f"extractelement {vector('float', width)} {found(first)}, i64 0")
    if lanes < width:
        wide = found(_shuffled(site, "i32", lanes, index, "poison", [*range(lanes), *[0] * (width - lanes)]))
        return _shuffled(site, "float", width, wide, "poison", range(lanes))
    parts = [index]
    while lanes > width:
        lanes //= 2
        halves = range(lanes), range(lanes, 2 * lanes)
        parts = [_shuffled(site, "i32", 2 * lanes, part, "poison", half) for part in parts for half in halves]
    parts = [found(part) for part in parts]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [_shuffled(site, "float", lanes, a, b, range(2 * lanes)) for a, b in pairs]
        lanes *= 2
    return parts[0]


def _shuffled(site: Site, element: str, lanes: int, a: str, b: str, order: Iterable[int]) -> str:
    """These lanes of two vectors."""
    return site.emitter.shuffle(vector(element, lanes), order, a, b)
