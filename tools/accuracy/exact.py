"""Functions in more precision than they are measured in: float64 for float32, long double for float64.

NumPy has most of them in both. The others come from SciPy in float64 and from the C library in long double,
which LLVM calls, as Python cannot hold such a number.
"""

import ctypes
import functools
from collections.abc import Callable

import llvmlite.binding as llvm
import numpy as np
import scipy.special

Reference = Callable[..., np.ndarray]
WIDE = {np.dtype(np.float32): np.float64, np.dtype(np.float64): np.longdouble}
HAS_LONG_DOUBLE = np.finfo(np.longdouble).nmant == 63  # the 80-bit type of x86
_PI = np.longdouble("3.14159265358979323846264338327950288")
_BERNOULLI = ("1/12", "-1/120", "1/252", "-1/240", "1/132", "-691/32760", "1/12", "-3617/8160", "43867/14364")
_LOOP = """
declare x86_fp80 @{name}(x86_fp80)
define void @each(ptr %x, ptr %y, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr [16 x i8], ptr %x, i64 %i
  %to = getelementptr [16 x i8], ptr %y, i64 %i
  %argument = load x86_fp80, ptr %from
  %value = call x86_fp80 @{name}(x86_fp80 %argument)
  store x86_fp80 %value, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def _bessel(order: int) -> Reference:
    """exp(-|x|) times the modified Bessel function: its series, or from 25 on the one in powers of 1 / x."""

    def reference(x: np.ndarray) -> np.ndarray:
        if x.dtype != np.longdouble:
            found = (scipy.special.i0e, scipy.special.i1e)[order](np.abs(x))
            return np.copysign(found, x) if order else found
        a = np.abs(x)
        small, large = np.minimum(a, 25), np.maximum(a, 25)
        term = (small / 2) ** order
        near = term.copy()
        for k in range(1, 120):
            term = term * (small / 2) ** 2 / (k * (k + order))
            near += term
        far = term = np.ones_like(a)
        for k in range(1, 31):
            term = term * ((2 * k - 1) ** 2 - 4 * order**2) / (8 * k * large)
            far = far + term
        found = np.where(a < 25, near * np.exp(-small), far / np.sqrt(2 * _PI * large))
        return np.where(np.isnan(x), x, np.copysign(found, x) if order else found)

    return reference


@functools.cache
def _machine_code(name: str) -> tuple[Callable[..., None], object]:
    """A C function of a long double for arrays, and what must live as long as it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True, codemodel="jitdefault")
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_LOOP.format(name=name)), machine)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    return kind(engine.get_function_address("each")), engine


def _special(of_float64: Reference, name: str) -> Reference:
    def reference(x: np.ndarray) -> np.ndarray:
        if x.dtype != np.longdouble:
            return of_float64(x)
        x, y = np.ascontiguousarray(x), np.zeros_like(x)
        _machine_code(name)[0](x.ctypes.data, y.ctypes.data, x.size)
        return y

    return reference


def _lgamma(x: np.ndarray) -> np.ndarray:
    return np.where(x == -np.inf, np.inf, _special(scipy.special.gammaln, "lgammal")(x))


def _digamma(x: np.ndarray) -> np.ndarray:
    """Steps up to 30, then the asymptotic series; reflection below 0. Good to 5e-19 of max(1, |result|)."""
    pole = (x <= 0) & (np.floor(x) == x)
    if x.dtype != np.longdouble:
        return np.where(pole, np.inf, scipy.special.psi(x))
    y = np.where(x < 0, 1 - x, x)
    total = np.zeros_like(y)
    for _ in range(30):
        small = y < 30
        total -= np.where(small, 1 / np.where(small, y, 1), 0)
        y = np.where(small, y + 1, y)
    z = 1 / (y * y)
    series = np.zeros_like(y)
    for fraction in reversed(_BERNOULLI):
        above, below = fraction.split("/")
        series = series * z + np.longdouble(above) / np.longdouble(below)
    total += np.log(y) - 1 / (2 * y) - series * z
    turn = _PI * (x - np.rint(x))
    total -= np.where(x < 0, _PI * np.cos(turn) / np.sin(turn), 0)
    return np.where(pole, np.inf, np.where(x == np.inf, x, total))


EXACT: dict[str, Reference] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "pow": np.power,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": _special(scipy.special.erf, "erfl"),
    "erfc": _special(scipy.special.erfc, "erfcl"),
    "lgamma": _lgamma,
    "digamma": _digamma,
    "bessel_i0e": _bessel(0),
    "bessel_i1e": _bessel(1),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(x, x.dtype.type(0)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


def exact(op: str, *arguments: np.ndarray) -> np.ndarray:
    """The function `op` of float32 or float64 arguments, in a type with more precision.

    >>> exact("log1p", np.array([1e-20], np.float32)).dtype
    dtype('float64')
    """
    wide = WIDE[arguments[0].dtype]
    with np.errstate(all="ignore"):
        return EXACT[op](*(x.astype(wide) for x in arguments))
