"""End of a command: its exit status, and one message if it fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

from staticgraph.compiler.graph.errors import GraphError, NotFoundError, OpError
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.runtime.reports.table import printable

DONE, FAILED, USAGE, UNLIKE, INTERRUPTED, UNREAD = 0, 1, 2, 3, 130, 141

STATUSES = {
    DONE: "done",
    FAILED: "failed, as the message on the error stream says",
    USAGE: "wrong usage, or a file or name that does not exist",
    UNLIKE: "compiled code and NumPy do not do the same (replay, bisect)",
    INTERRUPTED: "stopped by Ctrl-C",
    UNREAD: "what reads the output has stopped reading",
}


class UsageError(Exception):
    """The arguments contradict each other, or do not fit this file."""


def outcome(work: Callable[[], int]) -> int:
    """Do the work; its status, or that of the error that it ends with, of which one message is shown."""
    try:
        try:
            return work()
        finally:  # also where a parser leaves, or before a message
            with suppress(AttributeError, ValueError):  # a script may have closed or replaced it
                sys.stdout.flush()
    except BrokenPipeError:
        # Python would try to write the rest when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except KeyboardInterrupt:
        return INTERRUPTED
    except (UsageError, NotFoundError) as error:
        return _told(error, USAGE)
    except (OpError, GraphError, MemoryError, OSError) as error:
        return _told(error, FAILED)


def _told(error: Exception, status: int) -> int:
    """Show a message, without what starts this program as the line at fault."""
    text, start = str(error) or "there is not enough memory", user_frame()
    if start is not None:
        text = text.replace(f"\n\n{start}", "")
    print("\n".join(map(printable, text.splitlines())), file=sys.stderr)
    return status
