"""Classes drawn one after the other, with the streams of TensorFlow 1.15's candidate samplers.

With `unique`, a class that was drawn before is left out, and the next one is drawn. Each op gives the classes
and the number of draws that they took, from which follows how often a class is expected among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import bool_, float32, float64, int32, int64, uint64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import Kind
from staticgraph.compiler.graph.shapes import TensorType, compatible, shape_text
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Load
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Store, Update, While
from staticgraph.compiler.ops.kinds import Described, Out, View
from staticgraph.compiler.ops.random_numbers import philox
from staticgraph.compiler.ops.random_numbers.number_stream import NumberStream, numpy_below, numpy_numbers
from staticgraph.compiler.ops.random_numbers.random import STATE, drawn
from staticgraph.compiler.ops.samples import Draw, Sample, indices
from staticgraph.compiler.ops.statements.strips import Body, Fresh, whole

_Draw = Callable[["NumberStream"], tuple[Expr, Body]]  # a class, and the statements that draw it


def _wide(words: list[Expr]) -> list[Expr]:
    pairs = words[:2], words[2:]
    return [scalar.cast(low, uint64) | scalar.cast(high, uint64) << 32 for low, high in pairs]


def _classes(
    outs: tuple[Out, ...], state: View, num_sampled: int, unique: bool, range_max: int, draw: _Draw
) -> Described:
    """The statements that draw `num_sampled` classes, and count how often they draw."""
    candidates, tries = outs
    fresh = Fresh()
    stream = NumberStream(state, fresh)
    count, tried = fresh.local("count", int64), fresh.local("tried", int64)
    value, lets = draw(stream)
    drawn_class = fresh.local("class", int64)
    add: Body = (Store(candidates.buffer, (count,), drawn_class), Update(count, count + 1))
    erase: Body = ()
    if unique:
        entry = fresh.index("entry", range_max)
        erase = (Loop(entry, (Store("known", (entry,), Const(False, bool_)),), LoopKind.PARALLEL),)
        is_new = ~Load("known", (drawn_class,), bool_)
        add = (If(is_new, (Store("known", (drawn_class,), Const(True, bool_)), *add)),)
    body = (
        stream.begin(),
        Let(count, Const(0, int64)),
        Let(tried, Const(0, int64)),
        While(
            count < num_sampled,
            (*lets, Let(drawn_class, scalar.cast(value, int64)), Update(tried, tried + 1), *add),
        ),
        Store(tries.buffer, (whole(0),), tried),
    )
    scratch = {"known": Buffer(bool_, (range_max,), written=True, shared=True)} if unique else None
    return Described((*erase, Loop(fresh.index("once", 1), body)), scratch=scratch)


def check_number(number: int, unique: bool, classes: int) -> None:
    """Refuse to draw more different classes than the `classes` possible ones, for a type rule."""
    require(classes > 0, "there are no classes that could be drawn")
    text = f"{number} different classes cannot be drawn from {classes}"
    require(not unique or number <= classes, text)


def _classes_type(*_: TensorType, num_sampled: int, unique: bool, range_max: int, **__: Any) -> Any:
    check_number(num_sampled, unique, range_max)
    return TensorType(int64, (num_sampled,)), TensorType(int64, (1,))


def _numpy_classes(num_sampled: int, unique: bool, draw: Callable[[], int]) -> tuple[np.ndarray, np.ndarray]:
    found: list[int] = []
    known: set[int] = set()
    tries = 0
    while len(found) < num_sampled:
        tries += 1
        value = draw()
        if not unique or value not in known:
            known.add(value)
            found.append(value)
    return np.array(found, np.int64), np.array([tries])


def _numpy_log_uniform(
    state: np.ndarray, num_sampled: int, unique: bool, range_max: int, **_: Any
) -> tuple[np.ndarray, ...]:
    words = numpy_numbers(state, np.uint32)

    def draw() -> int:
        high, low = next(words), next(words)
        unit = ((high % 2**20) * 2**32 + low) / 2**52
        return (int(np.exp(unit * math.log1p(range_max))) - 1) % range_max

    return _numpy_classes(num_sampled, unique, draw)


_SAMPLES = [
    Sample(STATE, num_sampled=5, unique=True, range_max=9, seed=1, seed2=2),
    Sample(STATE, num_sampled=40, unique=True, range_max=3000, seed=3),
    Sample(STATE, num_sampled=16, unique=True, range_max=16, seed=4, seed2=4),
    Sample(STATE, num_sampled=7, unique=False, range_max=3, seed=5, seed2=6),
    Sample(STATE, num_sampled=1, unique=True, range_max=1, seed2=3),
]


@drawn(Kind.ROUTINE, type=_classes_type, numpy=_numpy_log_uniform, samples=_SAMPLES)
def log_uniform_classes(
    outs: tuple[Out, ...], state: View, *, num_sampled: int, unique: bool, range_max: int, seed: int = 0,
    seed2: int = 0,
) -> Described:  # fmt: skip
    """`num_sampled` classes below `range_max`, which are rarer the higher they are, and the number of draws.

    With `unique`, all of them are different.
    """

    def draw(stream: NumberStream) -> tuple[Expr, Body]:
        unit, lets = stream.taken(stream.number(2, lambda words: philox.uniform(words, float64)))
        value = scalar.cast(scalar.exp(unit * math.log1p(range_max)), int64) - 1
        return value % range_max, lets  # rounding may reach range_max itself

    return _classes(outs, state, num_sampled, unique, range_max, draw)


def _numpy_uniform(
    state: np.ndarray, num_sampled: int, unique: bool, range_max: int, **_: Any
) -> tuple[np.ndarray, ...]:
    words = numpy_numbers(state, np.uint64)
    return _numpy_classes(num_sampled, unique, lambda: numpy_below(words, range_max, 64))


@drawn(Kind.ROUTINE, type=_classes_type, numpy=_numpy_uniform, samples=_SAMPLES)
def uniform_classes(
    outs: tuple[Out, ...], state: View, *, num_sampled: int, unique: bool, range_max: int, seed: int = 0,
    seed2: int = 0,
) -> Described:  # fmt: skip
    """`num_sampled` classes below `range_max` of equal frequency, and the number of draws.

    With `unique`, all of them are different.
    """
    return _classes(
        outs, state, num_sampled, unique, range_max,
        lambda stream: stream.below(range_max, stream.number(2, _wide)),
    )  # fmt: skip


def alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the table by which a class is drawn in proportion to its weight, from one of equal frequency.

    The class of equal frequency is taken with the probability that stands at it, else the other class there
    (Walker, 1977). The order in which classes are paired is TensorFlow's.

    Args:
        weights: The weights of the classes, float32.

    Returns:
        The probabilities as float32, and the other classes as int32.
    """
    n = len(weights)
    chances = ((weights * np.float32(n)).astype(np.float64) / weights.sum(dtype=np.float64)).tolist()
    others = list(range(n))
    low, high = ([i for i in range(n) if (chances[i] < 1.0) is is_low] for is_low in (True, False))
    while low and high:
        short, long = low.pop(), high.pop()
        others[short] = long
        chances[long] -= 1.0 - chances[short]
        (low if chances[long] < 1.0 else high).append(long)
    for i in low + high:  # only rounding is left of them
        chances[i], others[i] = 1.0, i
    return np.array(chances, np.float32), np.array(others, np.int32)


def _numpy_by_table(
    state: np.ndarray, chances: np.ndarray, others: np.ndarray, num_sampled: int, unique: bool, **_: Any
) -> tuple[np.ndarray, ...]:
    words = numpy_numbers(state, np.uint32)

    def draw() -> int:
        unit = next(words) % 2**23 / 2**23
        place = numpy_below(words, len(chances), 32)
        return place if unit < chances[place] else int(others[place])

    return _numpy_classes(num_sampled, unique, draw)


def _by_table_type(*types: TensorType, num_sampled: int, unique: bool, **_: Any) -> Any:
    chances, others = types[-2:]
    text = f"chances has shape {shape_text(chances.shape)}, others {shape_text(others.shape)}"
    require(chances.rank in (None, 1) and compatible(chances.shape, others.shape), text)
    if chances.shape is not None and isinstance(classes := chances.shape[0], int):
        check_number(num_sampled, unique, classes)
    return TensorType(int64, (num_sampled,)), TensorType(int64, (1,))


@drawn(
    Kind.ROUTINE, type=_by_table_type, numpy=_numpy_by_table, vars={"chances": "C", "others": "O"},
    dtypes={"C": frozenset({float32}), "O": frozenset({int32})},
    samples=[
        Sample(STATE, Draw((9,), 0, 1, dtype="float32"), indices(9, below=9), num_sampled=3, unique=unique)
        for unique in (True, False)
    ] + [Sample(STATE, Draw((4,), 1, 2, dtype="float32"), indices(4, below=4), num_sampled=4, unique=True)],
)  # fmt: skip
def classes_by_table(
    outs: tuple[Out, ...], state: View, chances: View, others: View, *, num_sampled: int, unique: bool,
    seed: int = 0, seed2: int = 0,
) -> Described:  # fmt: skip
    """`num_sampled` classes by the table that `alias_table` makes, and the number of draws.

    With `unique`, all of them are different.
    """
    classes = chances.shape[0]

    def draw(stream: NumberStream) -> tuple[Expr, Body]:
        unit, lets = stream.taken(stream.number(4, lambda words: philox.uniform(words, float32)))
        place, more = stream.below(classes, stream.number(4, list))
        at = stream.fresh.local("place", int64)
        value = scalar.select(unit < chances[at], at, scalar.cast(others[at], int64))
        return value, (*lets, *more, Let(at, scalar.cast(place, int64)))

    return _classes(outs, state, num_sampled, unique, classes, draw)
