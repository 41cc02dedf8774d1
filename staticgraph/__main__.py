"""The command line: `python -m staticgraph run script.py`."""

from __future__ import annotations

import argparse
import sys

from staticgraph.commands import compile, run, show

COMMANDS = (compile, run, show)


def main(arguments: list[str] | None = None) -> int:
    """Run the command that the arguments name; the result is the status to exit with."""
    parser = argparse.ArgumentParser(prog="python -m staticgraph", description="Static computation graphs.")
    commands = parser.add_subparsers(metavar="command", required=True)
    for command in COMMANDS:
        command.add(commands)
    options = parser.parse_args(arguments)
    return int(options.command(options))


if __name__ == "__main__":
    sys.exit(main())
