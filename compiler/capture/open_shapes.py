"""Open sizes of feeds: a symbol for each size that the graph leaves open, so that one program takes them all.

    x = placeholder(float32, [None, 784]);  y = placeholder(float32, [None, 10])

gives x the shape [n0, 784] and y the shape [n1, 10]. If an operation demands that n0 and n1 are equal, and in
the run at hand they are, both are called n0 from then on. If it asks for the value of n1, it is given: y
then has as many rows as in the run at hand. If it demands that n0 is even, 2*n0 takes the place of n0, and
if `n0 >= 3` is a guard, n0 + 3.

The value of a feed may be a size, too: `zeros([batch, 100])` of a fed `batch`. If shapes depend on such a
value, its elements are symbols, like the sizes of an axis.

A step is captured and compiled with open sizes. If that asks for the value of a size, it begins again with
this size known: what is compiled in the end depends on the graph and the sizes of the run alone.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from staticgraph.compiler.capture.guards import (
    Answers,
    Guard,
    as_one,
    known_after,
    known_from,
    settle,
    strongest,
    with_one_name,
)
from staticgraph.compiler.capture.step import SHORT
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.open_sizes import has_choice, linear, replaced, symbols
from staticgraph.compiler.graph.size_contexts import Undecided, answering, comparing
from staticgraph.compiler.graph.sizes import MOST, AnySize, Size, evaluate, is_open, proven, symbol
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass, replace

_MOST_AXES = 8  # whose sizes one fed array tells


@dataclass(frozen=True, slots=True)
class OpenShapes:
    """Shapes of the feeds of a run, with symbols for open sizes.

    Attributes:
        shapes: The shapes. Each symbol is found alone in some open size, perhaps times a number and with a
            number: see `linear`. Other open sizes follow from these.
        guards: What holds in a run besides.
        sized: The numbers of the feeds whose values are sizes.
        contents: The elements of these feeds.
        compares: If `minimum` and `maximum` of sizes are one of the two, which is a guard: a size such as
            `min(n0, 10)` led to a question that has no other answer.
    """

    shapes: tuple[tuple[AnySize, ...], ...]
    guards: tuple[Guard, ...] = ()
    sized: tuple[int, ...] = ()
    contents: tuple[tuple[AnySize, ...], ...] = ()
    compares: bool = False

    @property
    def rows(self) -> tuple[tuple[AnySize, ...], ...]:
        """The shapes, then the contents: what the rows of a run are compared with."""
        return (*self.shapes, *self.contents)

    @property
    def count(self) -> int:
        """Number of open sizes."""
        return len([n for row in self.rows for n in row if isinstance(n, Size)])

    def values(self, rows: Sequence[Sequence[int]]) -> dict[str, int] | None:
        """Return the values of the symbols in a run with such shapes and contents; None if there are none."""
        values: dict[str, int] = {}
        follow: list[tuple[Size, int]] = []
        for mine, given in zip(self.rows, rows, strict=True):
            if len(mine) != len(given):
                return None
            for size, n in zip(mine, given, strict=True):
                if not isinstance(size, Size):
                    if size != n:
                        return None
                    continue
                if (form := linear(size)) is None:
                    follow.append((size, n))
                    continue
                name, factor, more = form
                value, rest = divmod(n - more, factor)
                if rest or not 0 <= n - more <= MOST or values.setdefault(name, value) != value:
                    return None
        if any(evaluate(size, values) != n for size, n in follow):
            return None
        return values if all(guard.holds(values) for guard in self.guards) else None

    def with_equal(self, questions: Sequence[Undecided]) -> OpenShapes:
        """Return these shapes with one name for the symbols that each of some questions asked to be equal."""
        return self._with(with_one_name(questions))

    def after(self, undecided: Undecided, rows: Sequence[Sequence[int]]) -> OpenShapes:
        """Return these shapes with what is known of a run with such `rows` after an open question.

        Two sizes that were asked to be equal become one. Otherwise it may be enough to put in what the guards
        tell, or to ask which of two sizes is less. If not, the sizes that the question is about are known
        from here on.
        """
        values = self.values(rows)
        assert values is not None, (self, rows)
        if undecided.comparison is None and (names := self._numbers_with(undecided.sizes)):
            return self._with({name: values[name] for name in names})
        known = as_one(undecided, values) or known_from(self.guards)
        if not known and not self.compares and any(map(has_choice, undecided.sizes)):
            return replace(self, compares=True)
        return self._with(known or known_after(undecided, values))

    def _numbers_with(self, asked: Iterable[AnySize]) -> frozenset[str]:
        """Return the symbols of a feed that has an asked one, and too many elements for sizes of axes.

        Its elements are numbers, such as those of segments: the values of the others will be asked, too.
        """
        rows = [frozenset[str]().union(*map(symbols, row)) for row in self.contents if len(row) > _MOST_AXES]
        names = frozenset[str]().union(*map(symbols, asked))
        return frozenset[str]().union(*(row for row in rows if row & names))

    def with_known_contents(self, rows: Sequence[Sequence[int]]) -> OpenShapes | None:
        """Return these shapes with the contents of a run with such `rows`; None if no content is open."""
        values = self.values(rows)
        assert values is not None, (self, rows)
        names = frozenset[str]().union(*(symbols(n) for row in self.contents for n in row))
        return self._with({name: values[name] for name in names}) if names else None

    def contents_of(self, feeds: Sequence[Tensor]) -> dict[Tensor, np.ndarray]:
        """Return the values of those feeds that are sizes: arrays of objects where sizes are open."""
        found = {}
        for number, row in zip(self.sized, self.contents, strict=True):
            kind = object if is_open(row) else feeds[number].dtype.numpy
            found[feeds[number]] = np.array(row, kind).reshape(self.shapes[number])
        return found

    def taking(self, feeds: Sequence[Tensor], needed: Iterable[Tensor]) -> OpenShapes | None:
        """Return these shapes with a symbol for each element of more feeds, whose values are sizes.

        None if no feed is new, or if a value cannot be sizes: such are `SHORT` integers at most, in an array
        of known shape.
        """
        numbers = sorted({*self.sized, *map(feeds.index, needed)})
        counts = [0 if is_open(self.shapes[n]) else math.prod(self.shapes[n]) for n in numbers]
        fit = (
            feeds[n].dtype.is_integer and 0 < count <= SHORT for n, count in zip(numbers, counts, strict=True)
        )
        if len(numbers) == len(self.sized) or not all(fit):
            return None
        names = map("n{}".format, itertools.count(self.count))
        contents = tuple(tuple(symbol(next(names)) for _ in range(count)) for count in counts)
        return replace(self, sized=tuple(numbers), contents=contents)

    def _with(self, known: Mapping[str, AnySize]) -> OpenShapes:
        """Return these shapes with something in place of symbols."""
        shapes, contents = (
            tuple(tuple(replaced(n, known) for n in row) for row in rows)
            for rows in (self.shapes, self.contents)
        )
        guards = (guard.replaced(known) for guard in self.guards)
        kept = strongest(g for g in guards if g is not None)
        return replace(self, shapes=shapes, guards=kept, contents=contents)

    def guarded(self, guards: Sequence[Guard]) -> OpenShapes:
        """Return these shapes with more guards."""
        return replace(self, guards=strongest((*self.guards, *guards)))


def open_shapes(
    feeds: Sequence[Tensor],
    shapes: Sequence[Sequence[int]],
    closed: Sequence[int] = (),
    contents: Mapping[int, Sequence[int]] = MappingProxyType({}),
) -> OpenShapes | None:
    """Return the shapes of feeds with a symbol for each size that the graph leaves open.

    If it leaves the rank open, too, the rank is that of the run. None if no size is open, or if one is too
    large for a symbol.

    Args:
        feeds: The fed tensors.
        shapes: Their shapes in a run.
        closed: The numbers of those feeds on whose values shapes depend.
        contents: The elements of those among them that may be sizes. What cannot be one, as -1, is known.
    """
    found: list[tuple[AnySize, ...]] = []
    count = 0
    for number, (feed, given) in enumerate(zip(feeds, shapes, strict=True)):
        declared = (None,) * len(given) if feed.type.shape is None else feed.type.shape
        shape: list[AnySize] = list(given)
        alike = len(declared) == len(given)  # a result of Python may be otherwise
        if alike and number not in closed and feed.dtype is not string:
            for axis, n in enumerate(declared):
                if n is None:
                    shape[axis], count = symbol(f"n{count}"), count + 1
        found.append(tuple(shape))
    names = map("n{}".format, itertools.count(count))
    told = tuple(
        tuple(symbol(next(names)) if 0 <= n <= MOST else n for n in row) for row in contents.values()
    )
    made = OpenShapes(tuple(found), sized=tuple(contents), contents=told)
    return made if made.count and made.values((*shapes, *contents.values())) is not None else None


_Made = TypeVar("_Made")
_MOST_QUESTIONS = 256  # that are remembered


@dataclass(frozen=True, slots=True)
class _Question:
    """End of a try with these shapes, and the guards of the runs that meet it.

    Attributes:
        at: The shapes.
        guards: The guards.
        equal: Questions about symbols that are equal in the run at hand; there is no other question then.
        undecided: The open question, if there is one.
        error: Another reason to end, such as an error of the user's.
    """

    at: OpenShapes
    guards: tuple[Guard, ...]
    equal: tuple[Undecided, ...] = ()
    undecided: Undecided | None = None
    error: Exception | None = None


class Specializer:
    """Searches for programs of one step, and remembers which questions led nowhere.

    Attributes:
        closing: Why sizes are known in programs, as text and as it was raised, in the order in which it was
            found.
        failure: The error that the last search met, if it found nothing. If the step for the sizes at hand
            does not have it, it is one of the compiler.
    """

    def __init__(self) -> None:
        self._questions: list[_Question] = []
        self.closing: dict[str, Exception] = {}
        self.failure: Exception | None = None

    @property
    def questions(self) -> list[str]:
        """The questions about sizes that are known in programs: `closing` without errors of runs."""
        return [text for text, why in self.closing.items() if isinstance(why, Undecided)]

    def search(
        self,
        start: OpenShapes,
        rows: Sequence[Sequence[int]],
        make: Callable[[OpenShapes], _Made | None],
    ) -> tuple[OpenShapes, _Made] | None:
        """Return what `make` gives for a run with such `rows`, and the open shapes that it is good for.

        If nothing can be made with open contents of feeds, their values are known.

        Args:
            start: The shapes with all sizes open that may be.
            rows: The shapes of the run, and the contents of feeds that are sizes.
            make: Compiles for open shapes; None if that cannot be now.

        Returns:
            None if no size can be open: then the step is to be compiled for `shapes`.
        """
        at, self.failure = start, None
        while at.count:
            question, made = self._known(at, rows), None
            if question is None:
                question, made = self._tried(at, rows, make)
            at = at.guarded(question.guards)
            if made is not None:
                return at, made
            if question.equal:
                at = at.with_equal(question.equal)
                continue
            if question.undecided is None:
                self.failure = question.error
                closed = at.with_known_contents(rows)
                if closed is None:
                    return None
                at = closed
                continue
            before, at = at, at.after(question.undecided, rows)
            if before.count > at.count:
                self.closing[question.undecided.about] = question.undecided
        return None

    def _known(self, at: OpenShapes, rows: Sequence[Sequence[int]]) -> _Question | None:
        """The question that a run is known to meet with these open shapes, if there is one."""
        values = at.values(rows)
        assert values is not None, at
        for each in self._questions:
            if proven(operator.eq, each.at, at) and all(guard.holds(values) for guard in each.guards):
                return each
        return None

    def _tried(
        self, at: OpenShapes, rows: Sequence[Sequence[int]], make: Callable[[OpenShapes], _Made | None]
    ) -> tuple[_Question, _Made | None]:
        values = at.values(rows)
        assert values is not None, at
        answers = Answers(values, puts_off=True)
        undecided: Undecided | None = None
        failure: Exception | None = None
        try:
            with answering(answers), comparing(at.compares):
                made = make(at)
                settle()
            return _Question(at, answers.guards), made
        except Undecided as raised:
            undecided = raised.with_traceback(None)
            answers.ask(undecided)
        except (MemoryError, RecursionError):  # of this moment: there may be more room later
            raise
        except Exception as error:  # the step for the sizes at hand tells it, if it has it too
            from staticgraph.compiler.support.signals import from_handler  # only where something failed

            if from_handler(error):
                raise
            failure = error.with_traceback(None)
        if answers.put_off:  # what else there was may be gone with them
            question = _Question(at, answers.guards, tuple(answers.put_off))
        else:
            question = _Question(at, answers.guards, (), undecided, failure)
            if failure is not None:
                self.closing[f"{type(failure).__name__}: {failure}"] = failure
        self._questions = [*self._questions, question][-_MOST_QUESTIONS:]
        return question, None
