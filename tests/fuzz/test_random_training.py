"""Random steps with variables, assignments and derivatives: a session computes what the NumPy meaning says.

A session runs each step several times, since updates in place and the buffers of values before go wrong in
later runs only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import staticgraph as sg
from tests.fuzz.test_random_graphs import fuzz
from tests.passes.steps import run

pytestmark = pytest.mark.takes_long

SHAPES = ((3, 3), (3,), (3, 1), (1, 3), (), (0, 3))
UNARY: tuple[Callable, ...] = (
    sg.tanh,
    sg.sin,
    sg.identity,
    sg.nn.relu,
    lambda x: x * 0.5,
    lambda x: x + 1.0,
    lambda x: -x,
    sg.sigmoid,
    lambda x: sg.transpose(x),
    lambda x: sg.reshape(sg.reshape(x, [-1]), sg.shape(x)),
    sg.stop_gradient,
    sg.square,
)
BINARY: tuple[Callable, ...] = (
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    sg.maximum,
    lambda x, y: x + sg.reduce_sum(y),
    lambda x, y: sg.where(sg.less(sg.reduce_sum(x), sg.reduce_sum(y)), x, x),
)

MOVES: tuple[Callable, ...] = (
    sg.transpose,
    lambda x: sg.reverse(x, [0]),
    lambda x: sg.gather(x, [2, 0, 1]),
    lambda x: x + sg.transpose(x),
)


def bounded(x: sg.Tensor) -> sg.Tensor:
    return sg.tanh(x) * 2.0


class Program:
    """A graph that grows: some variables, a fed tensor, values, assignments."""

    def __init__(self, random: Any) -> None:
        self.random = random
        self.rng = np.random.default_rng(random.randrange(1000))
        self.x = sg.placeholder(sg.float64, [None, 3], name="x")
        self.variables = [self.variable() for _ in range(1 + random.randrange(3))]
        self.values: list[sg.Tensor] = [self.x, *(v.value() for v in self.variables)]
        self.smooth = set(self.values)  # what no comparison of rounded numbers has gone into
        self.fetches: list[Any] = []

    def variable(self) -> sg.Variable:
        shape = self.random.choice(SHAPES)
        return sg.Variable(self.rng.uniform(-1, 1, shape), name=f"v{len(sg.global_variables())}")

    def step(self) -> None:
        match self.random.randrange(10):
            case 0 | 1 | 2:
                self.values.append(self.random.choice(UNARY)(self.random.choice(self.values)))
            case 3 | 4 | 5:
                self.binary()
            case 6 | 7:
                self.assign()
            case _:
                self.derivative()

    def binary(self) -> None:
        x, y = self.random.choice(self.values), self.random.choice(self.values)
        try:
            if x.shape.ndims == y.shape.ndims == 2 and self.random.randrange(2):
                self.values.append(bounded(sg.matmul(x, y)))
            else:
                self.values.append(self.random.choice(BINARY)(x, y))
        except ValueError:  # these shapes do not go together
            return

    def fitting(self, variable: sg.Variable) -> sg.Tensor:
        """A value of the variable's shape, some of its elements moved."""
        shape = variable.shape.as_list()
        value = self.random.choice(
            [v for v in self.values if v.shape.ndims is not None and v.shape.as_list() == shape]
        )
        if len(shape) == 2 and shape[0] == shape[1] and self.random.randrange(2):
            value = self.random.choice(MOVES)(value)
        return value if self.random.randrange(3) else value + sg.reduce_sum(self.random.choice(self.values))

    def assign(self) -> None:
        variable = self.random.choice(self.variables)
        value = bounded(self.fitting(variable))
        kind = self.random.choice((variable.assign, variable.assign_add, variable.assign_sub))
        made = kind(value)
        self.values.append(sg.identity(made))
        self.fetches.append(self.random.choice((made, made.op)))

    def derivative(self) -> None:
        loss = sg.reduce_sum(bounded(self.random.choice(self.values)))
        by = self.random.choice(self.variables)
        [g] = sg.gradients(loss, [by])
        if g is not None:
            self.values.append(g)
            if self.random.randrange(2):
                self.fetches.append(by.assign_sub(0.1 * sg.tanh(g)))


def check(random: Any, steps: int) -> None:
    with sg.Graph().as_default():
        program = Program(random)
        for _ in range(steps):
            program.step()
        fetches = [
            *program.fetches,
            *random.sample(program.values, min(2, len(program.values))),
            *program.variables,
        ]
        tensors = [f for f in fetches if not isinstance(f, sg.Operation)]
        init = sg.global_variables_initializer()
        state: dict[str, Any] = {}
        run([init], {}, state)
        with sg.Session() as sess:
            sess.run(init)
            for count in (2, 4, 2):
                feeds = {program.x: program.rng.uniform(-1, 1, (count, 3))}
                wanted = outcome(lambda feeds=feeds: run(fetches, feeds, state))
                found = outcome(lambda feeds=feeds: [a for a in sess.run(fetches, feeds) if a is not None])
                if isinstance(wanted, str) or isinstance(found, str):
                    assert wanted == found
                    return
                for tensor, a, b in zip(tensors, wanted, found, strict=True):
                    np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-6, err_msg=repr(tensor))


def outcome(compute: Callable) -> Any:
    """Return what is computed, or the kind of error: shapes that only a run knows need not go together."""
    try:
        return compute()
    except ValueError as error:
        return type(error).__name__


@fuzz(40)
@given(st.randoms(use_true_random=False), st.integers(1, 20))
def test_steps(random: Any, steps: int):
    check(random, steps)


@pytest.mark.slow
@fuzz(2000)
@given(st.randoms(use_true_random=False), st.integers(1, 50))
def test_steps_at_length(random: Any, steps: int):
    check(random, steps)
