"""The scalar primitives in LLVM: instructions that compute them, on single values and vectors alike.

The record of a primitive has the instruction, comparison or intrinsic that does it. `SEQUENCES` has those
that take several. A sequence gets a `Site` (where the code goes, of what dtype and how wide) and the names of
its operands, and returns the name of its result.

float16 and bfloat16 are computed in float32; each result is rounded to the precision of the type, as NumPy
does.
"""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.codegen.llvm.convert import bitcast, cast, round_half
from staticgraph.compiler.codegen.llvm.functions import float_remainder, integer_power
from staticgraph.compiler.codegen.llvm.site import Site
from staticgraph.compiler.codegen.llvm.text import register_type, suffix
from staticgraph.compiler.graph.dtypes import DType, bool_, float16
from staticgraph.compiler.kernel.primitives.functions import PRIMITIVES

Sequence = Callable[..., str]
_CONVERSIONS: dict[str, Callable[[Site, str, DType], str]] = {"cast": cast, "bitcast": bitcast}


def apply(site: Site, op: str, *operands: str) -> str:
    """The primitive `op` of operands that all have the dtype and the width of the site.

    The condition of a `select` is a truth value instead.
    """
    result = unrounded(site, op, *operands)
    return round_half(site, result) if site.is_half and not PRIMITIVES[op].exact else result


def unrounded(site: Site, op: str, *operands: str) -> str:
    """The primitive `op`, of float16 and bfloat16 in the precision of float32."""
    text = PRIMITIVES[op].llvm.of(site.dtype)
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
    safe, zero, minus = _guarded(site, b)
    if site.dtype.is_unsigned:
        quotient, remainder = site.op("udiv", a, safe), site.op("urem", a, safe)
        remainder = site.select(zero, site.const(0), remainder)
    else:
        quotient, remainder = site.op("sdiv", a, safe), site.op("srem", a, safe)
        quotient = site.select(minus, site.op("sub", site.const(0), a), quotient)
    return site.select(zero, site.const(0), quotient), remainder


def _quotient(site: Site, a: str, b: str) -> str:
    """NumPy rounds it to float16 before it goes on, but carries bfloat16 in float32."""
    quotient = site.op("fdiv", a, b)
    return round_half(site, quotient) if site.dtype is float16 else quotient


def _truncdiv(site: Site, a: str, b: str) -> str:
    if site.dtype.is_floating:
        return site.intrinsic("trunc", _quotient(site, a, b))
    return _truncated(site, a, b)[0]


def _truncmod(site: Site, a: str, b: str) -> str:
    if site.dtype.is_floating:
        return float_remainder(site, a, b)
    return _truncated(site, a, b)[1]


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
        remainder = float_remainder(site, a, b)
        below = site.compare("olt", remainder, site.const(0))
        opposite = site.of(bool_).op("xor", below, site.compare("olt", b, site.const(0)))
        shifted = site.select(opposite, apply(site, "add", remainder, b), remainder)
        zero = site.compare("oeq", remainder, site.const(0))
        return site.select(zero, site.intrinsic("copysign", site.const(0), b), shifted)
    remainder = _truncated(site, a, b)[1]
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
    "pow": integer_power,
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
