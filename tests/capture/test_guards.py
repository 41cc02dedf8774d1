"""Guards of programs with open sizes: which questions are answered, and which runs a program takes."""

from __future__ import annotations

import itertools
import json
from operator import ge

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.capture.guards import (
    Answers,
    Guard,
    as_one,
    asking,
    guard_of_data,
    known_from,
    settle,
    strongest,
)
from staticgraph.compiler.capture.open_shapes import OpenShapes, Specializer
from staticgraph.compiler.graph.open_sizes import replaced
from staticgraph.compiler.graph.size_contexts import Undecided, answering
from staticgraph.compiler.graph.sizes import MOST, bounds, evaluate, proven, symbol

N, M = symbol("n0"), symbol("n1")


def texts(answers: Answers) -> list[str]:
    return [*map(str, answers.guards)]


def test_comparisons_are_answered_by_the_sizes_at_hand():
    answers = Answers({"n0": 5, "n1": 7})
    with answering(answers):
        assert N > 3 and not N >= 6 and N != 4 and N < M and 2 * N > M
    assert texts(answers) == ["n0 >= 4", "n0 <= 5", "n0 != 4", "n1 >= n0 + 1", "2*n0 >= n1 + 1"]
    for n, m in itertools.product(range(12), repeat=2):
        kept = all(guard.holds({"n0": n, "n1": m}) for guard in answers.guards)
        assert kept == (n == 5 and n < m < 2 * n), (n, m)


def test_a_question_that_compares_nothing_leaves_no_guard():
    answers = Answers({"n0": 5})
    assert answers.ask(Undecided("its value", sizes=(N,))) is False and answers.guards == ()


def test_the_last_question_about_equal_symbols_is_not_put_off():
    answers = Answers({"n0": 5, "n1": 5, "n2": 5}, puts_off=True)
    with answering(answers):
        assert N == M  # `n2` may be asked about, too
        with pytest.raises(Undecided):  # all have one name: nothing that follows can tell more
            assert symbol("n2") == M
    assert answers.put_off is not None and len(answers.put_off) == 2


def test_what_is_the_same_for_all_sizes_needs_no_guard():
    answers = Answers({"n0": 5})
    with answering(answers):
        assert N >= 0 and N + 1 > 0 and N == N * 1 and 2 * N != 3
        assert not proven(lambda a, b: a < b, N, 8)  # not for all sizes, whatever the one at hand
    assert answers.guards == ()


@pytest.mark.parametrize("ask", [lambda: N == 5, lambda: N == M, lambda: N * M == 25, lambda: 5 in (1, N)])
def test_that_sizes_are_equal_is_not_told_but_known_from_then_on(ask):
    answers = Answers({"n0": 5, "n1": 5})
    with answering(answers), pytest.raises(Undecided):
        ask()
    assert len(answers.guards) == 1 and answers.guards[0].relation == "=="


@pytest.mark.parametrize(
    "guards, known",
    [
        ([(N - 3, ">=")], N + 3),
        ([(2 * N - 3, ">=")], N + 2),
        ([(N - 4, ">=")], N + 4),
        ([(N, "!=")], N + 1),
        ([(N, "!="), (N - 1, "!=")], N + 2),
        ([(N - 2, "!=")], None),
        ([(N - 3, ">="), (3 - N, ">=")], 3),
        ([(-N, ">=")], 0),
        ([(8 - N, ">=")], None),
        ([(5 - 2 * N, ">="), (N, "!="), (N - 1, "!=")], 2),
        ([(N - M, ">=")], None),
    ],
)
def test_guards_tell_of_symbols(guards, known):
    made = [Guard(size, relation) for size, relation in guards]
    assert known_from(made).get("n0") == known
    for n in range(20):
        if all(guard.holds({"n0": n, "n1": 0}) for guard in made) and known is not None:
            least, most = bounds(known)
            assert least <= n <= most


@pytest.mark.parametrize("size", [N, 4 * N + 3, N * M - 2, (3 * N + 1) // 2, (N * M) // 4 * 4 + M])
def test_other_sizes_take_the_place_of_symbols(size):
    by = {"n0": M * 2 + 1}
    for m in range(7):
        assert evaluate(replaced(size, by), {"n1": m}) == evaluate(size, {"n0": 2 * m + 1, "n1": m})
    assert replaced(size, {"n0": 3, "n1": 4}) == evaluate(size, {"n0": 3, "n1": 4})


@pytest.mark.parametrize(
    ("guard", "by", "left"),
    [
        (Guard(N, "!="), M, Guard(M, "!=")),  # a size may be 0
        (Guard(-N, "!="), M, Guard(-M, "!=")),
        (Guard(N, "!="), M + 1, None),
        (Guard(-N, "!="), M + 1, None),
        (Guard(N, ">="), M, None),
        (Guard(N - 1, ">="), M, Guard(M - 1, ">=")),
        (Guard(N - 3, "=="), M, Guard(M - 3, "==")),
    ],
    ids=str,
)
def test_a_guard_is_left_unless_it_always_holds(guard, by, left):
    assert guard.replaced({"n0": by}) == left


def test_a_guard_is_kept_in_files():
    guard = Guard(N * 4 - (M + 1) // 2, ">=")
    assert guard_of_data(json.loads(json.dumps(guard.to_data()))) == guard
    for wrong in (None, [], [5, ">="], [guard.to_data()[0], "<"], [["n0"], ">="], [[[["n0"], "1"]], ">="]):
        with pytest.raises(ValueError):
            guard_of_data(wrong)


def test_guards_of_a_part_are_those_of_the_whole_too():
    answers = Answers({"n0": 5})
    with answering(answers):
        assert N > 3
        with asking() as guards:
            assert N > 3 and N > 1
        assert [*map(str, guards())] == ["n0 >= 4", "n0 >= 2"]
    assert texts(answers) == ["n0 >= 4", "n0 >= 2"]
    with asking() as guards:
        assert guards() == ()


# Searches


def searched(specializer: Specializer, ask, *sizes: int) -> tuple[OpenShapes | None, int]:
    """Return the shapes that a program takes which asks so much, and how often it was tried."""
    tries = 0

    def make(shapes: OpenShapes) -> str:
        nonlocal tries
        tries += 1
        ask(*(shape[0] for shape in shapes.shapes))
        return "a program"

    start = OpenShapes(((N,), (M,))[: len(sizes)])
    found = specializer.search(start, [(n,) for n in sizes], make)
    return found and found[0], tries


def index(size):
    return [10, 20, 30, 40][size]


@pytest.mark.parametrize(
    "ask, sizes, shapes, guards",
    [
        (lambda n, m: n == m, (5, 5), ((N,), (N,)), []),
        (lambda n, m: n == m, (5, 6), ((N,), (M,)), ["n0 != n1"]),
        (lambda n, m: n + 2 == m, (5, 7), ((N,), (N + 2,)), []),
        (lambda n, m: n == m + 2, (7, 5), ((M + 2,), (M,)), []),
        (lambda n, m: 16 * n == 16 * m, (5, 5), ((N,), (N,)), []),
        (lambda n, m: 16 * n == 16 * m + 32, (7, 5), ((M + 2,), (M,)), []),
        (lambda n, m: n * m == m * m, (5, 5), ((N,), (N,)), []),
        (lambda n, m: n * n == m * m, (5, 5), ((N,), (N,)), []),
        (lambda n, m: n * m == 25, (5, 5), None, []),
        (lambda n, m: 4 * (n // 4) == n, (8, 5), ((4 * N,), (M,)), []),
        (lambda n, m: 4 * (n // 4) == n, (9, 5), ((N,), (M,)), ["4*((n0) // 4) != n0"]),
        (lambda n, m: (6 * n + 2) % 4 == 0, (7, 5), ((2 * N + 1,), (M,)), []),
        (lambda n, m: n // 2 + 1 == m, (7, 4), ((N,), (N // 2 + 1,)), []),
        (lambda n, m: n * n == m, (3, 9), ((N,), (N * N,)), []),
        (lambda n, m: 4 * (n // 4) == n and n // 2 == m, (8, 4), ((4 * N,), (2 * N,)), []),
        (lambda n, m: n * n - 5 == m, (3, 4), None, []),
        (lambda n, m: 6 * (n * m // 6) == n * m, (6, 5), ((6,), (M,)), []),
        (lambda n, m: 6 * (n * m // 6) == n * m, (5, 6), ((N,), (6,)), []),
        (lambda n, m: 6 * (n * m // 6) == n * m, (4, 3), None, []),
        (lambda n, m: index(n), (2, 6), ((2,), (M,)), []),
        (lambda n, m: n == 3, (3, 6), ((3,), (M,)), []),
        (lambda n, m: n == 3, (4, 6), ((N,), (M,)), ["n0 != 3"]),
        (lambda n, m: n >= 3, (4, 6), ((N,), (M,)), ["n0 >= 3"]),
        (
            lambda n, m: (n >= 3 and proven(lambda a, b: a >= b, n, 3)) or index(n),
            (4, 6),
            ((N + 3,), (M,)),
            [],
        ),
        (lambda n, m: n < 1 and index(n), (0, 6), ((0,), (M,)), []),
        (lambda n, m: float(n * m), (4, 6), None, []),
        (lambda n, m: 1 / 0, (4, 6), None, []),
    ],
)
def test_a_size_is_open_unless_its_value_is_asked(ask, sizes, shapes, guards):
    found, _ = searched(Specializer(), ask, *sizes)
    assert (found and found.shapes) == shapes
    assert found is None or [*map(str, found.guards)] == guards


def test_sizes_are_looked_for_in_parts_and_in_what_follows():
    shapes = OpenShapes(((4 * N + 3, M), (N * M,)))
    assert shapes.values([(11, 5), (10,)]) == {"n0": 2, "n1": 5}
    for other in ([(12, 5), (10,)], [(11, 5), (11,)], [(2, 5), (0,)], [(11, 5, 1), (10,)]):
        assert shapes.values(other) is None


def test_a_question_is_met_once():
    specializer = Specializer()
    assert [searched(specializer, index, n)[1] for n in (1, 2, 3, 0)] == [1, 0, 0, 0]


def test_feeds_of_one_length_are_met_at_once():
    """Each pair of them was a question of its own, and the graph was captured again after each."""
    sizes, made = [symbol(f"n{n}") for n in range(20)], []

    def make(shapes: OpenShapes) -> str:
        made.append(shapes)
        equal = [one == other for (one,), (other,) in itertools.pairwise(shapes.shapes)]
        settle()
        assert equal == [True] * 9 + [False] + [True] * 9
        return "a program"

    start = OpenShapes(tuple((n,) for n in sizes))
    found = Specializer().search(start, [(5,)] * 10 + [(6,)] * 10, make)
    assert found is not None and len(made) == 2
    assert found[0].shapes == (*[(N,)] * 10, *[(symbol("n10"),)] * 10)
    assert [*map(str, found[0].guards)] == ["n0 != n10"]


@pytest.mark.parametrize("count, asked", [(12, 12), (4, 1)])
def test_the_values_of_many_numbers_are_asked_at_once(count: int, asked: int):
    """The numbers of 12 segments were asked one after the other. Of a shape, one size may be asked alone."""
    contents, tries = tuple(symbol(f"n{n}") for n in range(1, count + 1)), 0

    def make(shapes: OpenShapes) -> list[int]:
        nonlocal tries
        tries += 1
        return [*map(index, shapes.contents[0][:asked])]

    start = OpenShapes(((N,), (count,)), sized=(1,), contents=(contents,))
    found = Specializer().search(start, [(7,), (count,), (3,) * count], make)
    assert found is not None and found[0].count == 1 + count - asked
    assert tries == 2


def test_what_cannot_be_made_now_is_tried_again():
    """So it is if a variable has no value yet."""
    specializer, made = Specializer(), iter([None, "a program"])
    found = [specializer.search(OpenShapes(((N,),)), [(4,)], lambda shapes: next(made)) for _ in range(2)]
    assert [each and each[1] for each in found] == [None, "a program"]


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_what_lacked_room_is_tried_again(error):
    specializer, errors = Specializer(), [error()]

    def make(shapes: OpenShapes) -> str:
        if errors:
            raise errors.pop()
        return "a program"

    start = OpenShapes(((N,),))
    with pytest.raises(error):
        specializer.search(start, [(4,)], make)
    assert specializer.search(start, [(4,)], make) == (start, "a program")


def test_the_program_of_a_run_does_not_depend_on_the_runs_before():
    def ask(n, m):
        if n < 3 and m > 2:
            index(n)
        if n == m or m == 4:
            return
        assert n != 5 or proven(ge, m, 2) or index(m)

    pairs = [*itertools.product((0, 1, 2, 3, 4, 5, 8), repeat=2)]
    alone = [searched(Specializer(), ask, *pair)[0] for pair in pairs]
    rng = np.random.default_rng(0)
    for _ in range(20):
        specializer = Specializer()
        for i in rng.permutation(len(pairs)):
            assert repr(searched(specializer, ask, *pairs[i])[0]) == repr(alone[i])
    for given, shapes in zip(pairs, alone, strict=True):  # a run that fits a program would get the same one
        for other, its in zip(pairs, alone, strict=True):
            if shapes is not None and shapes.values([(n,) for n in other]) is not None:
                assert repr(its) == repr(shapes), (given, other)


def test_no_symbol_is_greater_than_can_be():
    assert OpenShapes(((N,),)).values([(MOST,)]) == {"n0": MOST}
    assert OpenShapes(((N,),)).values([(MOST + 1,)]) is None
    assert OpenShapes(((N + 3,),)).values([(2,)]) is None


def test_products_that_are_equal_make_symbols_of_pairs():
    a, b, c, d = (symbol(f"n{number}") for number in range(4))
    values = {"n0": 5, "n1": 7, "n2": 7, "n3": 5}
    assert as_one(Undecided("", (a * b, c * d)), values) == {"n3": a, "n2": b}
    assert (
        as_one(Undecided("", (a * b, c * d)), {"n0": 2, "n1": 6, "n2": 3, "n3": 4}) == {}
    )  # equal by chance
    assert as_one(Undecided("", (a * b * 4, d * b * 4)), values) == {"n3": a}
    assert as_one(Undecided("", (a, b)), values) == {}
    assert as_one(Undecided("", (a + 1, b)), {"n0": 5, "n1": 6}) == {"n1": a + 1}  # `b - 1` may be negative
    assert as_one(Undecided("", (a, b + 1)), {"n0": 5, "n1": 4}) == {"n0": b + 1}
    assert as_one(Undecided("", (a * b, c)), {"n0": 1, "n1": 1, "n2": 1}) == {"n2": a * b}
    assert as_one(Undecided("", (a * c + 6, b * c)), {"n0": 1, "n1": 3, "n2": 3}) == {}  # by chance, too
    assert as_one(Undecided("", (a + b, c + d)), values) == {}


def test_a_session_compiles_once_for_runs_with_the_same_answers():
    x = sg.placeholder(sg.float32, [None, 2])
    part = sg.reduce_sum(sg.slice(x, [0, 0], [3, 2])) + sg.reduce_sum(x)
    with sg.Session(open_sizes=True) as session:
        for rows in (4, 3, 9, 100):
            assert session.run(part, {x: np.ones((rows, 2))}) == 6 + 2 * rows
        with pytest.raises(sg.errors.InvalidArgumentError, match="no elements 0 to 2"):
            session.run(part, {x: np.ones((2, 2))})
        assert len(session.compiles) == 1


def test_a_batch_that_only_the_graph_knows_leaves_the_length_open():
    """A placeholder without a shape tells nothing; `reshape` asks if its elements are rows of six."""
    x = sg.placeholder(sg.float32)
    twice = sg.reshape(sg.reshape(x, [-1, 3]), [6, -1, 3]) * 2
    with sg.Session(open_sizes=True) as session:
        for length in (5, 4, 9, 1):
            batch = np.random.default_rng(length).normal(size=(6, length, 3)).astype("f4")
            np.testing.assert_array_equal(session.run(twice, {x: batch}), batch * 2)
        assert session.compiles[0].symbols == "n1: axis 1 of Placeholder"


def test_guards_that_others_imply_are_left_out():
    n, m = symbol("n0"), symbol("n1")
    guards = [Guard(n - 2, ">="), Guard(n, "!="), Guard(n - 6, ">="), Guard(m - n, ">="), Guard(9 - n, "!=")]
    guards += [Guard(m - n + 1, ">="), Guard(n - 6, ">="), Guard(20 - n, ">="), Guard(8 - n, ">=")]
    found = strongest(guards)
    assert [*map(str, found)] == ["n0 >= 6", "n1 >= n0", "n0 <= 8"]
    for values in ({"n0": a, "n1": b} for a in range(25) for b in range(25)):
        assert all(g.holds(values) for g in found) == all(g.holds(values) for g in guards)
