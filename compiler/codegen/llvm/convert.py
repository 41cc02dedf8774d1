"""Conversions in LLVM: casts, bit casts, and between the form of a value in memory and in registers.

In memory bool is a byte, and float16 and bfloat16 have 16 bits; in registers bool is i1 and they are float32
values that fit their precision.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.llvm.site import Site
from staticgraph.compiler.codegen.llvm.text import memory_type, register_type, splat, suffix, vector
from staticgraph.compiler.graph.dtypes import DType, bfloat16, bool_, float16, float32, float64


def widen(site: Site, stored: str) -> str:
    """The register form of a value in its memory form."""
    dtype = site.dtype
    if dtype is not float16 and dtype is not bfloat16 and dtype is not bool_:
        return stored
    memory = memory_type(site.dtype, site.lanes)
    if site.dtype is float16:
        return site.value(f"fpext {memory} {stored} to {site.type}")
    if site.dtype is bfloat16:
        integers = vector("i32", site.lanes)
        wide = site.value(f"zext {memory} {stored} to {integers}")
        high = site.value(f"shl {integers} {wide}, {splat('i32', '16', site.lanes)}")
        return site.value(f"bitcast {integers} {high} to {site.type}")
    return site.value(f"icmp ne {memory} {stored}, {splat('i8', '0', site.lanes)}")


def narrow(site: Site, value: str) -> str:
    """The memory form of a value in its register form."""
    dtype = site.dtype
    if dtype is not float16 and dtype is not bfloat16 and dtype is not bool_:
        return value
    memory = memory_type(site.dtype, site.lanes)
    if site.dtype is float16:
        return site.value(f"fptrunc {site.type} {value} to {memory}")
    if site.dtype is bfloat16:
        integers = vector("i32", site.lanes)
        high = site.value(f"lshr {integers} {_bits(site, value)}, {splat('i32', '16', site.lanes)}")
        return site.value(f"trunc {integers} {high} to {memory}")
    return site.value(f"zext {site.type} {value} to {memory}")


def round_half(site: Site, value: str) -> str:
    """A float32 value rounded to the precision of float16 or bfloat16."""
    if site.dtype is float16:
        half = vector("half", site.lanes)
        return site.value(
            f"fpext {half} {site.value(f'fptrunc {site.type} {value} to {half}')} to {site.type}"
        )
    bits, integers = _bits(site, value), vector("i32", site.lanes)

    def op(name: str, a: str, b: str) -> str:
        return site.value(f"{name} {integers} {a}, {b}")

    def const(number: int) -> str:
        return splat("i32", str(number), site.lanes)

    even = op("and", op("lshr", bits, const(16)), const(1))  # to nearest, ties to even
    rounded = op("and", op("add", op("add", bits, const(0x7FFF)), even), const(-0x10000))
    result = site.value(f"bitcast {integers} {rounded} to {site.type}")
    return site.select(site.compare("uno", value, value), site.const(float("nan")), result)


def _bits(site: Site, value: str) -> str:
    """The bits of a float register as an integer of the same width."""
    width = 64 if site.dtype is float64 else 32
    return site.value(f"bitcast {site.type} {value} to {vector(f'i{width}', site.lanes)}")


def _float_to_half(site: Site, value: str) -> str:
    """A float64 as the float32 that rounds to the same float16:
    to odd, so that the second rounding sees the first.
    """
    single = site.of(float32)
    integers = vector("i32", site.lanes)
    nearest = site.value(f"fptrunc {site.type} {value} to {single.type}")
    back = site.value(f"fpext {single.type} {nearest} to {site.type}")
    bits = _bits(single, nearest)
    away = site.compare("ogt", site.intrinsic("fabs", value), site.intrinsic("fabs", back))
    one, minus, zero = (splat("i32", n, site.lanes) for n in ("1", "-1", "0"))
    step = site.value(f"select {site.mask_type} {away}, {integers} {one}, {integers} {minus}")
    odd = site.value(f"and {integers} {bits}, {one}")
    even = site.value(f"icmp eq {integers} {odd}, {zero}")
    move = site.of(bool_).op("and", even, site.compare("one", value, back))
    by = site.value(f"select {site.mask_type} {move}, {integers} {step}, {integers} {zero}")
    moved = site.value(f"add {integers} {bits}, {by}")
    return site.value(f"bitcast {integers} {moved} to {single.type}")


def cast(site: Site, value: str, to: DType) -> str:
    """Floating to integer goes towards zero and saturates; NaN becomes 0. Nothing is ever poison."""
    source, result = site.dtype, site.of(to)
    if source is to:
        return value
    if to.is_bool:
        return site.compare("une" if source.is_floating else "ne", value, site.const(0))
    if to.is_floating:
        if source.is_floating:
            if result.is_half and source is float64:
                wide = _float_to_half(site, value) if to is float16 else cast(site, value, float32)
                return round_half(result, wide)
            if site.type != result.type:
                instruction = "fpext" if to is float64 else "fptrunc"
                value = site.value(f"{instruction} {site.type} {value} to {result.type}")
        else:
            instruction = "sitofp" if source.kind == "int" else "uitofp"
            value = site.value(f"{instruction} {site.type} {value} to {result.type}")
        return round_half(result, value) if result.is_half else value
    if source.is_floating:
        kind = "fptosi" if to.kind == "int" else "fptoui"
        ends = f"{suffix(register_type(to), site.lanes)}.{suffix(register_type(source), site.lanes)}"
        return site.emitter.call(result.type, f"llvm.{kind}.sat.{ends}", (site.type, value))
    if source.is_bool or to.size > source.size:
        instruction = "sext" if source.kind == "int" else "zext"
    elif to.size < source.size:
        instruction = "trunc"
    else:
        return value
    return site.value(f"{instruction} {site.type} {value} to {result.type}")


def bitcast(site: Site, value: str, to: DType) -> str:
    """The bits of a value in memory, read as another dtype of the same size."""
    if site.dtype is to:
        return value
    result = site.of(to)
    before, after = memory_type(site.dtype, site.lanes), memory_type(to, site.lanes)
    stored = narrow(site, value)
    if before != after:
        stored = site.value(f"bitcast {before} {stored} to {after}")
    return widen(result, stored)
