"""Running totals by many threads are what they are one after the other."""

import numpy as np
import pytest

from staticgraph.compiler.graph.dtypes import REAL, DType, float32
from staticgraph.compiler.graph.opdef import OpDef
from staticgraph.compiler.kernel.schedule_gpu.scans.scan import STRIP, TILE
from staticgraph.compiler.ops.reductions.scan import cumprod, cumsum, cumulative_logsumexp
from tests.gpu.routines import Case, check, kinds, results

pytestmark = pytest.mark.takes_long

FORMS = [(exclusive, reverse) for exclusive in (False, True) for reverse in (False, True)]


def whole(shape: tuple[int, ...], dtype: DType = float32, seed: int = 0) -> np.ndarray:
    """Numbers whose sums are exact, in whatever order."""
    low = 0 if dtype.is_unsigned else -3
    return dtype.round(np.random.default_rng(seed).integers(low, 4, shape))


def case(
    op: OpDef, dtype: DType, array: np.ndarray, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> Case:
    return Case(op, ((dtype, array),), {"axis": axis, "exclusive": exclusive, "reverse": reverse})


def test_one_row_of_any_length():
    near = [n + d for n in (STRIP, TILE, 2 * TILE) for d in (-1, 0, 1)]
    lengths = [0, 1, 31, 32, 33, 1023, 1024, 1025, *near, 5 * TILE + 7]
    check([case(cumsum, float32, whole((n,)), 0, *FORMS[n % 4]) for n in lengths], exact=True)


def test_rows_by_their_number_and_length():
    found = [
        ((3, 31), 1, "cumsum"),  # too short
        ((9, 700), 1, "scan"),  # a warp for each row
        ((3, TILE + 1), 1, "scan"),  # a block
        ((2, 2 * TILE + 1), 1, "scan_totals scan"),  # several
        ((300, 2, 3), 0, "scan"),  # items that are a little apart
        ((50, 40, 9), 1, "scan"),  # and so far that other rows lie between: a thread for each row
        ((1000, 24), 0, "scan_totals scan"),  # or several
    ]
    cases = [case(cumsum, float32, whole(shape), axis, *form) for shape, axis, _ in found for form in FORMS]
    for work, template in zip(check(cases, exact=True), [t for *_, t in found for _ in FORMS], strict=True):
        assert " ".join(kinds(work)).endswith(template)
    (work,) = check([case(cumsum, float32, whole((270, 2 * TILE)), 1)], exact=True)
    assert kinds(work) == ["scan"]  # there are as many rows as blocks that run at a time


def test_all_dtypes():
    """Integers wrap around; the sums of few ones among zeros are exact in all types."""
    found = []
    for number, dtype in enumerate(sorted(REAL, key=lambda d: d.name)):
        for shape, axis in (((3, 1000), 1), ((2 * TILE + 9,), 0), ((200, 32), 0))[number % 2 :]:
            ones = dtype.round(np.arange(np.prod(shape)).reshape(shape) % 100 == 0)
            found.append(case(cumsum, dtype, ones if dtype.is_floating else whole(shape, dtype), axis))
    check(found, exact=True)


def test_products_and_logarithms_of_sums():
    rng = np.random.default_rng(1)
    found = []
    for shape, axis in (((3, 1000), 1), ((2 * TILE + 9,), 0), ((200, 64), 0)):
        for form in FORMS:
            x = rng.normal(size=shape).astype(np.float32)
            found.append(case(cumprod, float32, np.exp(x / 100), axis, *form))
            found.append(case(cumulative_logsumexp, float32, x * 9, axis, *form))
    check(found)


def test_what_is_no_number_stays_so_from_there_on():
    x = whole((3, 5000))
    x[0, 4000], x[1, 40], x[2, 3000:3002] = np.nan, np.inf, (np.inf, -np.inf)
    check([case(cumsum, float32, x, 1, *form) for form in FORMS], exact=True)
    least = np.full(700, -np.inf, np.float32)
    least[300] = 1
    check([case(cumulative_logsumexp, float32, least)], exact=True)


def test_real_numbers_are_nearer_to_their_sums_than_one_after_the_other():
    x = np.random.default_rng(2).normal(size=100_000).astype(np.float32)
    each = case(cumsum, float32, x)
    (work,) = check([each])
    exact = np.cumsum(x, dtype=np.float64)
    found, serial = results(each, work)["y0"], np.cumsum(x, dtype=np.float32)
    assert np.abs(found - exact).max() < np.abs(serial - exact).max()
