"""Arithmetic of sizes wraps around as its dtype does, whether sizes are open or not.

Sizes and fed values that shapes depend on are computed with exactly, so that one program takes all of them. A
generator of random numbers made of them was exact, too, and gave numbers beyond its dtype.
"""

from __future__ import annotations

import numpy as np

import staticgraph as sg

LARGE = 1103515245
# What TensorFlow 1.15.5 gives, of int32.
FOUND = {
    "least": (lambda n: sg.minimum(n * LARGE, 9), {3: -984421561, -3: 9}),
    "greatest": (lambda n: sg.maximum(n * LARGE, 3), {3: 3, -3: 984421561}),
    "limits": (lambda n: sg.clip_by_value(n * LARGE, 3, 11), {3: 3, -3: 11, 2**31 - 1: 11}),
    "twice": (lambda n: n * 65536 * 65536 + 5, {3: 5, -3: 5, 2**31 - 1: 5}),
    "less": (lambda n: sg.minimum(n * 65536 * 65536 + 5, 9), {3: 5, -3: 5, 2**31 - 1: 5}),
    "quotient": (lambda n: n * LARGE // 100000000, {3: -10, -3: 9, 2**31 - 1: 10}),
    "narrow": (lambda n: sg.cast(sg.cast(n * 100, sg.int8), sg.int32), {3: 44, -3: -44, 2**31 - 1: -100}),
    "wide": (lambda n: sg.cast(sg.cast(n * LARGE, sg.int64) // 10**9, sg.int32), {3: -1, -3: 0}),
}


def test_numbers_wrap_around():
    """A number of a fed size and one of a fed number, each by itself and as a size."""
    x, fed = sg.placeholder(sg.float32, [None]), sg.placeholder(sg.int32, [])
    made = {}
    for name, (function, _) in FOUND.items():
        numbers = [function(sg.shape(x)[0]), function(fed)]
        made[name] = [
            (number, sg.shape(sg.fill([sg.clip_by_value(number, 0, 50)], 1.0))[0]) for number in numbers
        ]
    with sg.Session() as session:
        for name, (_, wanted) in FOUND.items():
            for n, number in wanted.items():
                pair = (number, min(max(number, 0), 50))
                assert session.run(made[name][1], {fed: n}) == pair, (name, n)
                if 0 < n < 100:
                    assert session.run(made[name][0], {x: np.zeros(n)}) == pair, (name, n)


def test_products_of_64_bits():
    n, p = sg.placeholder(sg.int64, []), sg.placeholder(sg.float32, [20])
    large = sg.constant(2**40, sg.int64)
    place = sg.minimum(n * large * large + 5, 9)
    with sg.Session() as session:
        found = session.run([place, p[place:][:1]], {n: 1, p: np.arange(20)})
    assert found == [5, [5.0]]


def test_a_power_fits_or_is_another_program():
    """2000**3 wraps around in int32, 1290**3 does not: TensorFlow's numbers are those of the dtype."""
    n = sg.placeholder(sg.int32, [])
    rows = sg.fill([sg.floormod(n * n * n, 5)], 1.0) * 2.0
    with sg.Session() as session:
        for number, wanted in ((3, 2), (1290, 0), (2000, 3), (65536, 0), (1300, 4), (7, 3)):
            assert session.run(rows, {n: number}).shape == (wanted,), number
        assert len(session.compiles) <= 3


def test_usual_sizes_are_one_program():
    x = sg.placeholder(sg.float32, [None, None, 3])
    count = sg.shape(x)[0] * sg.shape(x)[1] * 3 * 512
    made = sg.reduce_sum(sg.reshape(sg.tile(sg.reshape(x, [-1]), [1024]), [count, 2]), 1)
    with sg.Session() as session:
        for n in (2, 4, 6):
            assert session.run(made, {x: np.ones((n, 3, 3))}).shape == (n * 3 * 3 * 512,)
        assert len(session.compiles) == 1
