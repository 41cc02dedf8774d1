"""Sizes that are known when a program runs: arithmetic, and what can be said of all of their values."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from staticgraph.compiler.graph.open_sizes import (
    function_of,
    of_data,
    replaced,
    summed_up,
    symbols,
    to_data,
    total,
)
from staticgraph.compiler.graph.size_contexts import Undecided
from staticgraph.compiler.graph.sizes import (
    MOST,
    Size,
    at_least,
    at_most,
    bounds,
    estimate,
    evaluate,
    positive,
    same,
    symbol,
)

B, T = symbol("B"), symbol("T")
VALUES = [0, 1, 2, 3, 7, 64, MOST]


def at(size, b, t):
    return evaluate(size, {"B": b, "T": t})


SIZES = st.recursive(
    st.sampled_from([B, T]) | st.integers(-9, 9),
    lambda inner: (
        st.builds(lambda a, b: a + b, inner, inner)
        | st.builds(lambda a, b: a - b, inner, inner)
        | st.builds(lambda a, b: a * b, inner, inner)
        | st.builds(lambda a, n: a // n, inner, st.integers(1, 8))
        | st.builds(lambda a, n: a % n, inner, st.integers(1, 8))
        | st.builds(positive, inner)
        | st.builds(at_most, inner, st.just(64))
        | st.builds(at_least, inner, st.just(-2))
    ),
    max_leaves=6,
)


@given(SIZES, SIZES)
def test_arithmetic_is_that_of_the_values(a, b):
    for x, y in itertools.product(VALUES, repeat=2):
        assert at(a + b, x, y) == at(a, x, y) + at(b, x, y)
        assert at(a - b, x, y) == at(a, x, y) - at(b, x, y)
        assert at(a * b, x, y) == at(a, x, y) * at(b, x, y)
        assert at(a // 3, x, y) == at(a, x, y) // 3
        assert at(a % 3, x, y) == at(a, x, y) % 3
        assert at(positive(a), x, y) == max(at(a, x, y), 1)


@given(st.lists(SIZES, max_size=4))
def test_sizes_are_replaced_and_added_up_together_as_one_by_one(sizes):
    assert same(total(sizes), sum(sizes))
    for by in ({"B": 5}, {"B": T * 2 + 1}, {"B": 3, "T": 0}):
        known = {}
        for size in sizes:
            made = replaced(size, by, known)
            assert same(made, replaced(size, by))
            for x in VALUES:
                values = {"T": x} | {name: evaluate(value, {"T": x}) for name, value in by.items()}
                assert evaluate(made, {"T": x}) == at(size, values["B"], values["T"])


@given(SIZES)
def test_functions_of_sizes_give_their_values(a):
    function = function_of(a)
    for x, y in itertools.product(VALUES, repeat=2):
        assert function({"B": x, "T": y}) == at(a, x, y)


@given(SIZES, SIZES)
def test_a_comparison_that_is_answered_holds_for_all_values(a, b):
    compared = {
        "==": lambda: a == b,
        "<": lambda: a < b,
        "<=": lambda: a <= b,
        ">": lambda: a > b,
        ">=": lambda: a >= b,
    }
    for name, compare in compared.items():
        try:
            answer = compare()
        except Undecided:
            continue
        for x, y in itertools.product(VALUES, repeat=2):
            assert eval(f"{at(a, x, y)} {name} {at(b, x, y)}") == answer, (a, name, b, x, y)


@given(SIZES)
def test_bounds_hold(a):
    least, most = bounds(a)
    assert all(least <= at(a, x, y) <= most for x, y in itertools.product(VALUES, repeat=2))


def test_bounds_of_quotients_are_those_of_their_rests():
    assert bounds((B + 1) // 2 - B // 2) == (0, 1)
    assert bounds(2 * ((B + 1) // 2) - B) == (0, 1)
    assert bounds((B + 2) // 3 - (B // 3)) == (0, 1)
    assert (B + 1) // 2 * 2 >= B > B // 4 * 4 - 1
    assert at_least(2 * ((B + 1) // 2) - B, 0) == 2 * ((B + 1) // 2) - B
    assert at_least(B, 0) is B and at_most(B + 1, 1) == 1 and at_least(B - 5, MOST) == MOST
    assert -(-B // 2) == (B + 1) // 2


@given(SIZES)
def test_equal_polynomials_are_equal_and_hash_alike(a):
    again = (a + B) - B
    assert again == a
    assert hash(again) == hash(a)


def test_what_leaves_no_symbol_is_a_number():
    assert type(B - B) is int
    assert type(B * 0) is int
    assert (B * 784 // 784) == B
    assert (B * T) // T == B
    assert (B * T * 6) // (T * 48) == B // 8 and (B * T) // (T * 3) == B // 3
    assert (B * 6 + 4) // 2 == B * 3 + 2


def test_questions_whose_answer_depends_on_values_are_not_answered():
    for ask in (
        lambda: B == 1,
        lambda: B == T,
        lambda: bool(B),
        lambda: B < 5,
        lambda: int(B),
        lambda: float(B),
        lambda: range(B),
        lambda: [0] * B,
        lambda: (B, 3) == (32, 3),
        lambda: 7 // B,
        lambda: B // T,
        lambda: hash(B) and {B: 1}[B] and B // 0,
    ):
        with pytest.raises(Undecided):
            ask()


def test_questions_with_one_answer_are_answered():
    assert B >= 0
    assert B + 1 > 0
    assert B != -1
    assert 2 * B != 3
    assert B * 10 >= B * 9
    assert B < 1 << 31
    assert (B, 3) == (B, 3)
    assert (B, 3) != (B, 4)
    assert (B, 3) != "a shape"


def test_the_question_of_equality_is_told():
    with pytest.raises(Undecided) as told:
        assert B == T
    assert told.value.equal == (B, T)
    assert str(told.value) == "B == T"


def test_estimates_take_the_same_value_for_each_symbol():
    assert estimate(B * T + 3) == 64 * 64 + 3
    assert estimate(5) == 5
    assert symbols(B * T // 3) == {"B", "T"}


def test_estimates_of_what_a_few_rows_do_not_have_are_positive():
    """A product of the rows from the hundredth on was planned for a negative number of rows."""
    assert estimate(B - 100) == 28 and estimate((B - 400) // 160 + 1) == 1
    assert estimate(B - 2000, 1024) == 48 and estimate(-B) == -64


@given(SIZES, st.integers(2, 5))
def test_the_parts_from_each_remainder_on_are_the_whole(size, count):
    parts = sum((size + r) // count for r in range(count))
    for x, y in itertools.product(VALUES, repeat=2):
        assert at(summed_up(parts * (T + 1)), x, y) == at(size, x, y) * (y + 1)


def test_sums_over_all_remainders_are_what_was_divided():
    for whole in (B, B + 1, B // 2, 3 * B - 1):
        assert same(summed_up(sum(-(-(whole - r) // 4) for r in range(4))), whole)
    halves = ((B + 1) // 2 + B // 2) * ((T + 1) // 2 + T // 2)
    assert same(summed_up(halves), B * T)


def test_text():
    assert repr(B * T * 2 - 3 + T) == "2*B*T + T - 3"
    assert repr((B + 1) // 3) == "((B + 1) // 3)"
    assert isinstance((B + 1) // 3, Size)


def test_blocks_of_rows_are_at_most_so_many():
    rows = symbol("rows")
    blocks = at_most(positive(rows // 16), 64)
    assert [evaluate(blocks, {"rows": n}) for n in (0, 15, 31, 32, 1000, 1024, 1040, 10**9)] == [
        1,
        1,
        1,
        2,
        62,
        64,
        64,
        64,
    ]
    assert bounds(blocks) == (1, 64)
    assert at_most(5, 3) == 3 and at_most(blocks, 64) is blocks
    assert same(of_data(to_data(blocks * 3 + 1)), blocks * 3 + 1)
    assert symbols(blocks) == {"rows"}
    assert repr(blocks) == "min(max(((rows) // 16), 1), 64)"


def test_sizes_that_are_computed_in_different_ways_are_the_same():
    rows = B * T
    for one, other in (
        ((B + 1) // 2, B - B // 2),
        ((rows + 1) // 2 * T, rows * T - rows // 2 * T),
        (B * 3 // 2, B + B // 2),
        ((B + 2) // 3, B - B // 3 - (B + 1) // 3),
        ((B - B // 2 + 5) // 8, ((B + 1) // 2 + 5) // 8),
        (positive((B + 1) // 2 - 3), positive(B - B // 2 - 3)),
    ):
        assert one == other and same(one, other) and hash(one) == hash(other), (one, other)
        assert one - other == 0 and type(one - other) is int


@given(SIZES, SIZES)
def test_equal_sizes_hash_alike(a, b):
    quotients = [size for size in (a // 2, (a + 1) // 2, a - a // 2, b - b // 3) if isinstance(size, Size)]
    for one, other in itertools.combinations(quotients, 2):
        if same(one, other):
            assert hash(one) == hash(other)
            assert all(at(one, x, y) == at(other, x, y) for x, y in itertools.product(VALUES, repeat=2))


def test_a_size_is_one_object_however_it_is_computed():
    n = symbol("n")
    assert n * 6 + 3 is (n * 2 + 1) * 3
    assert (n + 1) // 8 is (n + 1) // 8
    assert at_most(n // 8, 9) * 4 is at_most((n * 2) // 16, 9) * 4


@pytest.mark.parametrize(
    "name",
    ["n0", "case0_", "case0_" + "9" * 10, "case0_" + "9" * 5000, "case0_x9", "other_9"],
    ids=range(6),
)
def test_no_name_tells_a_bound_above_that_of_all_symbols(name):
    assert bounds(symbol(name)) == (0, MOST)
    assert bounds(symbol("case0_9")) == (0, 9)
