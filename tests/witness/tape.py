"""Reverse-mode differentiation of what was computed: a tape of primitives on NumPy arrays.

It is written for the witness and shares nothing with the compiler. Nearly all structure is in two primitives:
`take` picks elements by their flat positions, and `put` adds elements up at flat positions. Each is the
transpose of the other, so slices, transpositions, paddings, patches of convolutions and scatters need no
derivatives of their own. All cotangents are nodes of the tape again, so derivatives have derivatives.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

_IDS = itertools.count()


class Node:
    """A value on the tape: an array, and how it was computed.

    `pull` gives, for a cotangent of this value, the cotangents of `parents`, as nodes. `variable` names the
    variable that a leaf is a read of. `region` is the loop body that a leaf is a carried value of. `shown` is
    the node that others see in place of this one: what is fed for it.
    """

    __slots__ = ("value", "parents", "pull", "id", "variable", "region", "shown")

    def __init__(
        self,
        value: Any,
        parents: Sequence[Node] = (),
        pull: Callable[[Node], Sequence[Node | None]] | None = None,
        variable: Any = None,
        region: Any = None,
    ) -> None:
        self.value = np.asarray(value)
        self.parents = tuple(parents)
        self.pull = pull
        self.id = next(_IDS)
        self.variable = variable
        self.region = region
        self.shown = self

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def dtype(self) -> np.dtype:
        return self.value.dtype

    def __add__(self, other: Any) -> Node:
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Node:
        return add(self, -_node(other, self))

    def __rsub__(self, other: Any) -> Node:
        return add(other, -self)

    def __mul__(self, other: Any) -> Node:
        return multiply(self, other)

    __rmul__ = __mul__

    def __neg__(self) -> Node:
        return multiply(self, self.dtype.type(-1))

    def __truediv__(self, other: Any) -> Node:
        return divide(self, _node(other, self))

    def __rtruediv__(self, other: Any) -> Node:
        return divide(_node(other, self), self)


def gradients(
    ys: Iterable[Node],
    seeds: Iterable[Node | None],
    xs: Sequence[Callable[[Node], bool]],
    stops: Iterable[Node] = (),
    cut: Callable[[Node], bool] = lambda node: False,
) -> list[Node | None]:
    """The derivatives of the weighted sum of `ys`.

    Args:
        ys: What is differentiated.
        seeds: Their weights, None for ones.
        xs: For each derivative, which nodes it is taken at; the cotangents of all of them are added.
        stops: Nodes that nothing flows through.
        cut: Tells further nodes that nothing flows through.

    Returns:
        One derivative for each of `xs`, None if none of its nodes was reached.
    """
    received: dict[Node, Node] = {}
    for y, seed in zip(ys, seeds, strict=True):
        # A weight that is given becomes an operation of its own, as TensorFlow's `grad_ys` are.
        weight = Node(np.ones_like(y.value)) if seed is None else Node(seed.value, (seed,), lambda g: (g,))
        assert weight.shape == y.shape, "a weight has the shape of what it weights"
        received[y] = received[y] + weight if y in received else weight
    found: list[Node | None] = [None] * len(xs)
    stopped, queue = set(stops), dict.fromkeys(received)
    while queue:
        node = max(queue, key=lambda n: n.id)
        del queue[node]
        g = received[node]
        for i, wanted in enumerate(xs):
            if wanted(node):
                before = found[i]
                found[i] = g if before is None else before + g
        if node.pull is None or node in stopped or cut(node):
            continue
        for parent, share in zip(node.parents, node.pull(g), strict=True):
            if share is not None and parent.dtype.kind in "fc":
                received[parent] = received[parent] + share if parent in received else share
                queue[parent] = None
    return found


# Primitives


def leaf(value: Any, like: Node | None = None) -> Node:
    """A constant; of the dtype of `like` if that is given."""
    return Node(np.asarray(value) if like is None else np.asarray(value, like.dtype))


def _node(value: Any, like: Node) -> Node:
    return value if isinstance(value, Node) else leaf(value, like)


def _pair(a: Any, b: Any) -> tuple[Node, Node]:
    first = a if isinstance(a, Node) else _node(a, b)
    return first, _node(b, first)


def add(a: Any, b: Any) -> Node:
    a, b = _pair(a, b)
    return Node(a.value + b.value, (a, b), lambda g: (fold(g, a.shape), fold(g, b.shape)))


def multiply(a: Any, b: Any) -> Node:
    a, b = _pair(a, b)
    return Node(a.value * b.value, (a, b), lambda g: (fold(g * b, a.shape), fold(g * a, b.shape)))


def divide(a: Node, b: Node) -> Node:
    return Node(
        a.value / b.value, (a, b), lambda g: (fold(g / b, a.shape), fold(-(g * a) / (b * b), b.shape))
    )


def select(condition: np.ndarray, a: Node, b: Node) -> Node:
    """Elements of `a` or `b`; the condition is a constant of the shape of the result."""
    mask = np.asarray(condition, a.dtype)

    def pull(g: Node) -> tuple[Node, Node]:
        return fold(g * leaf(mask), a.shape), fold(g * leaf(1 - mask), b.shape)

    return Node(np.where(condition, a.value, b.value), (a, b), pull)


def weighted(x: Node, value: np.ndarray, slope: np.ndarray) -> Node:
    """A function with kinks or steps, by its value and its slope at this place, element by element."""
    return Node(value, (x,), lambda g: (g * leaf(slope, x),))


def smooth(function: Callable[..., Any], derivative: Callable[[Node], Node]) -> Callable[[Node], Node]:
    """A smooth function of one number, for every element."""

    def apply(x: Node) -> Node:
        return Node(np.asarray(function(x.value), x.dtype), (x,), lambda g: (g * derivative(x),))

    return apply


def by_result(x: Node, value: Any, pull: Callable[[Node, Node], Node]) -> Node:
    """A function of `x` whose derivative is made of its result, as backward operations of TF1 make it.

    Args:
        x: The argument.
        value: The function's value there.
        pull: Gives the cotangent of `x`, for that of the result and the result.
    """
    made = Node(np.asarray(value, x.dtype), (x,))
    made.pull = lambda g: (pull(g, made.shown),)
    return made


def told_by_result(
    function: Callable[..., Any], derivative: Callable[[Node], Node]
) -> Callable[[Node], Node]:
    """A smooth function of one number with its derivative as a function of the result, for every element."""
    return lambda x: by_result(x, function(x.value), lambda g, y: g * derivative(y))


exp = told_by_result(np.exp, lambda y: y)
log = smooth(np.log, lambda x: 1.0 / x)
sin = smooth(np.sin, lambda x: cos(x))
cos = smooth(np.cos, lambda x: -sin(x))
tanh = told_by_result(np.tanh, lambda y: 1.0 - y * y)
sigmoid = told_by_result(lambda x: 0.5 * np.tanh(0.5 * x) + 0.5, lambda y: y * (1.0 - y))
sqrt = told_by_result(np.sqrt, lambda y: 0.5 / y)
rsqrt = told_by_result(lambda x: 1.0 / np.sqrt(x), lambda y: -0.5 * y * y * y)
reciprocal = told_by_result(lambda x: 1.0 / x, lambda y: -(y * y))
asinh = told_by_result(np.arcsinh, lambda y: 2.0 / (exp(y) + exp(-y)))
arctan = smooth(np.arctan, lambda x: 1.0 / (1.0 + x * x))
erf = smooth(np.vectorize(math.erf, otypes=[float]), lambda x: 2 / math.sqrt(math.pi) * exp(-(x * x)))


def power(a: Node, b: Node) -> Node:
    """a ** b for positive a."""
    made = Node(np.asarray(a.value**b.value, a.dtype), (a, b))

    def pull(g: Node) -> tuple[Node, Node]:
        return fold(g * b * power(a, b - 1.0), a.shape), fold(g * made.shown * log(a), b.shape)

    made.pull = pull
    return made


def total(x: Node, axes: tuple[int, ...], keepdims: bool = False) -> Node:
    """The sum over some axes."""
    kept = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    value = np.asarray(x.value.sum(axis=axes, keepdims=keepdims), x.dtype)
    return Node(value, (x,), lambda g: (spread(reshape(g, kept), x.shape),))


def fold(g: Node, shape: tuple[int, ...]) -> Node:
    """The sum of `g` over the axes along which an array of that shape was broadcast."""
    if g.shape == shape:
        return g
    extra = len(g.shape) - len(shape)
    axes = tuple(i for i, n in enumerate(g.shape) if i < extra or (shape[i - extra] == 1 and n != 1))
    return reshape(total(g, axes), shape)


def spread(x: Node, shape: Sequence[int]) -> Node:
    """Broadcast to a shape."""
    return moved(x, lambda places: np.broadcast_to(places, tuple(shape)))


def reshape(x: Node, shape: Sequence[int]) -> Node:
    return Node(x.value.reshape(tuple(shape)), (x,), lambda g: (reshape(g, x.shape),))


def moved(x: Node, move: Callable[[np.ndarray], np.ndarray]) -> Node:
    """Do to `x` what `move` does to an array; `move` gets flat positions. -1 stands for a zero."""
    return take(x, move(np.arange(x.value.size).reshape(x.shape)))


def take(x: Node, places: np.ndarray) -> Node:
    """The elements at flat positions, 0 for -1."""
    places = np.asarray(places)
    flat = np.append(x.value.reshape(-1), np.zeros(1, x.dtype))
    return Node(flat[places], (x,), lambda g: (put(g, places, x.shape),))


def put(g: Node, places: np.ndarray, shape: tuple[int, ...]) -> Node:
    """Zeros, to which elements are added at flat positions; those for -1 are dropped."""
    flat = np.zeros(math.prod(shape) + 1, g.dtype)
    np.add.at(flat, places.reshape(-1), g.value.reshape(-1))
    return Node(flat[:-1].reshape(shape), (g,), lambda h: (take(h, places),))


def joined(parts: Sequence[Node]) -> Node:
    """All elements of several nodes, as one vector."""
    value = np.concatenate([p.value.reshape(-1) for p in parts])
    ends = np.cumsum([p.value.size for p in parts])

    def pull(g: Node) -> list[Node]:
        return [
            take(g, np.arange(end - p.value.size, end).reshape(p.shape))
            for p, end in zip(parts, ends, strict=True)
        ]

    return Node(value, parts, pull)


def arranged(parts: Sequence[Node], arrange: Callable[[list[np.ndarray]], np.ndarray]) -> Node:
    """Do to tensors what `arrange` does to arrays, such as a concatenation; it gets flat positions."""
    ends = np.cumsum([p.value.size for p in parts])
    places = [np.arange(end - p.value.size, end).reshape(p.shape) for p, end in zip(parts, ends, strict=True)]
    return take(joined(parts), arrange(places))


def product(a: Node, b: Node) -> Node:
    """The matrix product of stacks of matrices."""

    def pull(g: Node) -> tuple[Node, Node]:
        return fold(product(g, flipped(b)), a.shape), fold(product(flipped(a), g), b.shape)

    return Node(np.asarray(a.value @ b.value, a.dtype), (a, b), pull)


def flipped(x: Node) -> Node:
    """The last two axes exchanged."""
    return moved(x, lambda places: np.swapaxes(places, -1, -2))


def cast(x: Node, dtype: Any) -> Node:
    """Another dtype."""
    with np.errstate(invalid="ignore"):
        value = x.value.astype(dtype)
    return Node(value, (x,), lambda g: (cast(g, x.dtype),))
