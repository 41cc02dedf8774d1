"""Measure the error of the functions of real numbers, in units of the last place:

    python -m tools.accuracy.ulp [--sample N] [--dtype float32 | float64] [function ...]

In float32 a function of one argument is computed for every one of the 2**32 patterns of bits (one in N of
them, if asked for), and compared with the same function in float64, which is measured too: in float64, and
with two arguments, the arguments are random, of every size, together with those near which something happens,
and the reference is independent, in more precision (tools/accuracy/exact.py).

The table is Markdown. docs/accuracy.md has that of a full run.
"""

import argparse
import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import staticgraph as sg
from tools.accuracy.exact import HAS_LONG_DOUBLE, exact

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_BLOCK = 1 << 20
_SPECIAL = [
    0.0, 5e-324, 1e-45, 2.0**-1022, 2.0**-126, 2.0**-60, 1e-8, 0.25, 0.47, 0.5, 0.70710678, 0.99, 1.0,
    1.41421356, 1.4616321449683622, 1.5, 1.5707963267948966, 2.0, 2.5, 3.0, 3.141592653589793, 4.0, 6.0,
    8.0, 9.01, 20.0, 26.5, 28.0, 88.7228, 89.4159, 103.97, 171.6, 709.7827, 710.4758, 745.13, 1e5, 1e9,
    2.0**24, 2.0**28, 2.0**53, 1e22, 3.4e38, 1e300, 1.7e308, np.inf,  # the last
]


@dataclass(frozen=True, slots=True)
class Bound:
    """Promise about a function: the greatest error in units of the last place.

    `scale` of an argument is the least number whose unit counts: for functions whose exact result passes
    through zero between two arguments, where no relative precision is kept.
    """

    float32: float = 2
    float64: float = 2
    arity: int = 1
    scale: Callable[[np.ndarray], np.ndarray] = np.zeros_like

    def of(self, dtype: np.dtype) -> float:
        """The bound for a dtype."""
        return self.float32 if dtype == FLOAT32 else self.float64


def _one_below_zero(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, x.dtype.type(1), x.dtype.type(0))


def _terms_of_digamma(x: np.ndarray) -> np.ndarray:
    """Below zero it is a difference; and next to its zero long double is no better than float64."""
    with np.errstate(over="ignore"):
        return np.where(x < 1.5, np.log(2 + np.abs(np.nan_to_num(x))), x.dtype.type(0))


BOUNDS = {
    **{name: Bound() for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos")},
    "atan2": Bound(arity=2),
    **{name: Bound() for name in ("atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf")},
    "erfc": Bound(1, 3),
    "lgamma": Bound(1, 8, scale=_one_below_zero),
    "digamma": Bound(1, 8, scale=_terms_of_digamma),
    "pow": Bound(1, 1, arity=2),
    **{name: Bound(1, 8) for name in ("bessel_i0e", "bessel_i1e")},
    "sigmoid": Bound(3, 3),
    "softplus": Bound(3, 3),
    "rsqrt": Bound(2, 2),
}


@dataclass(slots=True)
class Error:
    """The errors of some results, in units of the last place."""

    worst: float = 0.0
    at: tuple[float, ...] = ()
    total: float = 0.0  # of those that were averaged
    averaged: int = 0
    nearest: int = 0  # results that are the number nearest to the exact one
    count: int = 0

    def include(self, other: "Error") -> None:
        """Both together."""
        if other.worst > self.worst:
            self.worst, self.at = other.worst, other.at
        self.total += other.total
        self.averaged += other.averaged
        self.nearest += other.nearest
        self.count += other.count


def units(found: np.ndarray, wanted: np.ndarray, scale: np.ndarray | float = 0.0) -> np.ndarray:
    """The distance of results from exact ones, in units of the last place of the number nearest to those,
    or of `scale` if that is greater.

    It is infinite where only one of them is NaN, and where a zero has the wrong sign.

    >>> units(np.array([1.0, np.nan], np.float32), np.array([1.0 + 2**-22, 1.0]))
    array([ 2., inf])
    """
    with np.errstate(all="ignore"):
        nearest = wanted.astype(found.dtype)
        largest = np.finfo(found.dtype).max
        step = largest - np.nextafter(largest, found.dtype.type(0))
        size = np.maximum(np.abs(nearest), scale).astype(found.dtype)
        unit = np.where(size < largest, np.spacing(size), step).astype(wanted.dtype)
        beyond = wanted.dtype.type(largest) + wanted.dtype.type(step)  # stands for infinity
        difference = np.clip(found.astype(wanted.dtype), -beyond, beyond) - np.clip(wanted, -beyond, beyond)
        error = np.abs(difference) / unit
        signs = (found == 0) & (nearest == 0) & (np.signbit(found) != np.signbit(nearest))
        error = np.where(np.isnan(found) & np.isnan(wanted), 0, np.where(signs, np.inf, error))
        return np.nan_to_num(error.astype(np.float64), nan=np.inf, posinf=np.inf)


def _function(op: str) -> Callable[..., sg.Tensor]:
    """The function as a user has it."""
    return getattr(sg.nn if op == "softplus" else sg, op)


@functools.cache
def compiled(op: str, dtype: np.dtype, count: int) -> Callable[..., np.ndarray]:
    """The function for arrays of `count` numbers."""
    with sg.Graph().as_default():
        arguments = [sg.placeholder(dtype, [count]) for _ in range(BOUNDS[op].arity)]
        return sg.Session().make_callable(_function(op)(*arguments), arguments)


@functools.cache
def compiled_error(op: str, count: int) -> Callable[[np.ndarray], np.ndarray]:
    """`units` of a function of float32 against its float64 form, all in one kernel."""
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, [count])
        found, wanted = _function(op)(x), _function(op)(sg.cast(x, sg.float64))
        nearest = sg.cast(wanted, sg.float32)
        exponent = sg.bitwise.right_shift(sg.bitcast(sg.abs(nearest), sg.int32), 23)
        exponent = sg.cast(sg.minimum(sg.maximum(exponent, 1), 254), sg.int64) + (1023 - 127 - 23)
        unit = sg.bitcast(sg.bitwise.left_shift(exponent, sg.constant(52, sg.int64)), sg.float64)
        beyond = 2.0**128  # stands for infinity
        difference = sg.clip_by_value(sg.cast(found, sg.float64), -beyond, beyond) - sg.clip_by_value(
            wanted, -beyond, beyond
        )
        error = sg.cast(sg.abs(difference) / unit, sg.float32)
        infinite = sg.fill([count], np.float32(np.inf))
        signs = sg.bitcast(found, sg.int32) < 0, sg.bitcast(nearest, sg.int32) < 0
        error = sg.where(
            sg.equal(nearest, 0.0) & sg.equal(found, 0.0) & sg.not_equal(*signs), infinite, error
        )
        neither, either = sg.is_nan(found) & sg.is_nan(nearest), sg.is_nan(found) | sg.is_nan(nearest)
        error = sg.where(neither, sg.zeros_like(error), sg.where(either, infinite, error))
        return sg.Session().make_callable(error, [x])


def error(op: str, *arguments: np.ndarray) -> Error:
    """The errors of a function at some arguments."""
    dtype = arguments[0].dtype
    found = np.asarray(compiled(op, dtype, arguments[0].size)(*arguments))
    wanted = exact(op, *arguments)
    scale = BOUNDS[op].scale(arguments[0])
    with np.errstate(all="ignore"):
        rounded = wanted.astype(dtype)
    integers = f"i{dtype.itemsize}"
    differ = (rounded.view(integers) != found.view(integers)) & ~(np.isnan(rounded) & np.isnan(found))
    # Every result that is not the nearest, and of the others a few, for the mean.
    wrong = np.flatnonzero(differ)
    result = Error(nearest=found.size - wrong.size, count=found.size)
    few = slice(None, None, 61)
    some = units(found[few], wanted[few], scale[few])
    finite = some[np.isfinite(some) & np.isfinite(wanted[few])]
    result.total, result.averaged = float(finite.sum()), finite.size
    if wrong.size:
        all_wrong = units(found[wrong], wanted[wrong], scale[wrong])
        k = int(np.argmax(all_wrong))
        result.worst, result.at = float(all_wrong[k]), tuple(float(x[wrong[k]]) for x in arguments)
    else:
        result.worst = float(finite.max(initial=0.0))
    return result


def error_of_pattern(op: str, x: np.ndarray) -> Error:
    """The errors of a function of one float32 argument."""
    found = np.asarray(compiled_error(op, x.size)(x))
    k = int(found.argmax())
    result = Error(float(found[k]), (float(x[k]),), averaged=found.size, count=found.size)
    result.total = float(found.sum(dtype=np.float64))
    result.nearest = int(np.count_nonzero(found <= 0.5))
    return result


def patterns(step: int) -> Iterator[np.ndarray]:
    """float32 numbers, in blocks: one in `step` of all patterns of bits."""
    offset = 0
    for start in range(0, 1 << 32, _BLOCK * step):
        offset = (offset * 5 + 3) % step  # not always the same low bits
        bits = np.arange(start + offset, start + _BLOCK * step, step, dtype=np.uint64)
        yield bits.astype(np.uint32).view(np.float32)


def near_special(dtype: np.dtype) -> np.ndarray:
    """Numbers near which something happens, with neighbours and negatives."""
    with np.errstate(over="ignore"):
        special = np.array(_SPECIAL).astype(dtype)
    integer = np.dtype(f"i{dtype.itemsize}")
    bits = special.view(integer)[:, None] + np.arange(-64, 65, dtype=integer)
    numbers = np.clip(bits, 0, special.view(integer)[-1]).view(dtype).ravel()
    return np.concatenate([numbers, -numbers, np.array([np.nan], dtype)])


def random(dtype: np.dtype, rng: np.random.Generator, count: int) -> np.ndarray:
    """Numbers of every size, more of them where functions change."""
    patterns = rng.integers(0, 1 << 8 * dtype.itemsize, count // 4, dtype=f"u{dtype.itemsize}").view(dtype)
    largest = 740 if dtype == FLOAT64 else 90
    parts = [
        patterns,
        rng.uniform(-3, 3, count // 4),
        rng.uniform(-30, 30, count // 8),
        rng.uniform(-largest, largest, count // 8),
        rng.normal(size=count // 8) * np.exp(rng.uniform(-30, 3, count // 8)),
        rng.integers(-40, 40, count // 8) / 2,
    ]
    return rng.permutation(np.concatenate([p.astype(dtype) for p in parts]))


def arguments(op: str, dtype: np.dtype, blocks: int, seed: int = 1) -> Iterator[tuple[np.ndarray, ...]]:
    """Blocks of random arguments; the first holds the special ones, of two arguments every pair."""
    rng = np.random.default_rng(seed)
    arity = BOUNDS[op].arity
    special = [near_special(dtype)]
    if arity == 2:
        few = near_special(dtype)[::43]
        special = [np.repeat(few, few.size), np.tile(few, few.size)]
    for _ in range(blocks):
        yield tuple(
            np.concatenate([s, random(dtype, rng, _BLOCK)])[:_BLOCK]
            for s in (special or [np.zeros(0, dtype)] * arity)
        )
        special = []


def measure(op: str, dtype: np.dtype, step: int) -> Error:
    """The errors of a function, with progress on the terminal."""
    result = Error()
    if dtype == FLOAT32 and BOUNDS[op].arity == 1:
        total = (1 << 32) // (_BLOCK * step)
        errors = (error_of_pattern(op, x) for x in patterns(step))
    else:
        total = max(1, 16 // step)
        errors = (error(op, *block) for block in arguments(op, dtype, total))
    for k, one in enumerate(errors):
        result.include(one)
        if sys.stderr.isatty():
            print(f"\r{op} {dtype} {(k + 1) / total:4.0%}", end="", file=sys.stderr)
    return result


def row(op: str, dtype: np.dtype, e: Error) -> str:
    """A line of the table."""
    at = ", ".join(f"{x:.9g}" if dtype == FLOAT32 else repr(x) for x in e.at)
    mean = e.total / max(1, e.averaged)
    figures = (f"{BOUNDS[op].of(dtype):g}", f"{e.worst:.2f}", at, f"{mean:.3f}", f"{e.nearest / e.count:.1%}")
    cells = (op, dtype, *figures)
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("functions", nargs="*", metavar="function", help="default: all")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="one in N of the arguments")
    parser.add_argument("--dtype", choices=["float32", "float64"], help="default: both")
    options = parser.parse_args()
    if unknown := set(options.functions) - set(BOUNDS):
        parser.error(f"no such function: {', '.join(sorted(unknown))}")
    dtypes = [np.dtype(options.dtype)] if options.dtype else [FLOAT32, FLOAT64]
    print("| function | dtype | bound | most | at | mean | nearest |")
    print("|---|---|---|---|---|---|---|")
    for dtype, op in itertools.product(dtypes, options.functions or BOUNDS):
        if dtype == FLOAT64 and not HAS_LONG_DOUBLE:
            continue
        line = row(op, dtype, measure(op, dtype, options.sample))
        print(f"\r{line}" if sys.stderr.isatty() else line, flush=True)


if __name__ == "__main__":
    main()
