"""Graphs of any size, for `tools/measure/growth.py`: how the cost of a first run grows with the graph.

Each function builds a graph of a size into the current default graph, and returns fetches and a feed_dict.
The environment variable GROWTH_OF names another library with the functions of TensorFlow 1, for comparison.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np

sg: Any = importlib.import_module(os.environ.get("GROWTH_OF", "staticgraph"))
if sg.__name__ != "staticgraph":
    sg.disable_v2_behavior()

Made = tuple[Any, dict[Any, Any]]


def feeds(n: int) -> Made:
    """n scalars that are fed, and their sum in a chain."""
    given = [sg.placeholder("float32", []) for _ in range(n)]
    total = given[0]
    for each in given[1:]:
        total = total + each
    return total, dict.fromkeys(given, 1.0)


def add_n(n: int) -> Made:
    """add_n of n vectors that are fed."""
    given = [sg.placeholder("float32", [4]) for _ in range(n)]
    return sg.add_n(given), dict.fromkeys(given, np.ones(4, np.float32))


def concat(n: int) -> Made:
    """concat of n vectors that are fed."""
    given = [sg.placeholder("float32", [4]) for _ in range(n)]
    return sg.concat(given, 0), dict.fromkeys(given, np.ones(4, np.float32))


def conds(n: int) -> Made:
    """n branches, one after the other."""
    x = given = sg.placeholder("float32", [4])
    flag = sg.reduce_sum(given) > 0.0
    for number in range(n):
        x = sg.cond(flag, lambda x=x: sg.cumsum(x) + 1.0, lambda x=x, by=number % 7 + 2.0: x * by)
    return x, {given: np.ones(4, np.float32)}


def constants(n: int) -> Made:
    """n kernels that differ in a constant."""
    x = sg.placeholder("float32", [64])
    sums = [sg.reduce_sum(sg.sin(x * (1.0 + number / 16384))) for number in range(n)]
    return sums, {x: np.ones(64, np.float32)}


def offsets(n: int) -> Made:
    """n kernels that differ in an offset."""
    x = sg.placeholder("float32", [n + 64])
    sums = [sg.reduce_sum(sg.sin(x[number : number + 64])) for number in range(n)]
    return sums, {x: np.ones(n + 64, np.float32)}


def shapes(n: int) -> Made:
    """n kernels over different sizes."""
    x = sg.placeholder("float32", [n + 64])
    sums = [sg.reduce_sum(sg.sin(x[: number + 64])) for number in range(n)]
    return sums, {x: np.ones(n + 64, np.float32)}


_FUNCTIONS = (sg.sin, sg.tanh, sg.sqrt, sg.square, sg.sigmoid, sg.abs, sg.exp, sg.nn.relu)


def kinds(n: int) -> Made:
    """n kernels of different formulas."""
    x = sg.placeholder("float32", [64])
    made = []
    for number in range(n):
        part, code = x, number + 8
        while code > 1:
            part = _FUNCTIONS[code % 8](part) + x
            code //= 8
        made.append(sg.cumsum(part))  # a kernel of its own, whatever else goes through x
    return made, {x: np.ones(64, np.float32)}


def fetches(n: int) -> Made:
    """n results of one kind."""
    x = sg.placeholder("float32", [4])
    return [x * float(number + 2) for number in range(n)], {x: np.ones(4, np.float32)}


def adam(n: int) -> Made:
    """A step of Adam over n variables."""
    x = sg.placeholder("float32", [4])
    weights = [sg.Variable(np.full(4, 0.5, np.float32)) for _ in range(n)]
    loss = sg.add_n([sg.reduce_sum(sg.square(w * x)) for w in weights])
    return [sg.train.AdamOptimizer(0.01).minimize(loss), loss], {x: np.ones(4, np.float32)}


def lstm(n: int) -> Made:
    """The gradient of an LSTM of 8 units, unrolled over n steps."""
    x = sg.placeholder("float32", [n, 2, 8])
    state = output = sg.zeros([2, 8])
    kernel = sg.Variable(np.full((16, 32), 0.01, np.float32))
    for number in range(n):
        gates = sg.matmul(sg.concat([x[number], output], 1), kernel)
        i, f, o, c = sg.split(gates, 4, 1)
        state = sg.sigmoid(f) * state + sg.sigmoid(i) * sg.tanh(c)
        output = sg.sigmoid(o) * sg.tanh(state)
    loss = sg.reduce_sum(output)
    return [loss, *sg.gradients(loss, [kernel])], {x: np.ones((n, 2, 8), np.float32)}


def steps(n: int) -> Made:
    """The gradient by its input of a net that is unrolled over n columns of it."""
    x = sg.placeholder("float32", [2, n, 8])
    state = sg.zeros([2, 8])
    kernel = np.full((8, 8), 0.1, np.float32)
    for number in range(n):
        state = sg.tanh(sg.matmul(state, kernel) + x[:, number])
    return sg.gradients(sg.reduce_sum(state), [x]), {x: np.ones((2, n, 8), np.float32)}


def names(n: int) -> Made:
    """Operations of one name in n scopes of one name."""
    x = total = sg.placeholder("float32", [4])
    for _ in range(n):
        with sg.name_scope("outer"), sg.name_scope("inner"):
            total = sg.add(total, x, name="sum")
    return total, {x: np.ones(4, np.float32)}


def nested_scopes(n: int) -> Made:
    """An operation in n scopes, each inside the last one."""

    def inside(depth: int) -> Any:
        if not depth:
            return sg.identity(x)
        with sg.name_scope("s"):
            return inside(depth - 1)

    x = sg.placeholder("float32", [4])
    return inside(n), {x: np.ones(4, np.float32)}


def nested_loops(n: int) -> Made:
    """n loops of one iteration, each inside the last one."""

    def loop(depth: int, x: Any) -> Any:
        if not depth:
            return x + 1.0
        body = lambda i, x: (i + 1, loop(depth - 1, x))  # noqa: E731
        return sg.while_loop(lambda i, x: i < 1, body, (sg.constant(0), x))[1]

    x = sg.placeholder("float32", [4])
    return loop(n, x), {x: np.ones(4, np.float32)}


def nested_conds(n: int) -> Made:
    """n branches, each inside the last one."""

    def branch(depth: int, x: Any) -> Any:
        if not depth:
            return x + 1.0
        return sg.cond(flag, lambda: branch(depth - 1, sg.cumsum(x)), lambda: x)

    x = sg.placeholder("float32", [4])
    flag = sg.reduce_sum(x) > 0.0
    return branch(n, x), {x: np.ones(4, np.float32)}


# By name: the graph, and the largest of the sizes that are measured.
GRAPHS: dict[str, tuple[Callable[[int], Made], int]] = {
    "feeds": (feeds, 4000),
    "add_n": (add_n, 4000),
    "concat": (concat, 4000),
    "conds": (conds, 1000),
    "constants": (constants, 1000),
    "offsets": (offsets, 1000),
    "shapes": (shapes, 1000),
    "kinds": (kinds, 800),
    "fetches": (fetches, 4000),
    "adam": (adam, 1000),
    "lstm": (lstm, 400),
    "steps": (steps, 400),
    "names": (names, 8000),
    "nested scopes": (nested_scopes, 400),
    "nested loops": (nested_loops, 400),
    "nested conds": (nested_conds, 400),
}
