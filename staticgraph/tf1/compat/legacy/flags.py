"""`tf.flags`: options of a program, declared where they are used and parsed from the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from staticgraph.compiler.graph.errors import misuse

_BOOLEANS = {"true": True, "t": True, "1": True, "yes": True, "y": True, "on": True} | {
    "false": False,
    "f": False,
    "0": False,
    "no": False,
    "n": False,
    "off": False,
}


class Error(Exception):
    """The base of all errors about flags."""


class DuplicateFlagError(Error):
    """A flag of this name was declared already."""


class IllegalFlagValueError(Error):
    """A flag cannot have the value that was given."""


class UnrecognizedFlagError(Error, AttributeError):
    """There is no flag of this name."""


class UnparsedFlagAccessError(Error):
    """A flag was read before the command line was."""


class Flag:
    """One option: its name, its value, and how its value is read from text."""

    def __init__(self, name: str, default: Any, help: str | None, parse: Callable[[Any], Any]) -> None:
        self.name, self.help = name, help or ""
        self._parse = parse
        self.default = self.value = None if default is None else self.read(default)
        self.present = 0
        self.repeated = False
        self.checks: list[tuple[Callable[[Any], bool], str]] = []

    @property
    def boolean(self) -> bool:
        return self._parse is _boolean

    def read(self, given: Any) -> Any:
        """The value that `given` means. IllegalFlagValueError if it has none."""
        try:
            return self._parse(given)
        except (TypeError, ValueError) as error:
            raise IllegalFlagValueError(f"--{self.name}={given}: {error}") from None

    def give(self, text: Any) -> None:
        """Take a value from the command line; a repeated flag collects them."""
        value = self.read(text)
        self.value = self.value + value if self.repeated and self.present else value
        self.present += 1

    def check(self) -> None:
        for holds, message in self.checks:
            if not holds(self.value):
                raise IllegalFlagValueError(f"--{self.name}={self.value}: {message}")

    def __str__(self) -> str:
        return str(self.value)


class FlagValues:
    """The values of all flags, as attributes. The command line is parsed when the first is read.

    >>> from staticgraph.tf1.compat.legacy import flags
    >>> values = flags.FlagValues()
    >>> flags.DEFINE_integer("steps", 10, "Steps of training.", flag_values=values)
    >>> values(["train.py", "--steps=20", "--verbose", "data"], known_only=True)
    ['train.py', '--verbose', 'data']
    >>> values.steps
    20
    """

    def __init__(self) -> None:
        vars(self).update(_flags={}, _parsed=False)

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Parse a command line, the program's name first; the result is what is left of it, in order.

        UnrecognizedFlagError for an unknown flag, which is kept in the result instead with `known_only`.
        """
        program, *arguments = argv
        rest = [program]
        for flag in self._flags.values():
            flag.present = 0
        words = iter(arguments)
        for word in words:
            if word == "--":
                rest += words
            elif not word.startswith("-") or word == "-":
                rest.append(word)
            elif not self._take(word.lstrip("-"), words):
                if not known_only:
                    raise UnrecognizedFlagError(f"unknown flag {word}")
                rest.append(word)
        vars(self)["_parsed"] = True
        for flag in self._flags.values():
            flag.check()
        return rest

    def _take(self, word: str, words: Iterator[str]) -> bool:
        """Give a flag its value: `name=value`, `name value`, `name` or `noname`. False if there is none."""
        name, equals, text = word.partition("=")
        if name in {"help", "helpfull", "h"} and name not in self._flags:
            print(self._usage())
            sys.exit(0)
        flag = self._flags.get(name)
        negated = self._flags.get(name.removeprefix("no"))
        if flag is None and negated is not None and negated.boolean and not equals:
            negated.give(False)
        elif flag is None:
            return False
        elif flag.boolean and not equals:
            flag.give(True)
        else:
            value = text if equals else next(words, None)
            if value is None:
                raise IllegalFlagValueError(f"--{name} needs a value")
            flag.give(value)
        return True

    def _usage(self) -> str:
        lines = [f"usage: {os.path.basename(sys.argv[0])} [flags]", ""]
        for name, flag in sorted(self._flags.items()):
            lines.append(f"  --{'[no]' if flag.boolean else ''}{name}: {flag.help} (default: {flag.default})")
        return "\n".join(lines)

    def _parse_flags(self, args: Sequence[str] | None = None) -> list[str]:
        """Parse the command line now: the name for it in the first releases."""
        return self(sys.argv if args is None else [sys.argv[0], *args], known_only=True)

    def __getattr__(self, name: str) -> Any:
        if name == "__flags":
            return self._flags
        if name.startswith("__"):
            raise AttributeError(name)
        if not self._parsed:
            self._parse_flags()
        return self[name].value

    def __setattr__(self, name: str, value: Any) -> None:
        self[name].value = value

    def __delattr__(self, name: str) -> None:
        del self._flags[name]

    def __getitem__(self, name: str) -> Flag:
        if name not in self._flags:
            known = ", ".join(sorted(self._flags)) or "none"
            raise misuse(UnrecognizedFlagError, f"there is no flag {name!r}", f"flags: {known}")
        flag: Flag = self._flags[name]
        return flag

    def __contains__(self, name: object) -> bool:
        return name in self._flags

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags)

    def __len__(self) -> int:
        return len(self._flags)

    def __dir__(self) -> list[str]:
        return sorted({*self._flags, *vars(FlagValues)})

    def declare(self, flag: Flag) -> None:
        """Add a flag. DuplicateFlagError if its name is taken."""
        if flag.name in self._flags:
            raise misuse(DuplicateFlagError, f"the flag {flag.name!r} is declared twice")
        self._flags[flag.name] = flag
        if self._parsed:  # declared late: the command line has been read without it
            self._parse_flags()

    def alias(self, name: str, original_name: str) -> None:
        """Let a flag have a second name. DuplicateFlagError if the name is taken."""
        if name in self._flags:
            raise misuse(DuplicateFlagError, f"the flag {name!r} is declared twice")
        self._flags[name] = self[original_name]
        if self._parsed:
            self._parse_flags()

    def flag_values_dict(self) -> dict[str, Any]:
        """Name to value of all flags."""
        return {name: getattr(self, name) for name in self}

    def is_parsed(self) -> bool:
        """Return True if a command line was parsed."""
        return bool(self._parsed)

    def mark_as_parsed(self) -> None:
        """Let values be read without a command line."""
        vars(self)["_parsed"] = True

    def unparse_flags(self) -> None:
        """Forget that a command line was parsed."""
        vars(self)["_parsed"] = False


FLAGS = FlagValues()


def _boolean(given: Any) -> bool:
    if isinstance(given, str):
        if given.lower() not in _BOOLEANS:
            raise ValueError("a boolean is true or false")
        return _BOOLEANS[given.lower()]
    return bool(given)


def _integer(given: Any) -> int:
    if isinstance(given, float) and given != int(given):
        raise ValueError("an integer has no fraction")
    return int(given, 0) if isinstance(given, str) else int(given)


def _list(given: Any) -> list[str]:
    if isinstance(given, str):
        return [word.strip() for word in given.split(",")] if given else []
    return list(given)


def DEFINE(
    parse: Callable[[Any], Any], name: str, default: Any, help: str | None, flag_values: FlagValues = FLAGS
) -> None:
    """Declare a flag whose value `parse` makes of text; ValueError from it means a bad value."""
    flag_values.declare(Flag(name, default, help, parse))


def DEFINE_string(name: str, default: Any, help: str | None, flag_values: FlagValues = FLAGS) -> None:
    """Declare a flag with text as its value."""
    DEFINE(str, name, default, help, flag_values)


def DEFINE_integer(
    name: str,
    default: Any,
    help: str | None,
    lower_bound: int | None = None,
    upper_bound: int | None = None,
    flag_values: FlagValues = FLAGS,
) -> None:
    """Declare a flag with a whole number as its value."""
    DEFINE(_integer, name, default, help, flag_values)
    _bound(flag_values[name], lower_bound, upper_bound)


def DEFINE_float(
    name: str,
    default: Any,
    help: str | None,
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    flag_values: FlagValues = FLAGS,
) -> None:
    """Declare a flag with a number as its value."""
    DEFINE(float, name, default, help, flag_values)
    _bound(flag_values[name], lower_bound, upper_bound)


def _bound(flag: Flag, lower: float | None, upper: float | None) -> None:
    if lower is not None:
        flag.checks.append((lambda value: value is None or value >= lower, f"at least {lower}"))
    if upper is not None:
        flag.checks.append((lambda value: value is None or value <= upper, f"at most {upper}"))


def DEFINE_boolean(name: str, default: Any, help: str | None, flag_values: FlagValues = FLAGS) -> None:
    """Declare a switch: `--name`, `--noname`, `--name=true`."""
    DEFINE(_boolean, name, default, help, flag_values)


DEFINE_bool = DEFINE_boolean


def DEFINE_enum(
    name: str, default: Any, enum_values: Sequence[str], help: str | None, flag_values: FlagValues = FLAGS
) -> None:
    """Declare a flag whose value is one of `enum_values`."""

    def one_of(given: Any) -> Any:
        if given not in enum_values:
            raise ValueError(f"one of {', '.join(enum_values)}")
        return given

    DEFINE(one_of, name, default, help, flag_values)


def DEFINE_list(name: str, default: Any, help: str | None, flag_values: FlagValues = FLAGS) -> None:
    """Declare a flag with a list of words, divided by commas."""
    DEFINE(_list, name, default, help, flag_values)


def _define_multi(kind: Callable[[Any], Any]) -> Callable[..., None]:
    def define(name: str, default: Any, help: str | None, flag_values: FlagValues = FLAGS) -> None:
        """Declare a flag that may be given several times; its value is the list of what was given."""

        def parse(given: Any) -> list[Any]:
            return [kind(value) for value in (given if isinstance(given, list | tuple) else [given])]

        DEFINE(parse, name, default, help, flag_values)
        flag_values[name].repeated = True

    return define


DEFINE_multi_string = _define_multi(str)
DEFINE_multi_integer = _define_multi(_integer)
DEFINE_multi_float = _define_multi(float)


def register_validator(
    flag_name: str,
    checker: Callable[[Any], bool],
    message: str = "not a valid value",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Refuse values of a flag for which `checker` returns False."""
    flag_values[flag_name].checks.append((checker, message))


def validator(
    flag_name: str, message: str = "not a valid value", flag_values: FlagValues = FLAGS
) -> Callable[[Callable[[Any], bool]], Callable[[Any], bool]]:
    """`register_validator` as a decorator."""

    def register(checker: Callable[[Any], bool]) -> Callable[[Any], bool]:
        register_validator(flag_name, checker, message, flag_values)
        return checker

    return register


def mark_flag_as_required(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Refuse a command line that leaves a flag without a value."""
    register_validator(flag_name, lambda value: value is not None, "the flag is required", flag_values)


def mark_flags_as_required(flag_names: Sequence[str], flag_values: FlagValues = FLAGS) -> None:
    """`mark_flag_as_required` for several flags."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)
