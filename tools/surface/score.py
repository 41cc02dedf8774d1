"""Agreement of a package's surface with the recorded one, name by name and module by module."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from surface.parameters import differences, parse
from surface.walk import dotted, find, offer

DATA = Path(__file__).resolve().parent / "tensorflow_1_15.json"
PACKAGES = ("staticgraph", "staticgraph.compat.tf1")
CALLED = ("def", "class")


class Grade(Enum):
    """Agreement of a name. Only PARTIAL and MISSING can break a call."""

    FULL = "the same parameters, in the same order, with the same defaults"
    COMPATIBLE = "all of TensorFlow's parameters in the same way, and others"
    PARTIAL = "some parameter is missing, or is at another place, or has another default"
    MISSING = "no such name"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A recorded name beside ours. `score` is the share of parameters that agree, 0 for a missing name."""

    module: str
    name: str
    grade: Grade
    score: float
    uses: int  # how many scripts use it
    differences: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The name from the package on: `nn.relu`."""
        return dotted(self.module, self.name)


@dataclass(frozen=True, slots=True)
class Total:
    """Names together, of a module or of all."""

    names: int
    grades: dict[Grade, int]
    score: float  # mean over the names, in percent
    weighted: float | None  # the same with each name as often as scripts use it; None: they use none

    @property
    def present(self) -> float:
        """Percentage of the names that are there at all."""
        return 100 * (1 - self.grades[Grade.MISSING] / self.names)


def recorded() -> dict[str, Any]:
    """TensorFlow 1.15: `modules`, `deprecated` and `uses`, written by `tools/record/signatures.py`."""
    loaded: dict[str, Any] = json.loads(DATA.read_text())
    return loaded


def verdicts(package: Any, surface: dict[str, Any]) -> list[Verdict]:
    """One for each recorded name."""
    return [
        verdict(package, module, name, theirs, surface["uses"].get(dotted(module, name), 0))
        for module, names in surface["modules"].items()
        for name, theirs in names.items()
    ]


def verdict(package: Any, module: str, name: str, theirs: str, uses: int = 0) -> Verdict:
    """Return the agreement of our name with `theirs`, what `walk.offer` said of TensorFlow's.

    >>> import operator
    >>> verdict(operator, ".", "mul", "def(a, b, name=None)").differences
    {'a': 'by place only', 'b': 'by place only', 'name': 'not taken'}
    """
    try:
        ours = offer(find(package, dotted(module, name).rpartition(".")[0]), name.rpartition(".")[2])
    except AttributeError:
        return Verdict(module, name, Grade.MISSING, 0.0, uses)
    if ours == theirs:
        return Verdict(module, name, Grade.FULL, 1.0, uses)
    their_kind, our_kind = (text.partition("(")[0] for text in (theirs, ours))
    if their_kind != our_kind and not (their_kind in CALLED and our_kind in CALLED):
        return Verdict(module, name, Grade.PARTIAL, 0.0, uses, {"": f"is a {our_kind}, not a {their_kind}"})
    wanted, got = parse(theirs), parse(ours)
    if wanted is None or wanted.opaque:
        return Verdict(module, name, Grade.FULL, 1.0, uses)
    if got is None:
        return Verdict(module, name, Grade.PARTIAL, 0.0, uses, {"": "does not tell its parameters"})
    if not (found := differences(wanted, got)):
        return Verdict(module, name, Grade.COMPATIBLE, 1.0, uses)
    agree = len(set(wanted.named) - set(found))
    return Verdict(module, name, Grade.PARTIAL, agree / len(set(wanted.named) | set(found)), uses, found)


def total(of: Iterable[Verdict]) -> Total:
    """Names counted together."""
    every = list(of)
    uses = sum(one.uses for one in every)
    return Total(
        len(every),
        {grade: sum(one.grade is grade for one in every) for grade in Grade},
        100 * sum(one.score for one in every) / len(every),
        100 * sum(one.score * one.uses for one in every) / uses if uses else None,
    )


def totals(of: Iterable[Verdict]) -> dict[str, Total]:
    """By module."""
    modules: dict[str, list[Verdict]] = defaultdict(list)
    for one in of:
        modules[one.module].append(one)
    return {module: total(names) for module, names in modules.items()}
