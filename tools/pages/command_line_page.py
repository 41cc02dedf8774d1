"""The manual's page about the command line, made from the commands' own descriptions.

python tools/pages/command_line_page.py        writes docs/command_line.md
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from staticgraph.__main__ import parser
from staticgraph.applications.cli.outcome import STATUSES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command_line.md"

_TEXT = """\
# The command line

`staticgraph`, or `python -m staticgraph`, has these commands, and `--help` for each of them.

{overview}

Results go to the standard output, messages and the progress of long work to the error stream. Where a
command fails, its message is short and names the cure; the only tracebacks are those of a script that `run`
runs. Tables are cut to the width of a terminal, or to `COLUMNS`, and are complete in a file or a pipe. No
colours are used.

{statuses}

{commands}
"""


def page() -> str:
    """The whole page.

    >>> page().splitlines()[0]
    '# The command line'
    """
    _, commands = parser("staticgraph")
    about = {each.dest: str(each.help).partition("\n")[0] for each in commands._get_subactions()}
    rows = [(f"[`{name}`](#staticgraph-{name})", about[name]) for name in commands.choices]
    statuses = [(str(status), what) for status, what in STATUSES.items()]
    sections = [_section(name, one) for name, one in commands.choices.items()]
    return _TEXT.format(
        overview=_table(("command", "does"), rows),
        statuses=_table(("exit status", "means"), statuses),
        commands="\n\n".join(sections),
    )


def _section(name: str, one: argparse.ArgumentParser) -> str:
    told = [action for action in one._actions if action.dest != "help"]
    rows = [(_label(action), _plain(str(action.help or ""))) for action in told]
    parts = [f"## staticgraph {name}", *_plain(one.description or "").splitlines(), *_shown(one)]
    return "\n\n".join([*parts, _table(("argument", "is"), rows)])


def _label(action: argparse.Action) -> str:
    """An argument as it is written: `--batch N`."""
    name = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    takes = action.metavar or action.dest.upper() if action.option_strings and action.nargs != 0 else ""
    return f"`{f'{name} {takes}'.strip()}`"


def _shown(one: argparse.ArgumentParser) -> Iterator[str]:
    """The examples: what they do, as remarks above them."""
    lines = (one.epilog or "").splitlines()
    shown = [line.replace("%(prog)s", one.prog).strip() for line in lines if line.startswith("  ")]
    pairs = zip(shown[::2], shown[1::2], strict=True)
    body = "\n".join(f"# {what}\n{command}" for command, what in pairs)
    if body:
        yield f"```sh\n{body}\n```"


def _plain(text: str) -> str:
    """A text in which nothing is markup."""
    return text.replace("%%", "%").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ("---",) * len(head), *rows))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
