"""The floating types as the formulas see them, and the few steps that all of them are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from staticgraph.compiler.graph.dtypes import DType, float32, float64, int32, int64
from staticgraph.compiler.kernel.expr import Const, Expr
from staticgraph.compiler.kernel.primitives import instructions
from staticgraph.compiler.kernel.primitives.instructions import bitcast
from staticgraph.compiler.support.dataclass import dataclass

Table = Mapping[DType, Sequence[float]]  # the coefficients of a polynomial, lowest first, for each dtype


@dataclass(frozen=True, slots=True)
class Width:
    """Properties of a floating type that formulas need."""

    dtype: DType
    bits: DType  # the integers of the same size
    mantissa: int  # number of stored bits of it
    bias: int  # of the exponent

    @property
    def rounder(self) -> float:
        """x + rounder - rounder is x to the nearest integer; the sum holds it in its low bits."""
        return 1.5 * 2.0**self.mantissa

    @property
    def least(self) -> float:
        """The smallest normal number."""
        return 2.0 ** (1 - self.bias)

    def const(self, value: float) -> Const:
        """A number of the type."""
        return Const(value, self.dtype)

    def integer(self, value: int) -> Const:
        """An integer of the same size."""
        return Const(value, self.bits)

    def bits_of(self, x: Expr | float) -> Expr:
        """The bits of `x` as an integer."""
        return bitcast(x if isinstance(x, Expr) else self.const(x), self.bits)

    def of_bits(self, bits: Expr) -> Expr:
        """The number that has these bits."""
        return bitcast(bits, self.dtype)

    def exponent(self, bits: Expr) -> Expr:
        """`bits` moved into the place of the exponent; what does not fit is lost."""
        return bits << self.integer(self.mantissa)

    def is_negative(self, x: Expr) -> Expr:
        """Return the condition that the sign bit of `x` is set: -0.0 is negative."""
        return self.bits_of(x) < 0


SINGLE = Width(float32, int32, 23, 127)
DOUBLE = Width(float64, int64, 52, 1023)
WIDTHS = {float32: SINGLE, float64: DOUBLE}


def polynomial(x: Expr, coefficients: Sequence[float] | Table) -> Expr:
    """c[0] + c[1]*x + c[2]*x**2 + ..., by Horner's rule."""
    if isinstance(coefficients, Mapping):
        coefficients = coefficients[x.dtype]
    total: Expr = Const(coefficients[-1], x.dtype)
    for coefficient in coefficients[-2::-1]:
        total = instructions.fma(total, x, coefficient)
    return total


def at_least(x: Expr, low: float) -> Expr:
    """The greater of `x` and `low`; NaN stays NaN."""
    return instructions.select(x < low, Const(low, x.dtype), x)


def at_most(x: Expr, high: float) -> Expr:
    """The lesser of `x` and `high`; NaN stays NaN."""
    return instructions.select(x > high, Const(high, x.dtype), x)


def is_nan(x: Expr) -> Expr:
    """Return the condition that `x` is NaN."""
    return instructions.ne(x, x)


def two_sum(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """The rounded sum and what the rounding lost, for |a| >= |b| or a = 0 (Dekker 1971)."""
    total = a + b
    return total, b - (total - a)


def product(a: Expr, b: Expr) -> Expr:
    """The rounded product. Unlike that of `a * b`, its rounding is not skipped where a sum follows."""
    return instructions.fma(a, b, -0.0)


def two_product(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """The rounded product and what the rounding lost."""
    rounded = product(a, b)
    return rounded, instructions.fma(a, b, -rounded)
