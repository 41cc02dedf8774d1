"""`python -m staticgraph replay failure.sg`: a run that failed, once more, one op after the other."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from staticgraph.applications.cli import terminal
from staticgraph.applications.cli.outcome import DONE, UNLIKE, UsageError
from staticgraph.applications.cli.parsing import examples

if TYPE_CHECKING:
    from staticgraph.applications.cli.parsing import Commands
    from staticgraph.runtime.debug.replay import Replay, Row

_HELP = "n: next   b: back   f: the op that fails   p NAME: its values   q: quit"


def add(commands: Commands) -> None:
    """Describe the command to the command line's parser."""
    parser = commands.add_parser(
        "replay",
        help="do a run that failed again, op by op",
        description="Do a run that failed again, one op after the other, by NumPy: a table of what each op "
        "made, the op that fails with what it was given, and where NaN began.\n"
        "Such files are written where the switch SG_FAILURES, or Session(failures=...), names a folder.\n"
        "The status is 0 where the run fails as it did, and 3 where it does not.",
        epilog=examples(
            ("failure.sg", "what each op made, and what failed"),
            ("failure.sg --only '*loss*'", "only the ops of that name, kind or line"),
            ("failure.sg --step", "go through the ops with the keyboard"),
        ),
    )
    add = parser.add_argument
    add("file", help="a file of a run that failed")
    add("--to", metavar="OP", help="stop when an operation of this name, kind or line is done")
    add("--only", metavar="PATTERN", help="show only operations whose name, kind or line this matches")
    add("--values", action="store_true", help="show the arrays too")
    add("--step", action="store_true", help="go through the operations one by one")
    add("--json", action="store_true", help="as JSON")
    parser.set_defaults(command=replay)


def replay(options: argparse.Namespace) -> int:
    """Replay the file; the status to exit with."""
    # The other commands need neither the interpreter nor the ops that a saved graph may have.
    from staticgraph.runtime.debug import replay as replaying
    from staticgraph.runtime.debug.replay_text import as_dict, ending, rows_text, values_text
    from staticgraph.saved.saving import load_failure

    made = replaying.replay(load_failure(options.file), options.to)
    if options.to is not None and not made.stopped and made.error is None:
        raise UsageError(f"--to {options.to}: the run has no such operation")
    rows = [row for row in made.rows if options.only is None or _is_meant(row, options.only)]
    if options.json:
        terminal.out(json.dumps(as_dict(made, rows), indent=1))
    elif options.step:
        _go_through(made, rows)
    else:
        terminal.out(rows_text(made, rows, terminal.width()))
        if options.values:
            terminal.out("\n" + "\n\n".join(values_text(row) for row in rows))
        terminal.out("\n" + ending(made, options.file))
    return DONE if made.stopped or made.reproduced else UNLIKE


def _is_meant(row: Row, pattern: str) -> bool:
    line = row.where.short if row.where is not None else ""
    return any(fnmatch(text, pattern) for text in (row.name, row.op, line))


def _go_through(made: Replay, rows: Sequence[Row]) -> None:
    """Show one row after the other, as the user asks."""
    from staticgraph.runtime.debug.replay_text import rows_text

    terminal.out(_HELP)
    at = 0
    while rows:
        terminal.out(f"\n{at + 1} of {len(rows)}\n{rows_text(made, rows[at : at + 1], terminal.width())}")
        try:
            asked, _, name = input("> ").strip().partition(" ")
        except EOFError:
            return
        match asked:
            case "q":
                return
            case "b":
                at = max(at - 1, 0)
            case "f" if made.failed in rows:
                at = rows.index(made.failed)
            case "p":
                terminal.out(_values(made.rows, name.strip() or rows[at].label))
            case "n" | "":
                at = min(at + 1, len(rows) - 1)
            case _:
                terminal.out(_HELP)


def _values(rows: Sequence[Row], name: str) -> str:
    """The values of the operations of this name."""
    from staticgraph.runtime.debug.replay_text import values_text

    found = [row for row in rows if row.matches(name)]
    return "\n\n".join(map(values_text, found)) or f"there is no operation {name!r}"
