"""Comparison of an outcome with the recorded one, and the places at which they differ."""

from __future__ import annotations

import numpy as np

# Relative to the largest recorded magnitude: where large terms cancel, small elements are all noise.
# An array that is zero throughout, as some gradients are, is compared as if that were SMALLEST_SCALE.
TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-10, "complex64": 1e-5, "complex128": 1e-10}
SMALLEST_SCALE = 1e-2


def differences(case, recorded, outcome):
    """One line for each item of the outcome that is not as recorded; none if all is well."""
    if set(recorded) != set(outcome):
        return ["recorded %s, got %s" % (sorted(recorded), sorted(outcome))]
    found = ((key, _difference(case, key, recorded[key], outcome[key])) for key in recorded)
    return ["%s: %s" % (key, text) for key, text in found if text]


def _difference(case, key, expected, actual):
    if isinstance(expected, np.ndarray) and isinstance(actual, np.ndarray):
        return _array_difference(expected, actual, 0.0 if case.exact else case.tolerance)
    if key == "error":
        agrees = _same_error(expected, actual)
    elif key == "shape":
        agrees = len(expected) == len(actual) and all(map(_no_less_known, expected, actual))
    else:
        agrees = not isinstance(actual, np.ndarray) and expected == actual
    return "" if agrees else "expected %s, got %s" % (_short(expected), _short(actual))


def _same_error(expected, actual):
    """An InvalidArgumentError of TensorFlow's run may be found at build, as a ValueError."""
    if not expected:
        return not actual
    return expected[0] in actual or (expected[0] == "InvalidArgumentError" and "ValueError" in actual)


def _no_less_known(expected, actual):
    """TensorFlow infers little in places; knowing more than it does is no fault."""
    if expected is None:
        return True
    if actual is None or len(expected) != len(actual):
        return False
    return all(want is None or want == got for want, got in zip(expected, actual))


def _array_difference(expected, actual, tolerance):
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        return "expected %s%s, got %s%s" % (expected.dtype, expected.shape, actual.dtype, actual.shape)
    if tolerance == 0.0 or expected.dtype.name not in TOLERANCE:
        same = identical(expected, actual)
    else:
        finite = np.isfinite(expected)
        scale = np.abs(expected[finite]).max(initial=SMALLEST_SCALE)
        bound = tolerance * TOLERANCE[expected.dtype.name] * scale
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.abs(expected - actual) <= bound
        same = np.where(finite, near, (expected == actual) | (np.isnan(expected) & np.isnan(actual)))
    if same.all():
        return ""
    where = tuple(int(i) for i in np.argwhere(~same)[0])
    count = "%d of %d elements differ" % (np.count_nonzero(~same), same.size)
    return "%s, first at %s: expected %r, got %r" % (count, where, expected[where], actual[where])


def identical(expected: np.ndarray, actual: np.ndarray) -> np.ndarray:
    """Elementwise equality of bits, except that any nan equals any other. A zero keeps its sign."""
    same = expected == actual
    if expected.dtype.kind in "fc":
        same = (same & (np.signbit(expected.real) == np.signbit(actual.real))) | (
            np.isnan(expected) & np.isnan(actual)
        )
    return same


def _short(item):
    text = repr(item)
    return text if len(text) <= 300 else text[:297] + "..."
