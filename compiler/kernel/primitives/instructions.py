"""Operations that processors have instructions for: arithmetic, comparisons, bits and conversions.

Beside them stand those between complex numbers and their parts, which `complex_numbers/split.py` removes.

They are also what formulas of functions are made of:

>>> from staticgraph.compiler.graph.dtypes import float32
>>> from staticgraph.compiler.kernel.primitives import instructions
>>> from staticgraph.compiler.kernel.expr import Local
>>> from staticgraph.compiler.kernel.printer import expression_text
>>> x = Local("x", float32)
>>> expression_text(instructions.fma(x, x, 1.0))
'fma(x, x, 1.0)'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, complex64, complex128, float32
from staticgraph.compiler.kernel import expr as _expr
from staticgraph.compiler.kernel.expr import Expr, Scalar
from staticgraph.compiler.kernel.primitives.primitive import (
    ANY,
    BITS,
    DIVISION,
    INTEGERS,
    NUMBERS,
    Primitive,
    Texts,
)


def _integers(of_integers: Callable[..., Any], of_floats: Callable[..., Any]) -> Callable[..., Any]:
    """Integer operands go one way, others another; a zero integer divisor gives 0 rather than a trap."""

    def divide(a: Any, b: Any) -> Any:
        a, b = np.asarray(a), np.asarray(b)
        if not np.issubdtype(np.result_type(a, b), np.integer):
            return of_floats(a, b)
        safe = np.where(b == 0, np.ones_like(b), b)
        return np.where(b == 0, np.zeros_like(a), of_integers(a, safe))

    return divide


def _truncated_quotient(a: Any, b: Any) -> Any:
    return np.floor_divide(a, b) + ((np.mod(a, b) != 0) & ((a < 0) != (b < 0))).astype(np.result_type(a, b))


def _shift(ufunc: Callable[..., Any]) -> Callable[..., Any]:
    """Shift amounts outside 0..width-1 are clamped into it, where C and NumPy leave them undefined."""

    def shift(a: Any, b: Any) -> Any:
        a, b = np.asarray(a), np.asarray(b)
        return ufunc(a, np.clip(b, 0, a.dtype.itemsize * 8 - 1).astype(b.dtype))

    return shift


def _same(text: str) -> Texts:
    """One text for operands of all kinds."""
    return Texts(text, text, text)


def _comparison(name: str, symbol: str, ufunc: Callable[..., Any], llvm: Texts) -> Primitive:
    cuda = _same(f"{{0}} {symbol} {{1}}")
    return Primitive(name, 2, ufunc, ANY, predicate=True, exact=True, llvm=llvm, cuda=cuda)


def _order(name: str, symbol: str, ufunc: Callable[..., Any]) -> Primitive:
    llvm = Texts(f"fcmp o{name}", f"icmp s{name}", f"icmp u{name}", unsigned=f"icmp u{name}")
    return _comparison(name, symbol, ufunc, llvm)


def _bitwise(name: str, symbol: str, ufunc: Callable[..., Any]) -> Primitive:
    llvm, cuda = Texts(None, name, name), Texts(None, f"{{0}} {symbol} {{1}}", f"{{0}} {symbol} {{1}}")
    return Primitive(name, 2, ufunc, BITS, exact=True, llvm=llvm, cuda=cuda)


def _rounding(name: str, ufunc: Callable[..., Any]) -> Primitive:
    llvm, cuda = Texts(f"llvm.{name}"), Texts(f"{name}{{f}}({{0}})")
    return Primitive(name, 1, ufunc, exact=True, llvm=llvm, cuda=cuda)


INSTRUCTIONS: dict[str, Primitive] = {
    p.name: p
    for p in (
        Primitive("add", 2, np.add, NUMBERS, llvm=Texts("fadd", "add"),
                  cuda=Texts("{0} + {1}", "wrap_add({0}, {1})")),
        Primitive("sub", 2, np.subtract, NUMBERS, llvm=Texts("fsub", "sub"),
                  cuda=Texts("{0} - {1}", "wrap_sub({0}, {1})")),
        Primitive("mul", 2, np.multiply, NUMBERS, llvm=Texts("fmul", "mul"),
                  cuda=Texts("{0} * {1}", "wrap_mul({0}, {1})")),
        Primitive("div", 2, np.true_divide, cost=DIVISION, llvm=Texts("fdiv"), cuda=Texts("{0} / {1}")),
        # NumPy rounds a quotient to float16 before it goes on, but carries bfloat16 in float32.
        Primitive("floordiv", 2, _integers(np.floor_divide, lambda a, b: np.floor(np.true_divide(a, b))),
                  NUMBERS, cost=DIVISION, cuda=Texts("floor{f}({0} / {1})", "floor_div({0}, {1})",
                                                     float16="floor{f}(rounded<{half}>({0} / {1}))")),
        Primitive("floormod", 2, _integers(np.mod, np.mod), NUMBERS, exact=True, cost=DIVISION,
                  cuda=Texts("floor_mod({0}, {1})", "floor_mod({0}, {1})",
                             half="rounded<{half}>(floor_mod({0}, {1}))")),
        Primitive("truncdiv", 2, _integers(_truncated_quotient, lambda a, b: np.trunc(np.true_divide(a, b))),
                  NUMBERS, cost=DIVISION, cuda=Texts("trunc{f}({0} / {1})", "trunc_div({0}, {1})",
                                                     float16="trunc{f}(rounded<{half}>({0} / {1}))")),
        Primitive("truncmod", 2, _integers(np.fmod, np.fmod), NUMBERS, exact=True, cost=DIVISION,
                  cuda=Texts("fmod{f}({0}, {1})", "trunc_mod({0}, {1})")),
        # NaN if either is NaN
        Primitive("minimum", 2, np.minimum, ANY, exact=True,
                  llvm=Texts(None, "llvm.smin", "and", unsigned="llvm.umin"),
                  cuda=_same("minimum({0}, {1})")),
        Primitive("maximum", 2, np.maximum, ANY, exact=True,
                  llvm=Texts(None, "llvm.smax", "or", unsigned="llvm.umax"), cuda=_same("maximum({0}, {1})")),
        # fused, always: formulas count on the exact product
        Primitive("fma", 3, lambda a, b, c: a * b + c, NUMBERS, llvm=Texts("llvm.fma"),
                  cuda=Texts("fma{f}({0}, {1}, {2})", "wrap_add(wrap_mul({0}, {1}), {2})")),
        Primitive("neg", 1, np.negative, NUMBERS, exact=True, llvm=Texts("fneg"),
                  cuda=Texts("-{0}", "wrap_neg({0})")),
        Primitive("abs", 1, np.abs, NUMBERS, exact=True, llvm=Texts("llvm.fabs", unsigned="{0}"),
                  cuda=Texts("fabs{f}({0})", "wrap_abs({0})", unsigned="{0}")),
        Primitive("copysign", 2, np.copysign, exact=True, flops=0, llvm=Texts("llvm.copysign"),
                  cuda=Texts("copysign{f}({0}, {1})")),
        Primitive("sqrt", 1, np.sqrt, cost=DIVISION, llvm=Texts("llvm.sqrt"), cuda=Texts("sqrt{f}({0})")),
        _rounding("floor", np.floor),
        _rounding("ceil", np.ceil),
        _rounding("rint", np.rint),  # ties to even
        _bitwise("and", "&", np.bitwise_and),  # bits of integers, or truth values
        _bitwise("or", "|", np.bitwise_or),
        _bitwise("xor", "^", np.bitwise_xor),
        Primitive("invert", 1, np.invert, BITS, exact=True, cuda=Texts(None, "~{0}", "!{0}")),
        Primitive("shl", 2, _shift(np.left_shift), INTEGERS, exact=True,
                  cuda=Texts(None, "shift_left({0}, {1})")),
        Primitive("shr", 2, _shift(np.right_shift), INTEGERS, exact=True,  # arithmetic for signed integers
                  cuda=Texts(None, "shift_right({0}, {1})")),
        _comparison("eq", "==", np.equal, Texts("fcmp oeq", "icmp eq", "icmp eq")),
        _comparison("ne", "!=", np.not_equal, Texts("fcmp une", "icmp ne", "icmp ne")),
        _order("lt", "<", np.less),
        _order("le", "<=", np.less_equal),
        _order("gt", ">", np.greater),
        _order("ge", ">=", np.greater_equal),
        # condition, value if true, value if false
        Primitive("select", 3, np.where, ANY, exact=True, flops=0, cuda=_same("{0} ? {1} : {2}")),
    )
}


def combined(real: Any, imag: Any) -> np.ndarray:
    """The complex numbers of these parts, which broadcast."""
    parts = np.broadcast_arrays(real, imag)
    made = np.empty(parts[0].shape, np.result_type(real, np.complex64))
    made.real, made.imag = parts
    return made


def _of_parts(part: DType) -> DType:
    return complex64 if part is float32 else complex128


_TAKES = frozenset({"complex"})
PARTS: dict[str, Primitive] = {
    p.name: p
    for p in (
        Primitive("complex", 2, combined, _TAKES, exact=True, flops=0, result=_of_parts),
        Primitive("real", 1, np.real, _TAKES, exact=True, flops=0, result=lambda whole: whole.real_dtype),
        Primitive("imag", 1, np.imag, _TAKES, exact=True, flops=0, result=lambda whole: whole.real_dtype),
    )
}
CONVERSIONS = ("cast", "bitcast")  # have the dtype of the result as second argument instead of an operand


def read(name: str, *args: Any) -> Any:
    """The operation `name` of `args`, read as kernel expression, graph operation or NumPy value."""
    return INSTRUCTIONS[name](*args)


_expr.READ = read


def cast(x: Any, dtype: DType) -> Any:
    """`x` converted to `dtype`: towards zero from floating to integer, nonzero to True."""
    if hasattr(x, "read_scalar"):
        return x.read_scalar("cast", (x, dtype))
    if isinstance(x, Expr):
        return x if x.dtype is dtype else Scalar("cast", (x,), dtype)
    return dtype.round(x)


def bitcast(x: Any, dtype: DType) -> Any:
    """The bits of `x` read as another dtype of the same size."""
    if hasattr(x, "read_scalar"):
        return x.read_scalar("bitcast", (x, dtype))
    if isinstance(x, Expr):
        return x if x.dtype is dtype else Scalar("bitcast", (x,), dtype)
    return np.asarray(x).view(dtype.numpy)


def __getattr__(name: str) -> Primitive:
    """`instructions.fma` is the record "fma"; a trailing underscore escapes Python's keywords."""
    if found := INSTRUCTIONS.get(name.rstrip("_")):
        return found
    raise AttributeError(f"there is no instruction {name}")
