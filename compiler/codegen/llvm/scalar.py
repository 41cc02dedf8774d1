"""The scalar primitives in LLVM: instructions that compute or convert, on single values and vectors alike.

The record of a primitive has the instruction, comparison or intrinsic that does it. `SEQUENCES` has those
that take several. A sequence gets a `Site` (where the code goes, of what dtype and how wide) and the names of
its operands, and returns the name of its result.

float16 and bfloat16 are computed in float32; each result is rounded to the precision of the type, as NumPy
does.
"""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.codegen.llvm.text import Site, memory_type, register_type, splat, suffix, vector
from staticgraph.compiler.graph.dtypes import DType, bfloat16, bool_, float16, float32, float64
from staticgraph.compiler.kernel.expr import Const, Expr
from staticgraph.compiler.kernel.scalar import primitive_of


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
        return _saturated(site, value, to)
    if source.is_bool or to.size > source.size:
        instruction = "sext" if source.kind == "int" else "zext"
    elif to.size < source.size:
        instruction = "trunc"
    else:
        return value
    return site.value(f"{instruction} {site.type} {value} to {result.type}")


def _saturated(site: Site, value: str, to: DType) -> str:
    """A floating value as an integer: towards zero, or the nearest there is; NaN becomes 0.

    LLVM has an intrinsic for it, but x86 then does one lane after the other. So vectors are clamped first.
    """
    result = site.of(to)
    kind = "fptosi" if to.kind == "int" else "fptoui"
    if site.lanes == 1:
        ends = f"{suffix(register_type(to), 1)}.{suffix(register_type(site.dtype), 1)}"
        return site.emitter.call(result.type, f"llvm.{kind}.sat.{ends}", (site.type, value))
    wide = site.of(float64 if site.dtype is float64 else float32)  # as the registers of halves are
    digits = 53 if wide.dtype is float64 else 24
    least, greatest = int(to.min), int(to.max)
    top = greatest & ~(2 ** max(greatest.bit_length() - digits, 0) - 1)  # the last that is a floating number
    low, high = wide.const(least), wide.const(top)
    clamped = wide.select(wide.compare("ogt", value, low), value, low)  # NaN becomes the least
    clamped = wide.select(wide.compare("olt", clamped, high), clamped, high)
    number = site.value(f"{kind} {wide.type} {clamped} to {result.type}")
    if top != greatest:
        number = result.select(wide.compare("ogt", value, high), result.const(greatest), number)
    return result.select(wide.compare("uno", value, value), result.const(0), number) if least else number


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


Sequence = Callable[..., str]
_CONVERSIONS: dict[str, Callable[[Site, str, DType], str]] = {"cast": cast, "bitcast": bitcast}


def apply(site: Site, op: str, *operands: str) -> str:
    """The primitive `op` of operands that all have the dtype and the width of the site.

    The condition of a `select` is a truth value instead.
    """
    result = unrounded(site, op, *operands)
    return round_half(site, result) if site.is_half and not primitive_of(op).exact else result


def unrounded(site: Site, op: str, *operands: str) -> str:
    """The primitive `op`, of float16 and bfloat16 in the precision of float32."""
    text = primitive_of(op).llvm.of(site.dtype)
    if text is None:
        if op in SEQUENCES:
            return SEQUENCES[op](site, *operands)
        raise TypeError(f"there is no such operation on {site.dtype.name}: {op}")
    if text.startswith("llvm."):
        return site.intrinsic(text.removeprefix("llvm."), *operands)
    match text.split(), operands:
        case [_, predicate], (a, b):
            return site.compare(predicate, a, b)
        case [instruction], (a, b):
            return site.op(instruction, a, b)
        case ["{0}"], (a,):
            return a
        case [instruction], (a,):
            return site.value(f"{instruction} {site.type} {a}")
    raise TypeError(f"{text!r} does not take {len(operands)} operands")


def convert(site: Site, op: str, operand: str, to: DType) -> str:
    """`cast` or `bitcast` of an operand of the site's dtype."""
    return _CONVERSIONS[op](site, operand, to)


def divide_by_constant(site: Site, op: str, a: str, divisor: Expr) -> str:
    """A quotient or a remainder of integers by a positive constant: such a division cannot trap."""
    assert isinstance(divisor, Const)
    number = int(divisor.value)
    b, signed = site.const(number), not site.dtype.is_unsigned
    if op.startswith("floor") and not number & (number - 1):  # a power of two
        if op == "floormod":
            return site.op("and", a, site.const(number - 1))
        return site.op("ashr" if signed else "lshr", a, site.const(number.bit_length() - 1))
    kind = "s" if signed else "u"
    if not signed or op.startswith("trunc"):
        return site.op(f"{kind}{op[5:].replace('mod', 'rem')}", a, b)
    remainder = site.op("srem", a, b)
    is_below = site.compare("slt", remainder, site.const(0))
    if op == "floormod":
        return site.select(is_below, site.op("add", remainder, b), remainder)
    quotient = site.op("sdiv", a, b)
    return site.select(is_below, site.op("sub", quotient, site.const(1)), quotient)


def _guarded(site: Site, b: str) -> tuple[str, str, str]:
    """A divisor that can trap neither as 0 nor as -1 (of the least integer), and where it was 0 and -1."""
    zero = site.compare("eq", b, site.const(0))
    if site.dtype.is_unsigned:
        return site.select(zero, site.const(1), b), zero, ""
    minus = site.compare("eq", b, site.const(-1))
    either = site.of(bool_).op("or", zero, minus)
    return site.select(either, site.const(1), b), zero, minus


def _truncated(site: Site, a: str, b: str) -> tuple[str, str]:
    """Quotient and remainder of integers towards zero; both 0 for a zero divisor."""
    guarded = _guarded(site, b)
    return _truncated_quotient(site, a, *guarded), _truncated_remainder(site, a, *guarded)


def _truncated_quotient(site: Site, a: str, safe: str, zero: str, minus: str) -> str:
    if site.dtype.is_unsigned:
        quotient = site.op("udiv", a, safe)
    else:
        quotient = site.op("sdiv", a, safe)
        quotient = site.select(minus, site.op("sub", site.const(0), a), quotient)
    return site.select(zero, site.const(0), quotient)


def _truncated_remainder(site: Site, a: str, safe: str, zero: str, minus: str) -> str:
    if site.dtype.is_unsigned:
        return site.select(zero, site.const(0), site.op("urem", a, safe))
    return site.op("srem", a, safe)


def _quotient(site: Site, a: str, b: str) -> str:
    """NumPy rounds it to float16 before it goes on, but carries bfloat16 in float32."""
    quotient = site.op("fdiv", a, b)
    return round_half(site, quotient) if site.dtype is float16 else quotient


def _float_remainder(site: Site, a: str, b: str) -> str:
    from staticgraph.compiler.codegen.llvm.functions import float_remainder  # few kernels have functions

    return float_remainder(site, a, b)


def _integer_power(site: Site, a: str, b: str) -> str:
    from staticgraph.compiler.codegen.llvm.functions import integer_power

    return integer_power(site, a, b)


def _truncdiv(site: Site, a: str, b: str) -> str:
    if site.dtype.is_floating:
        return site.intrinsic("trunc", _quotient(site, a, b))
    return _truncated_quotient(site, a, *_guarded(site, b))


def _truncmod(site: Site, a: str, b: str) -> str:
    if site.dtype.is_floating:
        return _float_remainder(site, a, b)
    return _truncated_remainder(site, a, *_guarded(site, b))


def _rounds_down(site: Site, remainder: str, b: str) -> str:
    """Return the condition that the truncated quotient is one above the floor.

    That is so if the remainder is not 0 and its sign differs from that of the divisor.
    """
    opposite = site.compare("slt", site.op("xor", remainder, b), site.const(0))
    return site.of(bool_).op("and", opposite, site.compare("ne", remainder, site.const(0)))


def _floordiv(site: Site, a: str, b: str) -> str:
    if site.dtype.is_floating:
        return site.intrinsic("floor", _quotient(site, a, b))
    quotient, remainder = _truncated(site, a, b)
    if site.dtype.is_unsigned:
        return quotient
    return site.select(_rounds_down(site, remainder, b), site.op("sub", quotient, site.const(1)), quotient)


def _floormod(site: Site, a: str, b: str) -> str:
    if site.dtype.is_floating:
        remainder = _float_remainder(site, a, b)
        below = site.compare("olt", remainder, site.const(0))
        opposite = site.of(bool_).op("xor", below, site.compare("olt", b, site.const(0)))
        shifted = site.select(opposite, apply(site, "add", remainder, b), remainder)
        zero = site.compare("oeq", remainder, site.const(0))
        return site.select(zero, site.intrinsic("copysign", site.const(0), b), shifted)
    remainder = _truncated_remainder(site, a, *_guarded(site, b))
    if site.dtype.is_unsigned:
        return remainder
    return site.select(_rounds_down(site, remainder, b), site.op("add", remainder, b), remainder)


def _extremum(predicate: str) -> Sequence:
    """NaN if either operand is. The first select alone would return `b` whenever one of them is NaN."""

    def sequence(site: Site, a: str, b: str) -> str:
        chosen = site.select(site.compare(predicate, a, b), a, b)
        return site.select(site.compare("uno", a, a), a, chosen)

    return sequence


def _fma(site: Site, a: str, b: str, c: str) -> str:
    return apply(site, "add", apply(site, "mul", a, b), c)


def _abs(site: Site, a: str) -> str:
    name = f"llvm.abs.{suffix(register_type(site.dtype), site.lanes)}"
    return site.emitter.call(site.type, name, (site.type, a), ("i1", "false"))


# Bits and truth values.


def _shift(signed: str, unsigned: str) -> Sequence:
    """Amounts are clamped into 0..width-1: beyond, LLVM's result would be poison."""

    def sequence(site: Site, a: str, b: str) -> str:
        last = site.const(8 * site.dtype.size - 1)
        if site.dtype.is_unsigned:
            return site.op(unsigned, a, site.intrinsic("umin", b, last))
        return site.op(signed, a, site.intrinsic("smin", site.intrinsic("smax", b, site.const(0)), last))

    return sequence


def _invert(site: Site, a: str) -> str:
    return site.op("xor", a, site.const(True if site.dtype.is_bool else -1))


SEQUENCES: dict[str, Sequence] = {
    "floordiv": _floordiv,
    "floormod": _floormod,
    "truncdiv": _truncdiv,
    "truncmod": _truncmod,
    "pow": _integer_power,
    "minimum": _extremum("olt"),
    "maximum": _extremum("ogt"),
    "fma": _fma,
    "neg": lambda site, a: site.op("sub", site.const(0), a),
    "abs": _abs,
    "invert": _invert,
    "shl": _shift("shl", "shl"),
    "shr": _shift("ashr", "lshr"),
    "select": lambda site, condition, a, b: site.select(condition, a, b),
}
