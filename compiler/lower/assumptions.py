"""Least values of open sizes in the body of a loop, which only runs if there is an iteration.

for i in 0..n0:  y[i] = x[i]        asks if x has a row 0. In the body it has, so that is no guard.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from staticgraph.compiler.graph.size_contexts import (
    Undecided,
    answering,
    assuming,
    assumptions,
    current_answer,
)
from staticgraph.compiler.graph.sizes import AnySize, Size, bounds


@contextmanager
def assuming_one(size: AnySize | None) -> Iterator[None]:
    """Answer comparisons inside the `with` that follow from a size being at least 1, and others as around it.

    Args:
        size: An open size; nothing follows from None, or from a number.
    """
    if not isinstance(size, Size):
        yield
        return
    outer, rest = current_answer(), size - 1

    def answer(question: Undecided) -> bool:
        if question.comparison is not None and question.comparison[1] == ">=":
            apart = question.comparison[0]
            if bounds(apart - rest)[0] >= 0:
                return True
            if bounds(-1 - apart - rest)[0] >= 0:
                return False
        if outer is None:
            raise question
        return outer(question)

    with assuming((*assumptions(), size)), answering(answer):
        yield
