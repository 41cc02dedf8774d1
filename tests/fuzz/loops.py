"""Random programs of loops and branches, described once and carried out twice: by Python, and in a graph.

A program is a list of statements, each of which adds values to those that later ones may use. A machine says
what they do: `Plain` computes on arrays with Python's own `while` and `if`, `Graph` builds the graph.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import staticgraph as sg

VECTOR, NUMBER, COUNT, TRUTH, MATRIX = "vector", "number", "count", "truth", "matrix"
SHAPES = {VECTOR: (3,), NUMBER: (), MATRIX: (4, 3)}
FLOATS = (VECTOR, NUMBER, MATRIX)


@dataclass(frozen=True)
class Apply:
    """One operation on values made before, given by their positions."""

    op: str
    args: tuple[int, ...]
    kind: str


@dataclass(frozen=True)
class Block:
    """Statements, and which values they leave."""

    statements: tuple[Any, ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class Loop:
    """`body` at most `count` rounds, as long as a number stays below a limit if there is one."""

    count: int
    carried: tuple[int, ...]
    kinds: tuple[str, ...]
    body: Block
    limited: int | None


@dataclass(frozen=True)
class Choice:
    """One of two blocks."""

    pred: int
    blocks: tuple[Block, Block]
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Scan:
    """`body(state, row)` over the rows of a matrix, stacked."""

    matrix: int
    state: int
    body: Block
    reverse: bool
    kinds: tuple[str, ...] = (MATRIX,)


@dataclass(frozen=True)
class Assign:
    """A new value of the variable."""

    value: int
    kinds: tuple[str, ...] = (VECTOR,)


_OPS: dict[str, list[tuple[str, tuple[str, ...]]]] = {
    VECTOR: [
        ("add", (VECTOR, VECTOR)),
        ("subtract", (VECTOR, NUMBER)),
        ("damped", (VECTOR, VECTOR)),
        ("sin", (VECTOR,)),
        ("tanh", (VECTOR,)),
        ("select", (TRUTH, VECTOR, VECTOR)),
        ("row", (MATRIX, COUNT)),
    ],
    NUMBER: [
        ("total", (VECTOR,)),
        ("add", (NUMBER, NUMBER)),
        ("damped", (NUMBER, NUMBER)),
        ("real", (COUNT,)),
    ],
    COUNT: [("plus", (COUNT, COUNT)), ("halved", (COUNT,))],
    TRUTH: [
        ("less", (NUMBER, NUMBER)),
        ("less", (COUNT, COUNT)),
        ("both", (TRUTH, TRUTH)),
        ("negated", (TRUTH,)),
    ],
    MATRIX: [("sin", (MATRIX,)), ("added", (MATRIX, VECTOR))],
}
_KINDS = (VECTOR, VECTOR, VECTOR, NUMBER, NUMBER, COUNT, TRUTH, MATRIX)


class Writer:
    """Writes random programs."""

    def __init__(self, seed: int, assigns: bool = False) -> None:
        self.random = random.Random(seed)
        self.assigns = assigns

    def program(self, kinds: Sequence[str], size: int = 8, depth: int = 3) -> Block:
        """A program with parameters of these kinds, that leaves a vector, a number, a count and a matrix."""
        return self._block(list(kinds), size, depth, (VECTOR, NUMBER, COUNT, MATRIX))

    def _block(self, kinds: list[str], size: int, depth: int, results: Sequence[str]) -> Block:
        kinds = list(kinds)
        statements = []
        for _ in range(self.random.randint(1, size)):
            statement = self._statement(kinds, depth)
            statements.append(statement)
            kinds += [statement.kind] if isinstance(statement, Apply) else statement.kinds
        return Block(tuple(statements), tuple(self._recent(kinds, kind) for kind in results))

    def _recent(self, kinds: Sequence[str], kind: str) -> int:
        """A value of a kind, rather one of the last."""
        places = [i for i, k in enumerate(kinds) if k == kind]
        return places[-1 - min(int(self.random.expovariate(0.7)), len(places) - 1)]

    def _statement(self, kinds: list[str], depth: int) -> Any:
        choice = self.random.random() if depth else 1.0
        inner = max(1, 2 * depth)
        if choice < 0.18:
            carried_kinds = tuple(self.random.choice(_KINDS) for _ in range(self.random.randint(1, 4)))
            carried = tuple(self._recent(kinds, k) for k in carried_kinds)
            body = self._block([*kinds, COUNT, *carried_kinds], inner, depth - 1, carried_kinds)
            numbers = [i for i, k in enumerate(carried_kinds) if k == NUMBER]
            limited = self.random.choice(numbers) if numbers and self.random.random() < 0.5 else None
            return Loop(self._recent(kinds, COUNT), carried, carried_kinds, body, limited)
        if choice < 0.36:
            made = tuple(self.random.choice(_KINDS) for _ in range(self.random.randint(1, 3)))
            blocks = self._block(kinds, inner, depth - 1, made), self._block(kinds, inner, depth - 1, made)
            return Choice(self._recent(kinds, TRUTH), blocks, made)
        if choice < 0.42:
            body = self._block([*kinds, VECTOR, VECTOR], inner, depth - 1, (VECTOR,))
            reverse = self.random.random() < 0.5
            return Scan(self._recent(kinds, MATRIX), self._recent(kinds, VECTOR), body, reverse)
        if self.assigns and self.random.random() < 0.3:
            return Assign(self._recent(kinds, VECTOR))
        kind = self.random.choice(_KINDS)
        op, takes = self.random.choice(
            [*_OPS[kind], *([("read", ())] if kind == VECTOR and self.assigns else [])]
        )
        return Apply(op, tuple(self._recent(kinds, k) for k in takes), kind)


LIMIT = 2.5
MOST = 3  # rounds of one loop


class Plain:
    """Carries a program out in Python."""

    def __init__(self, variable: np.ndarray) -> None:
        self.variable = variable

    def run(self, block: Block, values: Sequence[Any]) -> list[Any]:
        """Run the block and return what it leaves."""
        values = list(values)
        for statement in block.statements:
            values += self._statement(statement, values)
        return [values[i] for i in block.results]

    def _statement(self, statement: Any, values: list[Any]) -> list[Any]:
        match statement:
            case Apply("read"):
                return [self.variable]
            case Apply(op, args):
                return [_PLAIN[op](*(values[i] for i in args))]
            case Assign(value):
                self.variable = values[value]
                return [self.variable]
            case Choice(pred, blocks):
                return self.run(blocks[0 if values[pred] else 1], values)
            case Scan(matrix, state, body, reverse):
                rows = values[matrix]
                made = np.zeros_like(rows)
                found = values[state]
                for i in reversed(range(len(rows))) if reverse else range(len(rows)):
                    (found,) = self.run(body, [*values, found, rows[i]])
                    made[i] = found
                return [made]
            case Loop(count, places, _, body, limited):
                carried = [values[i] for i in places]
                most, done = values[count] % (MOST + 1), np.int32(0)
                while done < most and (limited is None or carried[limited] < LIMIT):
                    carried = self.run(body, [*values, done, *carried])
                    done = np.int32(done + 1)
                return carried
        raise AssertionError(statement)


class Graph:
    """Builds the graph of a program."""

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.inside: list[Any] = []  # tensors made in regions, to fetch

    def run(self, block: Block, values: Sequence[Any]) -> list[Any]:
        """Run the block and return what it leaves, after all its assignments."""
        values = list(values)
        waits: list[Any] = []
        for statement in block.statements:
            made = self._statement(statement, values)
            if not isinstance(statement, Apply):
                waits += made
            values += made
        with sg.control_dependencies(waits):
            return [sg.identity(values[i]) for i in block.results]

    def _statement(self, statement: Any, values: list[Any]) -> list[Any]:
        match statement:
            case Apply("read"):
                return [self.variable * 1.0]  # a variable itself is read where it is used
            case Apply(op, args):
                return [_GRAPH[op](*(values[i] for i in args))]
            case Assign(value):
                return [sg.identity(sg.assign(self.variable, values[value]))]
            case Choice(pred, blocks):
                first, second = ((lambda b=b: self.run(b, values)) for b in blocks)
                return list(sg.cond(values[pred], first, second, strict=True))
            case Scan(matrix, state, body, reverse):
                made = sg.scan(
                    lambda state, row: self.run(body, [*values, state, row])[0],
                    values[matrix],
                    values[state],
                    reverse=reverse,
                )
                return [made]
            case Loop(count, places, _, body, limited):
                return self._loop(values, values[count] % (MOST + 1), places, body, limited)
        raise AssertionError(statement)

    def _loop(
        self, values: list[Any], most: Any, places: Sequence[int], body: Block, limited: int | None
    ) -> list[Any]:
        def test(done: Any, *carried: Any) -> Any:
            below = done < most
            return below if limited is None else sg.logical_and(below, carried[limited] < LIMIT)

        def rounds(done: Any, *carried: Any) -> Any:
            made = self.run(body, [*values, done, *carried])
            return [done + 1, *made]

        _, *made = sg.while_loop(test, rounds, [sg.constant(0), *(values[i] for i in places)])
        return made


_PLAIN: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "added": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "damped": lambda a, b: np.tanh(a) * b,
    "sin": np.sin,
    "tanh": np.tanh,
    "select": lambda c, a, b: a if c else b,
    "row": lambda m, i: m[i % 4],
    "total": np.sum,
    "real": np.float64,
    "plus": lambda a, b: np.int32(a + b + 1) % np.int32(7),
    "halved": lambda a: a // np.int32(2),
    "less": lambda a, b: a < b,
    "both": lambda a, b: a and b,
    "negated": lambda a: not a,
}
_GRAPH: dict[str, Callable[..., Any]] = {
    "add": sg.add,
    "added": sg.add,
    "subtract": sg.subtract,
    "damped": lambda a, b: sg.tanh(a) * b,
    "sin": sg.sin,
    "tanh": sg.tanh,
    "select": lambda c, a, b: sg.cond(c, lambda: a, lambda: b),
    "row": lambda m, i: m[i % 4],
    "total": sg.reduce_sum,
    "real": lambda a: sg.cast(a, sg.float64),
    "plus": lambda a, b: (a + b + 1) % 7,
    "halved": lambda a: a // 2,
    "less": sg.less,
    "both": sg.logical_and,
    "negated": sg.logical_not,
}
