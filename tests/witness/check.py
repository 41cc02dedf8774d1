"""Random programs in all places where programs run, compared with the witness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

import staticgraph as sg
from tests.everywhere import Outcome, Refused, everywhere, in_session
from tests.witness.interpreter import Witness
from tests.witness.programs import Program
from tests.witness.whole import whole_derivatives

FUNCTIONS = SimpleNamespace(doubled_tanh=lambda x: 2.0 * np.tanh(x), shifted=lambda x: np.asarray(x) + 0.25)
Nudge = Callable[[np.ndarray], np.ndarray]
_NOISE = {2: 1e-3, 4: 2e-7, 8: 1e-15}  # of one operation, by the size of its elements
_SLACK = {2: 1e-2, 4: 3e-5, 8: 1e-10}


class Difference(AssertionError):
    """A place computes something else than the witness."""


def fetches_of(program: Program, env: dict[str, Any]) -> dict[str, Any]:
    """Return what a run fetches, by name: values, all assignments, and the variables after them."""
    names = dict.fromkeys([*program.fetches, *program.writes, *program.variables])
    return {name: env[name] for name in names}


def built(program: Program) -> dict[str, Any]:
    """Build a program in the default graph and return its fetches by name."""
    return fetches_of(program, program.build(sg, functions=FUNCTIONS))


def witnessed(program: Program, nudge: Nudge | None = None) -> list[Outcome]:
    """Return the outcomes of the runs of a program by the witness, which differentiates by itself."""
    with sg.Graph().as_default(), whole_derivatives():
        return _witnessed(program, built(program), nudge)


def _witnessed(program: Program, fetches: dict[str, Any], nudge: Nudge | None) -> list[Outcome]:
    graph = sg.get_default_graph()
    witness = Witness(graph, nudge)
    witness.run([sg.global_variables_initializer()])
    made = []
    for feeds in program.runs:
        given = {graph.get_tensor_by_name(f"{name}:0"): value for name, value in feeds.items()}
        results = witness.run(list(fetches.values()), given)
        made.append(Outcome(dict(zip(fetches, results, strict=True)), "", dict(witness.state)))
    return made


def check(
    program: Program, places: Sequence[str] = (), known: Sequence[Outcome] | None = None
) -> dict[str, Any]:
    """Run a program in a session, in some other places of `tests.everywhere`, and by the witness.

    Args:
        program: The program.
        places: Places besides the session.
        known: What TensorFlow 1.15.5 answered to it.

    Returns:
        The outcomes by place.

    Raises:
        Difference: They differ by more than rounding can explain, or a place fails.
    """
    wanted = witnessed(program)
    with sg.Graph().as_default():
        fetches = built(program)
        found: dict[str, Any] = {"session": list(in_session(lambda: fetches, program.runs))}
    if known is not None:
        found["TensorFlow 1.15.5"] = known
    found |= everywhere(lambda: built(program), *program.runs, places=places) if places else {}
    compared(program, wanted, found)
    return found


def compared(program: Program, wanted: Sequence[Outcome], found: dict[str, Any]) -> None:
    """Compare outcomes by place with those of the witness. Raises Difference."""
    slack = dict(_SLACK)
    if "tf.float32" in program.script():  # what was rounded may be wide again
        slack[8] = slack[4]
    if next(_differences(wanted, found, [{}] * len(wanted), slack), None) is not None:
        for text in _differences(wanted, found, noise_of(program, wanted), slack):
            raise Difference(text)


def noise_of(program: Program, wanted: Sequence[Outcome]) -> list[dict[str, np.ndarray]]:
    """Return the noise that rounding may bring to the results of each run, by name."""
    noise: list[dict[str, Any]] = [{} for _ in wanted]
    for seed in range(3):
        rng = np.random.default_rng(seed)

        def nudge(array: np.ndarray, rng: np.random.Generator = rng) -> np.ndarray:
            if array.dtype.kind != "f":
                return array
            unit = _NOISE[array.dtype.itemsize] * (1 + np.abs(array))
            return (array + unit * rng.standard_normal(array.shape)).astype(array.dtype)

        for at, (one, two) in enumerate(zip(wanted, witnessed(program, nudge), strict=True)):
            for name, a, b in _pairs(one, two):
                if np.shape(a) == np.shape(b):
                    change = np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64))
                    noise[at][name] = np.maximum(noise[at].get(name, 0.0), change)
                else:
                    noise[at][name] = np.inf
    return noise


def _pairs(one: Outcome, two: Outcome) -> list[tuple[str, Any, Any]]:
    mine, other = one.results or {}, two.results or {}
    results = [(name, mine[name], other[name]) for name in mine]
    return [*results, *((f"variable {n}", one.state[n], two.state[n]) for n in one.state if n in two.state)]


def _differences(
    wanted: Sequence[Outcome], found: dict[str, Any], noise: Sequence[dict[str, Any]], slack: dict[int, float]
) -> Iterator[str]:
    """Return the differences, although rounding changes results only by `noise`."""
    for place, outcomes in found.items():
        if isinstance(outcomes, Refused):
            continue
        for number, (good, other) in enumerate(zip(wanted, outcomes, strict=True)):
            if other.error:
                yield f"run {number} in {place}: {other.error} {other.message}"
                break
            for name, a, b in _pairs(good, other):
                one, two = np.asarray(a), np.asarray(b)
                alike = (one.shape, one.dtype) == (two.shape, two.dtype)
                if not alike or not _close(one, two, noise[number].get(name, 0.0), slack):
                    yield f"run {number} in {place}: {name} is {b}, the witness has {a}"


def _close(a: np.ndarray, b: np.ndarray, noise: Any, slack: dict[int, float]) -> bool:
    if a.dtype.kind != "f":
        return bool(np.all((a == b) | (np.asarray(noise) > 0)))
    one, two = a.astype(np.float64), b.astype(np.float64)
    same = (one == two) | (np.isnan(one) & np.isnan(two))
    near = np.abs(one - two) <= slack[a.dtype.itemsize] * (np.abs(one) + 1e-3) + 1e3 * np.asarray(noise)
    return bool(np.all(same | near))
