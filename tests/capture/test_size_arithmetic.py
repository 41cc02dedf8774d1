"""Whole numbers that are computed of an open size are open sizes, too: one program serves all of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.capture.guards import Answers
from staticgraph.compiler.graph.opdef import OPS
from staticgraph.compiler.graph.size_contexts import Undecided, answering
from staticgraph.compiler.graph.sizes import attribute_at, symbol
from tests.everywhere import check_everywhere

ROWS = (2, 5, 1, 3, 4, 7, 0, 64)
COUNTS: dict[str, tuple[Callable[[Any], Any], Callable[[int], int]]] = {
    "quotient": (lambda n: n // 2, lambda n: n // 2),
    "quotient of several": (lambda n: n * 2 // 3 + 2, lambda n: n * 2 // 3 + 2),
    "rounded up": (lambda n: -(-n // 4), lambda n: -(-n // 4)),
    "remainder": (lambda n: n % 3, lambda n: n % 3),
    "div": (lambda n: sg.div(n, 2), lambda n: n // 2),
    "truncatediv": (lambda n: sg.truncatediv(n, 3), lambda n: n // 3),
    "truncatemod": (lambda n: sg.truncatemod(n, 3), lambda n: n % 3),
    "power": (lambda n: n**2, lambda n: n**2),
    "abs": (lambda n: sg.abs(-n - 1), lambda n: n + 1),
    "right shift": (lambda n: sg.bitwise.right_shift(n, 1), lambda n: n // 2),
    "left shift": (lambda n: sg.bitwise.left_shift(n, 1), lambda n: n * 2),
    "low bits": (lambda n: sg.bitwise.bitwise_and(n, 7), lambda n: n & 7),
    "high bits": (lambda n: sg.bitwise.bitwise_and(n + 7, -8), lambda n: (n + 7) & -8),
    "of 64 bits": (lambda n: sg.cast(sg.cast(n, sg.int64) // 2, sg.int32), lambda n: n // 2),
}


@pytest.mark.parametrize("name", COUNTS)
def test_one_program_serves_all_sizes(name: str):
    count, expected = COUNTS[name]
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    rows = sg.fill(sg.stack([count(sg.shape(x)[0]), 2]), 1.0) * 2.0
    with sg.Session(device="cpu") as session:
        for n in ROWS:
            assert session.run(rows, {x: np.zeros((n, 2))}).shape == (expected(n), 2)
        assert len(session.compiles) == 1


def test_extremes_of_sizes_are_guards():
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    n = sg.shape(x)[0]
    sizes = [sg.reduce_max(sg.stack([n, 3])), sg.reduce_min(sg.stack([n, 3]))]
    rows = sg.fill(sg.stack(sizes), 1.0) * 2.0
    with sg.Session(device="cpu") as session:
        for count in ROWS:
            assert session.run(rows, {x: np.zeros((count, 2))}).shape == (max(count, 3), min(count, 3))
        assert len(session.compiles) == 3  # less than 3 rows, 3, and more


def test_a_size_divided_by_zero_is_told():
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    rows = sg.zeros([sg.shape(x)[0] // 0])
    with sg.Session(device="cpu") as session, pytest.raises(sg.errors.InvalidArgumentError, match="zero"):
        session.run(rows, {x: np.zeros((3, 2))})


def test_experts_of_a_capacity_are_one_program():
    """A mixture of experts: each takes as many tokens as a share of the batch, others are dropped."""
    x = sg.placeholder(sg.float32, [None, 4], name="x")
    n, experts = sg.shape(x)[0], 3
    chosen = sg.argmax(x[:, :experts], 1, output_type=sg.int32)
    hot = sg.one_hot(chosen, experts, dtype=sg.int32)
    place, capacity = sg.reduce_sum((sg.cumsum(hot, 0) - 1) * hot, 1), n * 2 // experts + 2
    dropped = sg.zeros_like(place) + experts * capacity
    slot = sg.where(place < capacity, chosen * capacity + place, dropped)
    buffer = sg.scatter_nd(slot[:, None], x, sg.stack([experts * capacity + 1, 4]))
    taken = sg.reduce_sum(sg.reshape(buffer[:-1], sg.stack([experts, capacity, 4])), 1)
    rng = np.random.default_rng(0)
    with sg.Session(device="cpu") as session:
        for rows in (2, 5, 1, 3, 4, 7, 30):
            fed = rng.normal(size=(rows, 4)).astype(np.float32)
            expected = np.zeros((experts, 4), np.float32)
            seen = [0] * experts
            for row in fed:
                expert = row[:experts].argmax()
                expected[expert] += row * (seen[expert] < rows * 2 // experts + 2)
                seen[expert] += 1
            np.testing.assert_allclose(session.run(taken, {x: fed}), expected, rtol=1e-5, atol=1e-5)
        assert len(session.compiles) <= 2


@pytest.mark.parametrize("name", sorted(name for name, op in OPS.items() if op.of_sizes and name != "cast"))
def test_a_meaning_is_that_of_the_op(name: str):
    """Sizes minus a number are negative in some runs: quotients are rounded as NumPy's reference says.

    Not every number is a mask of bits, as -8 is: `n & -3` was 3 for 5.
    """
    n, reference, of_sizes = symbol("n"), OPS[name].reference, OPS[name].of_sizes
    assert reference is not None and of_sizes is not None
    others = ((),) if name == "abs" else [(n,) for n in (0, 1, 2, 3, 5, 6, 7, 8, 12, 31, -1, -2, -3, -6, -8)]
    found_any = False
    for value in (0, 1, 4, 9, 33):
        for other in others:
            with answering(Answers({"n": value})):
                for operand in (n - 5, n, n * 3 + 1):
                    known = np.asarray(attribute_at(operand, {"n": value}), np.int64)
                    try:
                        found = of_sizes(operand, *other)
                    except (Undecided, TypeError):
                        continue
                    wanted = reference(known, *(np.asarray(o, np.int64) for o in other))
                    assert attribute_at(found, {"n": value}) == wanted, (operand, other, value)
                    found_any = True
    assert found_any


STAGED: dict[str, tuple[Callable[[Any], Any], Callable[[int], int]]] = {
    "rounded up half": (lambda n: sg.cast(sg.ceil(n / 2), sg.int32), lambda n: -(-n // 2)),
    "part": (lambda n: sg.cast(sg.cast(n, sg.float32) * 0.75, sg.int32), lambda n: int(n * 0.75)),
    "logarithm": (
        lambda n: sg.cast(sg.ceil(sg.log(sg.cast(n + 1, sg.float64))), sg.int32),
        lambda n: int(np.ceil(np.log(n + 1))),
    ),
    "branch": (lambda n: sg.cond(n > 3, lambda: n, lambda: n * 2), lambda n: n if n > 3 else n * 2),
}


@pytest.mark.parametrize("name", STAGED)
def test_a_size_that_is_no_polynomial_is_computed_first(name: str):
    """It was known in a program of its own for each size, and no warning told so."""
    count, expected = STAGED[name]
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    w = sg.Variable(3.0)
    part = x[: count(sg.shape(x)[0])] * w
    slope = sg.gradients(sg.reduce_sum(part), w)[0]
    with sg.Session(device="cpu") as session:
        session.run(w.initializer)
        before = len(session.compiles)
        for n in ROWS:
            rows, found = session.run([part, slope], {x: np.ones((n, 2))})
            wanted = len(np.ones(n)[: expected(n)])
            assert rows.shape == (wanted, 2) and found == 2 * wanted
        assert len(session.compiles) - before <= 4  # the size first; the rest has guards of its own


def test_a_choice_of_sizes_is_a_guard():
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    n = sg.shape(x)[0]
    rows = sg.zeros([sg.where(n > 3, n, 3 * sg.ones_like(n))]) + 1.0
    with sg.Session(device="cpu") as session:
        for count in ROWS:
            assert session.run(rows, {x: np.zeros((count, 2))}).shape == (max(count, 3),)
        assert len(session.compiles) == 2


def test_a_long_chain_of_choices_is_followed():
    """Each was followed by a call within a call, of which Python allows a thousand."""
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    n = sg.shape(x)[0]
    for _ in range(1200):
        n = sg.where(n > 3, n + 1, n)
    with sg.Session(device="cpu") as session:
        assert session.run(sg.zeros([n]), {x: np.zeros((2, 2))}).shape == (2,)


def test_a_roll_by_a_part_of_an_open_size():
    """Each size had a program of its own: the shift was a number in the code."""

    def build() -> dict[str, Any]:
        x = sg.placeholder(sg.float32, [None, None, 4], name="x")
        n = sg.shape(x)[1]
        w = sg.Variable(2.0, name="w")
        y = sg.roll(x * w, [n // 2, 1 - n], [1, 2])
        return {"y": y, "slope": sg.gradients(sg.reduce_sum(y * y), w)[0], "shifted": sg.signal.fftshift(x)}

    rng = np.random.default_rng(0)
    feeds = [{"x": rng.normal(size=(2, n, 4)).astype(np.float32)} for n in (5, 8, 1, 3)]
    expected = [
        {
            "y": np.roll(2 * (x := fed["x"]), [x.shape[1] // 2, 1 - x.shape[1]], [1, 2]),
            "slope": 4 * (x * x).sum(),
            "shifted": np.fft.fftshift(x),
        }
        for fed in feeds
    ]
    places = ("session", "interpreter", "file", "graph_def", "gpu")
    check_everywhere(build, *feeds, places=places, expected=expected)
    with sg.Graph().as_default(), sg.Session(device="cpu") as session:
        fetches = build()
        session.run(sg.global_variables_initializer())
        before = len(session.compiles)
        for fed in feeds:
            session.run(fetches, {"x:0": fed["x"]})
        assert len(session.compiles) - before == 1
