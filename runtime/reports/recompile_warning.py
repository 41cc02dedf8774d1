"""Warning of a step that is compiled for one size after the other, although its graph leaves them open."""

from __future__ import annotations

import warnings

from staticgraph.compiler.graph.errors import RecompileWarning
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.runtime.reports.recompile_reason import Cause, Reason

PATIENCE = 4  # programs of a step that nobody is warned of


class RecompileWarner:
    """Counts the programs of a step that failed guards made necessary, and warns once.

    Args:
        what: What the step fetches.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._count = 1  # the first one needs no guard to fail

    def __call__(self, reason: Reason) -> None:
        """Count a compile for this reason."""
        if reason.cause is not Cause.GUARD:
            return
        self._count += 1
        if self._count != PATIENCE + 1:
            return
        where = user_frame()
        if where is None:
            return
        text = (
            f"{self._what} is compiled for the {self._count}th time: {reason.text}\n"
            "  hint: pad what is fed to a few sizes, or declare the size if it is always the same;\n"
            "  `print(session.compiles)` shows all compiles"
        )
        warnings.warn_explicit(text, RecompileWarning, where.file, where.line)
