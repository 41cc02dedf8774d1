"""Display of an uncaught error by Python: only the frames of the user's program are shown.

Our messages name the user's line and what to do. The frames inside this project, through which an error came,
tell a user nothing more, and they hide the message below them.
"""

from __future__ import annotations

import sys
from types import TracebackType

from staticgraph.compiler.graph.errors import GraphError, OpError
from staticgraph.compiler.graph.provenance import is_ours
from staticgraph.runtime.switches.table import current

TOLD: tuple[type[BaseException], ...] = (OpError, GraphError)  # they tell the user's line themselves


def install() -> None:
    """From now on an uncaught error of ours is shown without our frames.

    What showed errors before still does, and gets all others as they are.
    """
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, frames: TracebackType | None) -> None:
        if isinstance(error, TOLD):
            shorten(error)
            frames = error.__traceback__
        before(kind, error, frames)

    sys.excepthook = hook


def shorten(error: BaseException, told: tuple[type[BaseException], ...] = TOLD) -> None:
    """Leave what is not the user's out of an error's frames, and out of those of the errors it came from.

    An error that is not `told` keeps our own frames in which it arose: we should not have made it. Where the
    switch `all_frames` is on, all of them stay.
    """
    waiting: list[BaseException | None] = [] if current("all_frames") else [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.__traceback__ = _of_user(one.__traceback__, isinstance(one, told))
            waiting += one.__cause__, one.__context__


def _of_user(frames: TracebackType | None, told: bool) -> TracebackType | None:
    entries: list[TracebackType] = []
    while frames is not None:
        entries.append(frames)
        frames = frames.tb_next
    theirs = [at for at, entry in enumerate(entries) if not is_ours(entry.tb_frame.f_code)]
    kept = None
    for at, entry in reversed([*enumerate(entries)]):
        arose = bool(theirs) and at > theirs[-1] and not told
        if at in theirs or arose:
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept
