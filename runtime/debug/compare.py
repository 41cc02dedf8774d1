"""Equality of two results, as far as rounding goes.

Two correct programs round differently. How much that matters depends on the data: of a sum of large numbers
that cancel, no digit may be right. So a result may differ by what follows from the number of terms, and,
where that is not enough, by several times as much as it moves when the last digits of the inputs, and of all
that is computed on the way, are changed at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.function import Function, Node
from staticgraph.compiler.graph.opdef import Kind
from staticgraph.compiler.ops.control.control_flow import functions
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.interpreter import Interpreter

_ULPS = 64  # in which single elements may differ, times the root of the number of terms of a sum
_MOVED = 4  # ulps by which numbers are changed
_TRIALS = 4
_FACTOR = 8.0  # how much more than by that a result may differ
_SEED = 0


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The allowed difference: the user's `atol + rtol * |expected|`, else what rounding explains.

    `loose`: a factor for programs that are less exact.
    """

    rtol: float | None = None
    atol: float | None = None
    loose: float = 1.0

    @property
    def chosen(self) -> bool:
        return self.rtol is not None or self.atol is not None


ROUNDING = Tolerance()


@dataclass(frozen=True, slots=True)
class Difference:
    """Elements that differ by more than is allowed, and the worst of them.

    `ulps`: the difference in units of the last digit, None if there is none, as for whole numbers.
    """

    output: int
    count: int
    size: int
    index: tuple[int, ...]
    expected: float | complex
    found: float | complex
    ulps: float | None

    def in_words(self, expected: str, found: str) -> str:
        """The difference as a sentence, with these names for both sides."""
        place = f" at {list(self.index)}" if self.index else ""
        ulps = f", {self.ulps:.3g} ulps" if self.ulps is not None else ""
        head = f"in {self.count} of {self.size} elements, most{place}: " if self.size > 1 else ""
        return f"{head}{self.expected:.9g} {expected}, {self.found:.9g} {found}{ulps}"

    def __str__(self) -> str:
        return self.in_words("by NumPy", "compiled")


Nudge = Callable[[np.ndarray], np.ndarray]  # changes the last digits of numbers
Compute = Callable[[Nudge], Sequence[np.ndarray]]  # applies it to its inputs, and to all that it computes


def differing(
    compute: Compute,
    expected: Sequence[np.ndarray],
    found: Sequence[np.ndarray],
    dtypes: Sequence[DType],
    terms: int,
    tolerance: Tolerance,
) -> list[Difference]:
    """Return the results that differ: `found` against `expected`, the output of `compute` without a nudge.

    If the estimate of rounding does not explain a difference, `compute` runs again with nudges, to see how
    far rounding can move the results. A tolerance that the user chose is final.

    Args:
        compute: Computes the results. It applies a nudge to its inputs and to all that it computes.
        expected: The results of `compute` without a nudge.
        found: The results to check.
        dtypes: The dtype of each result.
        terms: The number of terms of the longest sum.
        tolerance: The allowed difference.
    """
    allowed = [_allowed(e, d, terms, tolerance) for e, d in zip(expected, dtypes, strict=True)]
    errors = [_distance(e, f) for e, f in zip(expected, found, strict=True)]
    if not tolerance.chosen and any((e > a).any() for e, a in zip(errors, allowed, strict=True)):
        samples = _samples(compute)
        for number, dtype in enumerate(dtypes):
            made = [sample[number] for sample in samples]
            if dtype.is_floating or dtype.is_complex:
                moved = np.max([_distance(expected[number], each) for each in made], axis=0)
                allowed[number] = allowed[number] + _FACTOR * tolerance.loose * moved
            else:
                likely = _between(found[number], expected[number], made)
                errors[number] = np.where(likely, 0.0, errors[number])
    found_ones = []
    for number, (error, most) in enumerate(zip(errors, allowed, strict=True)):
        if (error > most).any():
            found_ones.append(_worst(number, expected[number], found[number], error, most, dtypes[number]))
    return found_ones


def epsilon(dtype: DType) -> float:
    """The distance from 1 to the next number; 0 for whole numbers."""
    if dtype.name == "bfloat16":
        return 2.0**-7
    return float(np.finfo(dtype.numpy).eps) if dtype.is_floating or dtype.is_complex else 0.0


def _wide(array: np.ndarray) -> np.ndarray:
    """The same numbers where their differences can be taken."""
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64)


def _allowed(expected: np.ndarray, dtype: DType, terms: int, tolerance: Tolerance) -> np.ndarray:
    size = np.abs(_wide(expected))
    size = np.where(np.isfinite(size), size, 0.0)
    if tolerance.chosen:
        return (tolerance.atol or 0.0) + (tolerance.rtol or 0.0) * size
    relative = _ULPS * epsilon(dtype) * np.sqrt(max(terms, 1)) * tolerance.loose
    return np.asarray(relative * size + relative * (size / max(size.size, 1)).sum())


def _distance(expected: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Return the absolute difference of each pair of elements; 0 for two NaNs or two equal infinities.

    The difference is infinite if one element is NaN or infinite and the other is not the same. For objects,
    such as strings, it is 0 or infinite.
    """
    if expected.dtype.kind == "O":
        return np.where(expected == found, 0.0, np.inf)
    a, b = _wide(expected), _wide(found)
    with np.errstate(all="ignore"):
        apart = np.abs(a - b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.asarray(np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart)))


def _samples(compute: Compute) -> list[Sequence[np.ndarray]]:
    """Compute the results several times, each time with the last digits of all numbers changed at random."""
    rng = np.random.default_rng(_SEED)
    return [compute(lambda array: _nudged(array, rng)) for _ in range(_TRIALS)]


def _nudged(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if array.dtype.kind not in "fcV":
        return array
    step = 2.0**-7 if array.dtype.kind == "V" else float(np.finfo(array.dtype).eps)
    factor = 1 + _MOVED * step * rng.uniform(-1, 1, array.shape)
    with np.errstate(all="ignore"):
        return np.asarray((_wide(array) * factor).astype(array.dtype))


def _between(found: np.ndarray, expected: np.ndarray, made: Sequence[np.ndarray]) -> np.ndarray:
    """Return a mask of the elements of `found` that lie in the range of `expected` and the samples `made`.

    It serves whole numbers, whose samples were computed with other last digits. Objects never match.
    """
    if expected.dtype.kind == "O":
        return np.zeros(expected.shape, bool)
    low, high = np.min([expected, *made], axis=0), np.max([expected, *made], axis=0)
    return np.asarray((low <= found) & (found <= high))


def _worst(
    output: int, expected: np.ndarray, found: np.ndarray, error: np.ndarray, allowed: np.ndarray, dtype: DType
) -> Difference:
    over = np.where(error > allowed, error / np.maximum(allowed, np.finfo(np.float64).tiny), 0.0)
    index = np.unravel_index(int(np.argmax(over)), error.shape)
    a, b = (_wide(array)[index].item() for array in (expected, found))
    digit = epsilon(dtype) * 2.0 ** np.floor(np.log2(abs(a))) if a and np.isfinite(a) else 0.0
    ulps = float(error[index] / digit) if digit and np.isfinite(error[index]) else None
    count = int((error > allowed).sum())
    return Difference(output, count, error.size, tuple(int(i) for i in index), a, b, ulps)


def compared(
    function: Function,
    arguments: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    found: Sequence[np.ndarray],
    tolerance: Tolerance,
) -> list[Difference]:
    """Return the results that differ: `found` against `expected`, a Function's results for `arguments`."""

    def compute(nudge: Nudge) -> Sequence[np.ndarray]:
        return Interpreter(effects=False, nudge=nudge).results(function, list(map(nudge, arguments)))

    dtypes = [r.dtype for r in function.results]
    return differing(compute, expected, found, dtypes, terms(function.nodes), tolerance)


def terms(nodes: Sequence[Node]) -> int:
    """Return the number of terms of the longest sum that nodes compute."""
    longest = 1
    for node in nodes:
        inner = [n for each in functions(node.attrs) for n in each.nodes]
        longest = max(longest, terms(inner)) if inner else longest
        sizes = [v.size for v in node.inputs if v.size]
        out = max((v.size for v in node.outputs), default=0)
        if node.op.kind is Kind.REDUCTION and sizes and out:
            longest = max(longest, max(sizes) // out)
        elif node.op.kind is Kind.CONTRACTION and len(sizes) > 1 and out:
            longest = max(longest, math.isqrt(sizes[0] * sizes[1] // out))
    return longest
