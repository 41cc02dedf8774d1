"""Scalar operations: the record of one, `Primitive`, and those that processors have instructions for.

A record has everything that the compiler knows about an operation; no other list names them. The instructions
are arithmetic, comparisons, bits and conversions. Beside them stand those between complex numbers and their
parts, which `complex_numbers/split.py` removes. `functions.py` beside this file has the records of functions
that are made of these. Formulas of functions are written with them, too:

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

from staticgraph.compiler.graph.dtypes import DType, bool_, complex64, complex128, float32
from staticgraph.compiler.kernel import expr as _expr
from staticgraph.compiler.kernel.expr import Expr, Scalar, number
from staticgraph.compiler.support.dataclass import dataclass

# Kinds of dtypes.
FLOATING = frozenset({"float"})
INTEGERS = frozenset({"int", "uint"})
NUMBERS = FLOATING | INTEGERS
BITS = INTEGERS | {"bool"}
ANY = NUMBERS | {"bool"}

# Costs of an operation, in additions of vectors of the same dtype. `cost.py` has the time of one of these.
ADDITION = 1.0
# Divisions and square roots. Tuned on kernels that also load and store; by itself, a division takes more.
DIVISION = 4.0
# Half the operations of the formula of exp in float32 (23, or up to 39 for other functions of one number in
# frequent use): a core begins two of them in a cycle, and their operands are in registers.
FUNCTION = 12.0
LGAMMA, DIGAMMA, BESSEL = 140.0, 90.0, 25.0  # half of 281, 181 and about 50 operations


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of an operation in some language, by the kind of its operands; None: it has no such form.

    `unsigned` is that of unsigned integers, `half` of float16 and bfloat16 and `float16` of this one, where
    they differ.
    """

    floating: str | None = None
    integer: str | None = None
    boolean: str | None = None
    unsigned: str | None = None
    half: str | None = None
    float16: str | None = None

    def of(self, dtype: DType) -> str | None:
        """The text for operands of a dtype."""
        if dtype.is_bool:
            return self.boolean
        if dtype.is_integer:
            return self.unsigned or self.integer if dtype.is_unsigned else self.integer
        half = self.half if dtype.size == 2 else None
        return (self.float16 if dtype.name == "float16" else None) or half or self.floating


@dataclass(frozen=True, slots=True)
class Approximation:
    """A function of floating numbers as an expression of simpler operations, for all arguments.

    A formula gets the `Width` of the dtype and the operands. `in_float64`: also float32, computed in float64,
    by `single` if that is given, a formula of float64 that is just precise enough for float32.
    The others are of float32 alone: `fast` has a larger error, `table` also gets how many numbers one
    instruction looks up. `far`: for huge arguments, for which `formula` keeps the primitive behind a select.
    """

    formula: Callable[..., Any]
    in_float64: bool = False
    single: Callable[..., Any] | None = None
    fast: Callable[..., Any] | None = None
    table: Callable[..., Any] | None = None
    table_is_fastest: bool = False  # as fast as `fast`, and more precise
    far: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Primitive:
    """A scalar operation.

    Args:
        name: what expressions call it.
        arity: number of operands. They have one dtype, but for the condition of `select`.
        numpy: its meaning, on arrays or numbers.
        takes: kinds of dtypes of the operands.
        predicate: the result is bool; otherwise it has the dtype of the last operand.
        exact: operands of float16 and bfloat16, computed in float32, need no rounding of the result.
        cost: throughput of a core, in additions on vectors.
        flops: floating operations that it counts as, by the custom of the field.
        llvm: an instruction ("fadd"), comparison ("fcmp oeq") or intrinsic ("llvm.sqrt") of LLVM. Without a
            text, the operation takes several, in `codegen/llvm/scalar.py`, or is a formula.
        cuda: an expression in CUDA C. `{0}`, `{1}` and `{2}` are the operands, `{f}` is "f" except in float64
            and `{half}` is the type of a 16-bit number in memory. Without a text the formula is used.
        approximation: a function as expressions, for processors, which have no instruction for it.
        result: the dtype of the result by that of the last operand, if they differ.
    """

    name: str
    arity: int
    numpy: Callable[..., Any]
    takes: frozenset[str] = FLOATING
    predicate: bool = False
    exact: bool = False
    cost: float = ADDITION
    flops: int = 1
    llvm: Texts = Texts()
    cuda: Texts = Texts()
    approximation: Approximation | None = None
    result: Callable[[DType], DType] | None = None

    def __call__(self, *args: Any) -> Any:
        """The operation on `args`, read as kernel expression, graph operation or NumPy value."""
        first = 1 if self.name == "select" else 0  # a condition has a dtype of its own
        for a in args:
            if not isinstance(a, Expr):
                tensors = [a for a in args if hasattr(a, "read_scalar")]
                if tensors:
                    return tensors[0].read_scalar(self.name, args)
                typed = [a.dtype for a in args[first:] if isinstance(a, Expr)]
                if not typed and not any(isinstance(a, Expr) for a in args):
                    return self.numpy(*args)
                args = tuple([a if isinstance(a, Expr) else number(a, typed[0]) for a in args])
                break
        dtype = args[-1].dtype
        for operand in args[first:]:
            if operand.dtype is not dtype:
                dtypes = ", ".join(o.dtype.name for o in args)
                raise TypeError(f"{self.name} of {dtypes}: the dtypes differ")
        if self.result is not None:
            dtype = self.result(dtype)
        return Scalar(self.name, args, bool_ if self.predicate else dtype)


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
