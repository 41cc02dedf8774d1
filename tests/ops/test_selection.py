"""Results whose sizes data decide, made by a compiled stage: any data, any size, any number of threads."""

import numpy as np
import pytest

import staticgraph as sg
from tests.everywhere import PLACES, check_everywhere

NAN = float("nan")
RNG = np.random.default_rng(5)
NUMBERS = {
    "near": RNG.integers(-50, 50, 1000),
    "far": RNG.integers(-(2**62), 2**62, 3000),
    "all different": np.arange(70_000) * 65536,
    "all equal": np.zeros(5000, np.int32),
    "extreme": np.array([2**63 - 1, -(2**63), 0, -(2**63), 2**63 - 1]),
    "unsigned": np.array([2**64 - 1, 0, 2**63, 2**64 - 1], np.uint64),
    "small": RNG.integers(-128, 128, 500).astype(np.int8),
    "truth values": RNG.integers(0, 2, 50).astype(bool),
    "real": RNG.standard_normal(20_000).astype(np.float32),
    "halves": RNG.integers(0, 9, 100).astype(np.float16),
    "huge": np.arange(5000.0) % 700 * 1e300,
    "zeros and NaN": np.array([NAN, 1.0, NAN, -0.0, 0.0, 1.0]),
    "only NaN": np.full(2000, NAN, np.float32),
    "complex": (RNG.integers(0, 9, 100) + 1j * RNG.integers(0, 9, 100)).astype(np.complex64),
    "one": np.array([3]),
    "none": np.array([], np.int32),
}


def distinct(x):
    """The different elements, the place of each and their counts, one after the other."""
    values, places, counts, known = [], [], [], {}
    for element in x.tolist():
        place = known.get(element, len(values)) if element == element else len(values)
        if place == len(values):
            values.append(element)
            counts.append(0)
            known[element] = place
        places.append(place)
        counts[place] += 1
    return np.array(values, x.dtype), places, counts


@pytest.mark.takes_long
@pytest.mark.by_turns("open_sizes")
@pytest.mark.parametrize("open_sizes", [False, True])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_every_kind(name, open_sizes):
    x = NUMBERS[name]
    y = x[::3]
    with sg.Graph().as_default(), sg.Session() as sess:
        a, b = (sg.placeholder(x.dtype, [None] if open_sizes else v.shape) for v in (x, y))
        fetches = [*sg.unique_with_counts(a), *sg.unique(a, sg.int64), *sg.setdiff1d(a, b), sg.where(a)]
        different, places, counts, again, wide, rest, absent, true = sess.run(fetches, {a: x, b: y})
        assert sess.compiles  # no algorithm of NumPy's stands in the way
    values, at, many = distinct(x)
    np.testing.assert_array_equal(different, values)
    assert (np.signbit(different) == np.signbit(values)).all() if x.dtype.kind == "f" else True
    np.testing.assert_array_equal(places, at)
    np.testing.assert_array_equal(counts, many)
    np.testing.assert_array_equal(again, values)
    assert (places.dtype, counts.dtype, wide.dtype) == (np.int32, np.int32, np.int64)
    np.testing.assert_array_equal(wide, at)
    known = set(y.tolist())
    missing = np.array([e not in known or e != e for e in x.tolist()], bool)
    np.testing.assert_array_equal(rest, x[missing])
    np.testing.assert_array_equal(absent, np.flatnonzero(missing))
    np.testing.assert_array_equal(true, np.argwhere(x))


def test_a_stage_is_compiled_once_for_all_sizes(rng):
    with sg.Graph().as_default(), sg.Session() as sess:
        x = sg.placeholder(sg.int32, [None])
        different, _ = sg.unique(x * 2)
        mask = sg.boolean_mask(x, x > 3)
        for n in (7, 5000, 1, 300):
            given = rng.integers(0, 50, n)
            found = sess.run([different, mask], {x: given})
            assert found[0].tolist() == list(dict.fromkeys((given * 2).tolist()))
            assert found[1].tolist() == given[given > 3].tolist()
        assert len(sess.compiles) == 2  # that of the padded results, and that of the rows which are gathered


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (63,), (64,), (65, 1), (3, 4, 5), (100, 300), (70_001,)])
def test_positions_of_what_is_true(shape, rng):
    with sg.Graph().as_default(), sg.Session() as sess:
        for sizes in (shape, [None] * len(shape)):
            given = sg.placeholder(sg.float32, sizes)
            made = sg.where(given * 2)
            for share in (0.0, 0.01, 0.5, 1.0):
                x = (rng.random(shape) < share).astype(np.float32)
                np.testing.assert_array_equal(sess.run(made, {given: x}), np.argwhere(x), f"{share} are true")


def test_results_are_the_callers_own():
    """A later run must not change them, though its stage has memory of the same size."""
    with sg.Graph().as_default(), sg.Session() as sess:
        x = sg.placeholder(sg.int32, [100_000])
        _, places = sg.unique(x)
        first = sess.run(places, {x: np.arange(100_000)})
        kept = first.copy()
        for _ in range(4):
            sess.run(places, {x: np.zeros(100_000)})
        np.testing.assert_array_equal(first, kept)


def test_partitions_out_of_range_are_an_error_in_the_users_line():
    with sg.Graph().as_default(), sg.Session() as sess:
        x = sg.placeholder(sg.int32, [4])
        parts = sg.dynamic_partition(x * 10, x, 3)
        assert [p.tolist() for p in sess.run(parts, {x: [2, 0, 2, 0]})] == [[0, 0], [], [20, 20]]
        with pytest.raises(sg.errors.InvalidArgumentError, match=r"partitions must be in 0\.\.2") as caught:
            sess.run(parts, {x: [0, 3, 1, 0]})
        assert "test_selection.py" in str(caught.value)


@pytest.mark.parametrize("count", [0, -1, 2.0, 2**40])
def test_a_number_of_partitions_that_is_none_is_refused_where_it_is_built(count):
    with sg.Graph().as_default(), pytest.raises((ValueError, TypeError), match="partitions"):
        sg.dynamic_partition([1.0, 2.0], [0, 1], count)


def test_a_guard_against_nan_looks_at_what_is_asked():
    with sg.Graph().as_default(), sg.Session(check_nan=True) as sess:
        x = sg.placeholder(sg.float32, [3])
        places = sg.where(sg.sqrt(x))
        assert sess.run(places, {x: [1.0, 0.0, 4.0]}).tolist() == [[0], [2]]
        with pytest.raises(sg.errors.InvalidArgumentError, match="sqrt"):
            sess.run(places, {x: [1.0, -1.0, 4.0]})


@pytest.mark.takes_long
def test_everywhere():
    def build():
        x = sg.placeholder(sg.float32, [7], name="x")
        different, places, counts = sg.unique_with_counts(sg.round(x))
        weights = sg.Variable(np.ones(7, np.float32), name="weights")
        step = weights.assign_add(sg.gather(different, places)).op
        return {"d": different, "p": places, "c": counts, "where": sg.where(x > 1.0), "step": step}

    feeds = [{"x": np.array(v, np.float32)} for v in ([1, 2, 1, 3, 3, 0, 1], [0.4, 0.2, 9, 9, 8, 7, 9])]
    check_everywhere(build, *feeds, places=(*PLACES, "gpu"))


def test_scattered_truth_is_joined():
    """As TensorFlow does: two updates of one place are or-ed."""
    places = sg.placeholder(sg.int32, [3, 1])
    made = sg.scatter_nd(places, [True, False, True], [4])
    with sg.Session() as session:
        assert session.run(made, {places: [[0], [1], [3]]}).tolist() == [True, False, False, True]
        assert session.run(made, {places: [[0], [0], [1]]}).tolist() == [True, True, False, False]


def test_rows_of_unknown_rank_are_sorted():
    x = sg.placeholder(sg.float32, None)
    with sg.Session() as session:
        for rows in ([3.0, 1.0, 2.0], [[3.0, 1.0], [1.0, 2.0]]):
            made = session.run([sg.sort(x), sg.argsort(x, direction="DESCENDING")], {x: rows})
            np.testing.assert_array_equal(made[0], np.sort(rows))
            np.testing.assert_array_equal(made[1], np.argsort(-np.array(rows)))
    with pytest.raises(ValueError, match="rank"):
        sg.sort(x, axis=0)


def test_a_place_without_a_slice_is_named():
    places = sg.placeholder(sg.int32, [None])
    made = sg.dynamic_stitch([places], [[1.0, 2.0]])
    with sg.Session() as session, pytest.raises(sg.errors.InvalidArgumentError, match=r"place \[1\] of 3"):
        session.run(made, {places: [0, 2]})
