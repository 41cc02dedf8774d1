"""Display of an uncaught error by Python: only the frames of the user's program are shown.

Our messages name the user's line and what to do. The frames inside this project, through which an error came,
tell a user nothing more, and they hide the message below them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import TracebackType

from staticgraph.compiler.graph.errors import told
from staticgraph.compiler.graph.provenance import is_ours
from staticgraph.runtime.switches import current


def install() -> None:
    """From now on an uncaught error of ours is shown without our frames, in the main thread and all others.

    What showed errors before still does, and gets all others as they are.
    """
    before, in_threads = sys.excepthook, threading.excepthook

    def hook(kind: type[BaseException], error: BaseException, frames: TracebackType | None) -> None:
        if told(error):
            shorten(error)
            frames = error.__traceback__
        before(kind, error, frames)

    def thread_hook(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and told(args.exc_value):
            shorten(args.exc_value)
            shown = args.exc_type, args.exc_value, args.exc_value.__traceback__, args.thread
            args = threading.ExceptHookArgs(shown)
        in_threads(args)

    sys.excepthook, threading.excepthook = hook, thread_hook


def shorten(error: BaseException, tells: Callable[[BaseException], bool] = told) -> None:
    """Leave what is not the user's out of an error's frames, and out of those of the errors it came from.

    An error whose message does not tell the user's line, as `tells` says, keeps our own frames in which it
    arose: we should not have made it. Where the switch `all_frames` is on, all of them stay.
    """
    waiting: list[BaseException | None] = [] if current("all_frames") else [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.__traceback__ = _of_user(one.__traceback__, tells(one))
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
