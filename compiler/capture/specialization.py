"""Search for the program of a run with as many sizes open as can be.

A step is captured and compiled with open sizes. If that asks for the value of a size, it begins again with
this size known: what is compiled in the end depends on the graph and the sizes of the run alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TypeVar

from staticgraph.compiler.capture.guards import Answers, Guard
from staticgraph.compiler.capture.open_shapes import OpenShapes
from staticgraph.compiler.graph.size_contexts import Undecided, answering
from staticgraph.compiler.graph.sizes import proven
from staticgraph.compiler.support.dataclass import dataclass

_Made = TypeVar("_Made")
_MOST_QUESTIONS = 256  # that are remembered


@dataclass(frozen=True, slots=True)
class _Question:
    """Open question at which a search ended for these shapes, and the guards of the runs that meet it.

    `undecided`: None if it ended for another reason, such as an error of the user's.
    """

    at: OpenShapes
    guards: tuple[Guard, ...]
    undecided: Undecided | None


class Specializer:
    """Searches for programs of one step, and remembers which questions led nowhere.

    Attributes:
        closing: Why sizes are known in programs, as text and as it was raised, in the order in which it was
            found.
    """

    def __init__(self) -> None:
        self._questions: list[_Question] = []
        self.closing: dict[str, Exception] = {}

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
        at = start
        while at.count:
            question, made = self._known(at, rows), None
            if question is None:
                question, made = self._tried(at, rows, make)
            at = at.guarded(question.guards)
            if made is not None:
                return at, made
            if question.undecided is None:
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
        answers, undecided = Answers(values), None
        try:
            with answering(answers):
                made = make(at)
            return _Question(at, answers.guards, None), made
        except Undecided as raised:
            undecided = raised.with_traceback(None)
            answers.ask(undecided)
        except (MemoryError, RecursionError):  # of this moment: there may be more room later
            raise
        except Exception as error:  # the step for the sizes at hand tells it, if it has it too
            from staticgraph.compiler.support.signals import from_handler  # only where something failed

            if from_handler(error):
                raise
            self.closing[f"{type(error).__name__}: {error}"] = error.with_traceback(None)
        question = _Question(at, answers.guards, undecided)
        self._questions = [*self._questions, question][-_MOST_QUESTIONS:]
        return question, None
