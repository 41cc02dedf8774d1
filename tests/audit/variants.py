"""Uses of an op that its samples do not have: operands of every other size, attributes of every other value.

Each differs from a sample in one place, or in two that a seed chooses. Whether an op takes them is for its
type rule to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DTYPES, DType
from staticgraph.compiler.graph.opdef import Effect, OpDef, Role
from staticgraph.compiler.ops.samples import Sample
from tests.ops.harness import Use, dtype_choices, uses

LARGE = 67  # elements along an axis: more than vectors and blocks of kernels have
MOST = 1 << 18  # elements of an operand
INTEGERS = (-1, 0, 1, 2, 3, 7, -2, 1 << 20, 1 << 31, (1 << 62) + 1, (1 << 63) - 1, -(1 << 63))
WORDS = (
    "SAME",
    "VALID",
    "EXPLICIT",
    "NHWC",
    "NCHW",
    "NDHWC",
    "NCDHW",
    "REFLECT",
    "SYMMETRIC",
    "bilinear",
    "",
    "x",
)


def samples(op: OpDef) -> list[Use]:
    """The uses that the registry describes, of the first dtypes."""
    return uses(op, next(dtype_choices(op)))


def sizes(use: Use) -> Iterator[Use]:
    """Every axis of every operand with every other size, and every operand with one axis more or less."""
    hidden = int(use.op.effect is Effect.RANDOM)  # the state, which the compiler adds
    for number, array in enumerate(use.arrays[hidden:], hidden):
        for shape in _shapes(array.shape):
            yield with_shape(use, number, shape)


def attributes(use: Use) -> Iterator[Use]:
    """Every attribute with every other value, entries of tuples one by one."""
    given = {**{p.name: p.default for p in use.op.params if p.role in _PLAIN}, **use.sample.attrs}
    for name, value in given.items():
        for other in others(value):
            yield with_attribute(use, name, other)


def drawn(use: Use, chance: Random) -> Use:
    """A use that differs in two or three places."""
    for _ in range(chance.choice([2, 2, 3])):
        attrs = {p.name: p.default for p in use.op.params if p.role in _PLAIN} | use.sample.attrs
        if attrs and chance.random() < 0.5:
            name = chance.choice(sorted(attrs))
            if found := list(others(attrs[name])):
                use = with_attribute(use, name, chance.choice(found))
        elif len(use.arrays) > (hidden := int(use.op.effect is Effect.RANDOM)):
            number = chance.randrange(hidden, len(use.arrays))
            use = with_shape(use, number, chance.choice(list(_shapes(use.arrays[number].shape))))
            if chance.random() < 0.3:
                use = with_values(use, number, chance)
    return use


_PLAIN = (Role.ATTR, Role.OPERAND)


ASCENDING = ("lower_bound", "upper_bound")  # of a row that does not ascend they mean no certain place


def with_shape(use: Use, number: int, shape: tuple[int, ...]) -> Use:
    """`use` with an operand of another shape, and the same numbers over and over in it."""
    array = use.arrays[number]
    count = int(np.prod(shape, dtype=np.int64))
    made = np.resize(array, shape) if array.size and count else np.ones(shape, array.dtype)
    if use.op.name in ASCENDING and number == 0 and made.ndim:
        made = np.sort(made, axis=-1)
    return replace(use, arrays=(*use.arrays[:number], made.astype(array.dtype), *use.arrays[number + 1 :]))


def with_attribute(use: Use, name: str, value: Any) -> Use:
    """`use` with another value of an attribute."""
    return replace(use, sample=Sample(*use.sample.draws, **{**use.sample.attrs, name: value}))


def with_values(use: Use, number: int, chance: Random) -> Use:
    """`use` with numbers in an integer operand that are no positions of anything."""
    array, dtype = use.arrays[number], use.dtypes[number]
    if not dtype.is_integer or not array.size:
        return use
    made = array.copy()
    for _ in range(chance.choice([1, 2, array.size])):
        place = chance.randrange(array.size)
        made.flat[place] = chance.choice(
            [int(dtype.min), int(dtype.max), max(-1, int(dtype.min)), 0, 1, 5, 100]
        )
    return replace(use, arrays=(*use.arrays[:number], made, *use.arrays[number + 1 :]))


def other_sizes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Shapes of the same rank that differ along one axis."""
    return (other for other in _shapes(shape) if len(other) == len(shape))


def _shapes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    found: dict[tuple[int, ...], None] = {}
    for axis, n in enumerate(shape):
        for size in (0, 1, n - 1, n + 1, 2 * n, LARGE):
            if size >= 0:
                found[(*shape[:axis], size, *shape[axis + 1 :])] = None
        found[(*shape[:axis], *shape[axis + 1 :])] = None
    for size in (1, 2):
        found[(size, *shape)] = None
        found[(*shape, size)] = None
    found.pop(shape, None)
    return (s for s in found if np.prod(s, dtype=np.float64) <= MOST)


def others(value: Any) -> Iterator[Any]:
    """Other values, of the same kind and of others."""
    match value:
        case bool():
            yield from (not value, 2, None, "x")
        case int():
            yield from (n for n in (*INTEGERS, value + 1, value - 1, 2 * value) if n != value)
            yield from (0.5, None, "x", (value,))
        case float():
            yield from (0.0, -1.0, 1e308, float("nan"), float("inf"), None, "x")
        case str():
            yield from (w for w in WORDS if w != value)
            yield from (0, None)
        case DType():
            yield from (d for d in DTYPES.values() if d is not value)
            yield from ("float32", 1, None)
        case list() | tuple():
            items = tuple(value)
            for place, item in enumerate(items):
                for other in others(item):
                    yield (*items[:place], other, *items[place + 1 :])
                yield (*items[:place], *items[place + 1 :])
            yield from ((*items, 1), (*items, *items), (), None, 1, "x")
        case None:
            yield from (*INTEGERS, (0,), (), (2, 2), "x")
        case np.ndarray():
            yield from others(value.tolist())
