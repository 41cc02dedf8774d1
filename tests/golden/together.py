"""Ways to run golden cases with less to compile: several in one step, and interpreted.

A case asks what functions of `tf` mean. Each runs in a session, from the graph on that it builds; machine
code of every operation has tests of its own, and `pytest -m slow` compiles every case.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import Effect
from tests.everywhere import interpreting
from tests.golden.cases import SUBJECTS
from tests.golden.cases.keras_layers import Measures
from tests.golden.runner import (
    Answer,
    Case,
    Runs,
    Streams,
    Trains,
    Value,
    as_list,
    is_floating,
    is_known,
    run,
)

TOGETHER = 16
Outcome = dict[str, Any]


@dataclass
class _Built:
    """A case in the graph of its group."""

    case: Value
    results: list[Any]
    grads: dict[str, Any]
    wanted: list[str]

    def outcome(self, values: list[Any], grads: dict[str, Any]) -> Outcome:
        """Return what `Value.outcome` returns."""
        arrays = [np.asarray(value) for value in values]
        found: Outcome = {f"value {i}": array for i, array in enumerate(arrays)}
        if any(is_floating(array) for array in arrays):
            found |= dict.fromkeys(self.wanted)
        return found | {name: np.asarray(grad) for name, grad in grads.items()}


def interpreted(case: Case) -> Outcome:
    """The outcome of a case in sessions that compute by NumPy what compiled code would."""
    with interpreting():
        return run(case, sg)


def function_of(case: Case) -> str:
    """The function of `tf` that a case computes values of."""
    return re.match(r"\W*\w*", case.name)[0] if isinstance(case, Value) else ""


def wide_repeats(subject: str) -> Iterator[str]:
    """The names of cases that repeat one of float32 in float64, but for the first of each function: a dtype
    that a function does not take, or a constant of another one, shows in that.
    """
    seen = set()
    for case in SUBJECTS[subject]:
        if isinstance(case, Value) and case.dtype == "float64":
            if function_of(case) in seen:
                yield case.name
            seen.add(function_of(case))


@functools.cache
def compiled(subject: str) -> dict[str, Case]:
    """The cases of a subject that are compiled, by name: of those that compute much, the first one and every
    sixteenth of the others; for each function where it is one that computes values, which cases call with
    other sizes and options. None of float64.
    """
    counts: Counter[tuple[type, str]] = Counter()
    found = {}
    for case in SUBJECTS[subject]:
        kind = type(case), function_of(case)
        if isinstance(case, Value) and case.dtype != "float32":
            continue
        if not isinstance(case, (Answer, Runs, Streams, Trains, Measures, Value)) or counts[kind] % 16 == 0:
            found[case.name] = case
        counts[kind] += 1
    return found


class Together:
    """Outcomes of cases.

    Those that compute values of known shapes from what is fed are compiled in groups. The others, and a case
    whose group is not asked for, are compiled alone. What is not among `compiled` is interpreted.
    """

    def __init__(self, selected: Collection[tuple[str, str]]) -> None:
        """`selected`: the subjects and names of the cases that this run of pytest asks for."""
        self._selected = selected
        self._found: dict[tuple[str, str], Outcome | Exception | None] = {}

    def outcome(self, subject: str, case: Any) -> Outcome:
        """Return the outcome of a case.

        Raises:
            AssertionError: The case runs alone, but not in its group.
        """
        if case.name not in compiled(subject):
            return interpreted(case)
        if not isinstance(case, Value):
            return run(case, sg)
        if (subject, case.name) not in self._found:
            self._run(subject, case)
        found = self._found[subject, case.name]
        if found is None:
            return run(case, sg)
        if isinstance(found, Exception):
            run(case, sg)  # its own error, if there is one
            raise AssertionError(f"{case.name} runs alone, but not together with its neighbours") from found
        return found

    def _run(self, subject: str, case: Value) -> None:
        alike = [
            c
            for c in compiled(subject).values()
            if isinstance(c, Value) and (c is case or (subject, c.name) in self._selected)
        ]
        at = alike.index(case) // TOGETHER * TOGETHER
        group = alike[at : at + TOGETHER]
        self._found |= {(subject, c.name): None for c in group}
        with sg.Graph().as_default() as graph:
            feeds: dict[Any, np.ndarray] = {}
            built = [made for c in group if (made := _built(c, graph, feeds)) is not None]
            if len(built) < 2:
                return
            try:
                with sg.Session() as session:
                    made = session.run([(each.results, each.grads) for each in built], feeds)
            except Exception as error:
                self._found |= {(subject, each.case.name): error for each in built}
                return
        for each, (values, grads) in zip(built, made, strict=True):
            self._found[subject, each.case.name] = each.outcome(values, grads)


def _built(case: Value, graph: Graph, feeds: dict[Any, np.ndarray]) -> _Built | None:
    """A case in a graph that others share. None if shapes are not known, or if it keeps or draws something or
    has collections.
    """
    for key in graph.get_all_collection_keys():
        graph.clear_collection(key)  # of a case before, which runs alone
    before = graph.version
    arrays = case.feeds()
    inputs = [sg.placeholder(a.dtype.name, a.shape) for a in arrays]
    try:
        results = as_list(case.build(sg, *inputs))
        if not all(is_known(sg, result) for result in results):
            return None
        floating = {f"grad {i}": x for i, x in enumerate(inputs) if is_floating(arrays[i])}
        wanted = floating if case.differentiate else {}
        alike = [np.empty(r.shape.as_list(), r.dtype.as_numpy_dtype) for r in results]
        grads = case.gradients(sg, results, alike, wanted)
    except Exception:  # alone, it tells why
        return None
    made = graph.get_operations()[before:]
    if graph.get_all_collection_keys() or not all(
        op.definition.effect in (Effect.PURE, Effect.SOURCE) for op in made
    ):
        return None
    feeds.update(zip(inputs, arrays, strict=True))
    return _Built(case, results, grads, list(wanted))
