"""`python -m staticgraph doctor`: what this machine offers, and what is missing."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from staticgraph.applications.cli import terminal
from staticgraph.applications.cli.outcome import DONE, FAILED
from staticgraph.applications.cli.parsing import examples
from staticgraph.runtime.reports.table import printable

if TYPE_CHECKING:
    from staticgraph.applications.cli.checks import Finding
    from staticgraph.applications.cli.parsing import Commands

_WIDTH = 80  # where the output is no terminal
_NAME = 12


def add(commands: Commands) -> None:
    """Describe the command to the command line's parser."""
    parser = commands.add_parser(
        "doctor",
        help="tell what this machine offers, and what is missing",
        description="Tell what this machine offers and what is missing: versions, the processor, GPUs, the "
        "cache of compiled code, what draws, optional packages with the line that installs them, the "
        "switches in force. A small step is compiled and compared with what it means.\n"
        "Marks: ok; no, which is missing and not needed; ??, which deserves a look; BAD, without which "
        "graphs do not run. The exit status is 1 if something is BAD.",
        epilog=examples(("", "all of it"), ("--json", "for a script, or to go with a report")),
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(command=doctor)


def doctor(options: argparse.Namespace) -> int:
    """Look, and print what was found; FAILED where something that is needed does not work."""
    import staticgraph
    from staticgraph.applications.cli.checks import SECTIONS, State, findings
    from staticgraph.applications.cli.machine import system

    with terminal.Progress() as tell:
        found = {}
        for section in SECTIONS:
            tell(f"looking at {section}", at_once=True)
            found[section] = findings(section)
    bad = [each for section in found.values() for each in section if each.state is State.BAD]
    head = f"staticgraph {staticgraph.__version__} on {system()}"
    if options.json:
        told = {"version": staticgraph.__version__, "system": system(), "fine": not bad}
        sections = {
            section: {each.name: each.as_dict() for each in listed} for section, listed in found.items()
        }
        terminal.out(json.dumps({**told, **sections}, indent=1))
    else:
        width = terminal.width() or _WIDTH
        parts = ["\n".join([section, *_lines(listed, width)]) for section, listed in found.items() if listed]
        names = ", ".join(each.name for each in bad)
        end = f"this does not work: {names}" if bad else "all that is needed works"
        terminal.out("\n\n".join([head, *parts, end]))
    return FAILED if bad else DONE


def _lines(listed: list[Finding], width: int) -> Iterator[str]:
    """A line or more for each: mark, name, text, and under it how to mend it."""
    for each in listed:
        start = f"  {each.state.value:<3}  {each.name:<{_NAME}}  "
        room = max(width - len(start), 16)
        for number, line in enumerate(_wrapped(each.text, room) or [""]):
            yield (start if not number else " " * len(start)) + line
        if each.hint is not None:
            yield from (" " * len(start) + line for line in _wrapped(each.hint, room))


def _wrapped(text: str, room: int) -> list[str]:
    return wrap(printable(text), room, break_on_hyphens=False)
