"""The scalar primitives in LLVM: what instructions compute
each of them, on single values or on vectors alike.

`TABLE` has a row for every primitive of `kernel/scalar.py`. A row gets a `Site` (where the code goes, of what
dtype and how wide) and the names of its operands, and returns the name of its result. Conversions also get a
dtype to convert to.

float16 and bfloat16 are computed in float32; each result is
rounded to the precision of the type, as NumPy does.
"""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.codegen.llvm.convert import bitcast, cast, round_half
from staticgraph.compiler.codegen.llvm.functions import float_remainder, integer_power
from staticgraph.compiler.codegen.llvm.site import Site
from staticgraph.compiler.codegen.llvm.text import register_type, suffix
from staticgraph.compiler.graph.dtypes import DType, bool_, float16

Row = Callable[..., str]


def apply(site: Site, op: str, *operands: str) -> str:
    """The primitive `op` of operands that all have the dtype and the width of the site.

    The condition of a `select` is a truth value instead.
    """
    result = TABLE[op](site, *operands)
    return round_half(site, result) if site.is_half and op not in _EXACT else result


def convert(site: Site, op: str, operand: str, to: DType) -> str:
    """`cast` or `bitcast` of an operand of the site's dtype."""
    return TABLE[op](site, operand, to)


# Arithmetic. Adding truth values is `or`, multiplying them is `and`, as in NumPy.


def _by_kind(floating: str, integer: str, boolean: str = "") -> Row:
    def row(site: Site, a: str, b: str) -> str:
        kind = floating if site.dtype.is_floating else boolean if site.dtype.is_bool else integer
        if not kind:
            raise TypeError(f"there is no such operation on {site.dtype.name}")
        return site.op(kind, a, b)

    return row


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


def _pow(site: Site, a: str, b: str) -> str:
    return _approximated(site) if site.dtype.is_floating else integer_power(site, a, b)


def _extremum(predicate: str, name: str, boolean: str) -> Row:
    """NaN if either operand is. The first select alone would return `b` whenever one of them is NaN."""

    def row(site: Site, a: str, b: str) -> str:
        if site.dtype.is_bool:
            return site.op(boolean, a, b)
        if site.dtype.is_integer:
            return site.intrinsic(f"{'u' if site.dtype.is_unsigned else 's'}{name}", a, b)
        chosen = site.select(site.compare(predicate, a, b), a, b)
        return site.select(site.compare("uno", a, a), a, chosen)

    return row


def _fma(site: Site, a: str, b: str, c: str) -> str:
    """Fused, always: the approximations of functions count on the exact product."""
    if site.dtype.is_floating:
        return site.intrinsic("fma", a, b, c)
    return apply(site, "add", apply(site, "mul", a, b), c)


def _neg(site: Site, a: str) -> str:
    if site.dtype.is_floating:
        return site.value(f"fneg {site.type} {a}")
    return site.op("sub", site.const(0), a)


def _abs(site: Site, a: str) -> str:
    if site.dtype.is_floating:
        return site.intrinsic("fabs", a)
    if site.dtype.is_unsigned or site.dtype.is_bool:
        return a
    name = f"llvm.abs.{suffix(register_type(site.dtype), site.lanes)}"
    return site.emitter.call(site.type, name, (site.type, a), ("i1", "false"))


def _rounding(name: str) -> Row:
    return lambda site, a: site.intrinsic(name, a) if site.dtype.is_floating else a


def _approximated(site: Site, *operands: str) -> str:
    """No processor has this function; `kernel/approximate` replaces it for every floating dtype."""
    raise TypeError(f"no machine function for {site.dtype.name}: it is approximated before it is printed")


# Bits and truth values.


def _shift(signed: str, unsigned: str) -> Row:
    """Amounts are clamped into 0..width-1: beyond, LLVM's result would be poison."""

    def row(site: Site, a: str, b: str) -> str:
        last = site.const(8 * site.dtype.size - 1)
        if site.dtype.is_unsigned:
            return site.op(unsigned, a, site.intrinsic("umin", b, last))
        return site.op(signed, a, site.intrinsic("smin", site.intrinsic("smax", b, site.const(0)), last))

    return row


def _invert(site: Site, a: str) -> str:
    return site.op("xor", a, site.const(True if site.dtype.is_bool else -1))


def _comparison(floating: str, signed: str, unsigned: str) -> Row:
    def row(site: Site, a: str, b: str) -> str:
        predicate = floating if site.dtype.is_floating else signed if site.dtype.kind == "int" else unsigned
        return site.compare(predicate, a, b)

    return row


_FUNCTIONS = (
    "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "lgamma", "digamma",
)  # fmt: skip
_EXACT = frozenset({
    "minimum", "maximum", "neg", "abs", "copysign", "floor", "ceil", "rint", "floormod", "truncmod",
    "eq", "ne", "lt", "le", "gt", "ge", "select",
})  # fmt: skip

TABLE: dict[str, Row] = {
    "add": _by_kind("fadd", "add", "or"),
    "sub": _by_kind("fsub", "sub"),
    "mul": _by_kind("fmul", "mul", "and"),
    "div": _by_kind("fdiv", ""),
    "floordiv": _floordiv,
    "floormod": _floormod,
    "truncdiv": _truncdiv,
    "truncmod": _truncmod,
    "pow": _pow,
    "minimum": _extremum("olt", "min", "and"),
    "maximum": _extremum("ogt", "max", "or"),
    "fma": _fma,
    "neg": _neg,
    "abs": _abs,
    "copysign": lambda site, a, b: site.intrinsic("copysign", a, b),
    "sqrt": lambda site, a: site.intrinsic("sqrt", a),
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "rint": _rounding("rint"),
    "and": lambda site, a, b: site.op("and", a, b),
    "or": lambda site, a, b: site.op("or", a, b),
    "xor": lambda site, a, b: site.op("xor", a, b),
    "invert": _invert,
    "shl": _shift("shl", "shl"),
    "shr": _shift("ashr", "lshr"),
    "eq": _comparison("oeq", "eq", "eq"),
    "ne": _comparison("une", "ne", "ne"),
    "lt": _comparison("olt", "slt", "ult"),
    "le": _comparison("ole", "sle", "ule"),
    "gt": _comparison("ogt", "sgt", "ugt"),
    "ge": _comparison("oge", "sge", "uge"),
    "select": lambda site, condition, a, b: site.select(condition, a, b),
    "cast": cast,
    "bitcast": bitcast,
    **dict.fromkeys(_FUNCTIONS, _approximated),
}
