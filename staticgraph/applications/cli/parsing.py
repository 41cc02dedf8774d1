"""Parsers of the command line: help filled to the terminal's width, examples, and errors of one line."""

from __future__ import annotations

import argparse
import sys
import textwrap
from typing import TYPE_CHECKING, Any, NoReturn

from staticgraph.applications.cli.outcome import USAGE
from staticgraph.compiler.support.nearest import nearest_name


def examples(*shown: tuple[str, str]) -> str:
    """The end of a command's help: arguments, and what they do.

    >>> print(examples(("net.sg --batch 8", "for eight rows")))
    examples:
      %(prog)s net.sg --batch 8
          for eight rows
    """
    return "\n".join(["examples:", *(f"  %(prog)s {line}\n      {what}" for line, what in shown)])


def whole_number(text: str) -> int:
    """A number above zero, as an argument."""
    if not text.isdecimal() or not 0 < int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


class Help(argparse.HelpFormatter):
    """Paragraphs are filled to the width of the terminal; lines that are indented stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(_filled(line, width, indent) for line in text.splitlines())

    def _split_lines(self, text: str, width: int) -> list[str]:
        return "\n".join(_filled(line, width, "") for line in text.splitlines()).splitlines()

    def _format_action(self, action: argparse.Action) -> str:
        """A list of commands has a title of its own, and no further name."""
        text = super()._format_action(action)
        return text.partition("\n")[2] if isinstance(action, argparse._SubParsersAction) else text


def _filled(line: str, width: int, indent: str) -> str:
    if line.startswith(" "):
        return indent + line
    return textwrap.fill(
        line, max(width, 11), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, with what was probably meant."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": Help, **settings})

    def error(self, message: str) -> NoReturn:
        """Complain and leave, with the status of wrong usage."""
        print(f"{self.prog}: {message}\n  hint: {self.prog} --help tells more", file=sys.stderr)
        sys.exit(USAGE)


if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Parser]


def parsed(parser: Parser, commands: Commands, arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments of the command line.

    An unknown command or argument ends the process with a message, which suggests the nearest known spelling.
    """
    given = next((each for each in arguments if not each.startswith("-")), None)
    if given is not None and given not in commands.choices:
        close = nearest_name(given, commands.choices)
        meant = f"did you mean {close!r}?" if close else f"there are {', '.join(commands.choices)}"
        parser.error(f"there is no command {given!r}: {meant}")
    options, rest = parser.parse_known_args(arguments)
    if rest:
        one = parser if given is None else commands.choices[given]
        close = nearest_name(rest[0], one._option_string_actions) if rest[0].startswith("-") else None
        one.error(f"{' '.join(rest)}: no such argument{f', did you mean {close}?' if close else ''}")
    return options
