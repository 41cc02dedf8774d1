"""Random programs whose placeholders leave sizes open, run at many sizes by the witness and in one session.

    x0 = placeholder(float64, [None, 3]);  x1 = placeholder(float64, [None, None, 2])

A batch, a length or both are open. A generated program is for sizes that nothing else has; statements that
mean nothing at other ones, such as a constant of that shape, are dropped.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import RecompileWarning
from tests.everywhere import Outcome, in_session
from tests.witness.check import FUNCTIONS, Difference, compared, fetches_of, witnessed
from tests.witness.generator import FLOAT, Generator, Value
from tests.witness.interpreter import Witness
from tests.witness.programs import Call, Item, Machine, Program, Ref
from tests.witness.whole import whole_derivatives

SIZES = (0, 1, 2, 3, 5, 8, 17, 31, 33, 64, 100)
RUNS = 10
BATCH, LENGTH = 7, 11  # in the shapes of generated values
_TRIED = ((7, 11), (0, 5), (1, 1), (17, 0))  # sizes at which a statement must have a meaning
_SHAPES = {
    "batch": ((BATCH,), (BATCH, 3), (BATCH, 3), (BATCH, 2, 3), (BATCH, 1), (3,), ()),
    "length": ((LENGTH,), (2, LENGTH), (3, LENGTH), (2, LENGTH, 3), (LENGTH, 3), (3,)),
    "both": ((BATCH, LENGTH), (BATCH, LENGTH), (BATCH, LENGTH, 2), (LENGTH, BATCH), (BATCH, 3), (LENGTH,)),
}


class OpenGenerator(Generator):
    """Writes a program with open sizes.

    Args:
        seed: Decides all of it.
        size: About how many statements are written; some are dropped.
        deep: Also what TF1 cannot do.
    """

    def __init__(self, seed: int, size: int = 14, deep: bool = False) -> None:
        super().__init__(seed, size, deep)
        self.sources: dict[int, tuple[str, int]] = {}  # a feed and its axis by the size that it gives

    def constant(self, shape: Any, dtype: Any = FLOAT) -> Any:
        """Add a value that no feed decides: of open shape, it is filled at run time."""
        if not self.sources.keys() & {*shape}:
            return super().constant(shape, dtype)
        sizes = [self._size(n) if n in self.sources else n for n in shape]
        made = self.add("tf.fill", [sizes, self.array((), dtype)], dtype, shape, 1.5 if dtype == FLOAT else 6)
        if dtype != FLOAT:
            return made
        summed = self.add("tf.cumsum", [made, self.random.randrange(len(shape))], FLOAT, shape, 150.0)
        return self.add("tf.sin", [summed], FLOAT, shape, 1.0)

    def _size(self, n: int) -> Ref:
        feed, axis = self.sources[n]
        shape, size = Ref(self.name()), Ref(self.name())
        self.statements.append(Call(shape, "tf.shape", [Ref(feed)]))
        self.statements.append(Item(size, shape, [axis]))
        return size

    def program(self) -> Program:
        """Return the program, with ten runs."""
        kind = self.choose(["batch", "length", "both"])
        shapes: dict[str, tuple[int, ...]] = {}
        for number in range(self.random.randint(1, 3)):
            shape = self.choose(_SHAPES[kind][:5] if number == 0 else _SHAPES[kind])
            shapes[f"x{number}"] = shape
            self.scope.append(Value(f"x{number}", FLOAT, shape, 1.5))
            for axis, n in enumerate(shape):
                if n in (BATCH, LENGTH):
                    self.sources.setdefault(n, (f"x{number}", axis))
        variables = {}
        for number in range(self.random.choice([0, 1, 1, 2])):
            shape = self.choose([(), (3,), (2, 3), (3, 3), (3, 2)])
            variables[f"v{number}"] = (FLOAT, self.array(shape))
            self.variables.append(Value(f"v{number}", FLOAT, shape, 3.0, variable=True))
        self.scope += self.variables
        for _ in range(self.random.randint(4, self.size)):
            self.statement()
        feeds = {x: (FLOAT, [None if n in (BATCH, LENGTH) else n for n in s]) for x, s in shapes.items()}
        kept = [*_meaningful(feeds, variables, self.statements, shapes)]
        made = [o for s in kept for o in s.outs if _fetchable(s)]
        fetches = [o for o in made if self.chance(0.6)][-8:] or made[-1:] or [*feeds]
        runs = [_fed(shapes, sizes, self.random.randrange(2**31)) for sizes in self._runs()]
        return Program(feeds, variables, kept, fetches, runs)

    def _runs(self) -> list[tuple[int, int]]:
        batches, lengths = (self.random.sample(SIZES, RUNS) for _ in range(2))
        return [*zip(batches, lengths, strict=True)]


def _fetchable(statement: Any) -> bool:
    return getattr(statement, "path", "") != "tf.nn.top_k"


def _needs_numbers(statement: Any) -> bool:
    """Return True for operations that differ in what they make of NaN, such as an integer."""
    return getattr(statement, "path", "") in ("tf.cast", "tf.clip_by_value", "tf.maximum", "tf.minimum")


def _fed(shapes: Mapping[str, tuple[int, ...]], sizes: tuple[int, int], seed: int) -> dict[str, Any]:
    by = {BATCH: sizes[0], LENGTH: sizes[1]}
    rng = np.random.default_rng(seed)
    return {x: rng.uniform(-1.5, 1.5, [by.get(n, n) for n in shape]) for x, shape in shapes.items()}


def _meaningful(
    feeds: Mapping[str, Any],
    variables: Mapping[str, Any],
    statements: Sequence[Any],
    shapes: Mapping[str, tuple[int, ...]],
) -> Iterator[Any]:
    """The statements that can be built, and that the witness carries out at every size that is tried."""
    with sg.Graph().as_default() as graph, whole_derivatives():
        env = Program(feeds, variables, [], [], []).build(sg, functions=FUNCTIONS)
        machine = Machine(sg, False, FUNCTIONS)
        start = Witness(graph)
        start.run([sg.global_variables_initializer()])
        tried = [_fed(shapes, sizes, 1) for sizes in _TRIED]
        given = [{graph.get_tensor_by_name(f"{x}:0"): v for x, v in feed.items()} for feed in tried]
        for statement in statements:
            inner = dict(env)
            try:
                machine.run([statement], inner)
                results = [inner[o] for o in statement.outs] if _fetchable(statement) else []
                for feed in given:
                    witness = Witness(graph)
                    witness.state = dict(start.state)
                    finite = [env[r] for r in statement.uses()] if _needs_numbers(statement) else []
                    found = witness.run([*results, *finite], feed)
                    numbers = (*found[len(results) :], *witness.state.values())
                    if not all(np.isfinite(value).all() for value in numbers):
                        raise ValueError("what it makes of NaN is not said")
            except Exception:  # it has no meaning at these sizes
                continue
            env = inner
            yield statement


def check_open(program: Program, most: int = 2) -> list[str]:
    """Run a program with open sizes in a session, and compare it with the witness.

    Runs that are refused are left out, if a session that compiles for each size refuses them with the same
    words.

    Args:
        program: The program.
        most: How many of its programs need no guard.

    Returns:
        Why each program was compiled.

    Raises:
        Difference: Results or errors differ, or a program was compiled for no guard.
    """
    found, why = _opened(program, True)
    if refused := [number for number, each in enumerate(found) if each.error]:
        closed, _ = _opened(program, False)
        for number in refused:
            one, two = ((each[number].error, each[number].message) for each in (found, closed))
            if one != two:
                raise Difference(f"run {number}: {one}; compiled for its sizes: {two}")
        program = copy(program)
        program.runs = [feeds for number, feeds in enumerate(program.runs) if number not in refused]
        found = [each for each in found if not each.error]
    compared(
        program, [_like(w, f) for w, f in zip(witnessed(program), found, strict=True)], {"session": found}
    )
    for text in why[most:]:
        if "guard" not in text and "depends on" not in text:
            raise Difference(f"{len(why)} programs, one for no guard: {text}")
    return why


def _opened(program: Program, open_sizes: bool) -> tuple[list[Outcome], list[str]]:
    sessions: list[sg.Session] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompileWarning)
        with sg.Graph().as_default(), sg.options(open_sizes=open_sizes):
            fetches = fetches_of(program, program.build(sg, functions=FUNCTIONS))
            found = [*in_session(lambda: fetches, program.runs, opened=sessions.append)]
    return found, [each.why for each in sessions[0].compiles][1:]  # the first one initialized the variables


def _like(wanted: Outcome, found: Outcome) -> Outcome:
    """The outcome of the witness; a map over no rows does not tell it how long they would be."""
    results = {
        name: np.reshape(value, np.shape(found.results[name]))
        if np.size(value) == 0 == np.size(found.results[name])
        else value
        for name, value in wanted.results.items()
    }
    return Outcome(results, wanted.error, wanted.state, wanted.message)
