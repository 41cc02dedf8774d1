"""`tf.flags`: flags of several values, other names of flags, and rules about several flags."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from staticgraph.tf1.compat.legacy.flags import (
    DEFINE,
    FLAGS,
    FlagValues,
    register_validator,
)

Checker = Callable[[Mapping[str, Any]], bool]


def DEFINE_multi_enum(
    name: str, default: Any, enum_values: Sequence[str], help: str | None, flag_values: FlagValues = FLAGS
) -> None:
    """Declare a flag that may be given several times, each time with one of `enum_values`."""

    def parse(given: Any) -> list[Any]:
        values = list(given) if isinstance(given, list | tuple) else [given]
        if not set(values) <= set(enum_values):
            raise ValueError(f"one of {', '.join(enum_values)}")
        return values

    DEFINE(parse, name, default, help, flag_values)
    flag_values[name].repeated = True


def DEFINE_spaceseplist(
    name: str, default: Any, help: str | None, comma_compat: bool = False, flag_values: FlagValues = FLAGS
) -> None:
    """Declare a flag with a list of words, divided by spaces, and by commas, too, with `comma_compat`."""

    def parse(given: Any) -> list[str]:
        if not isinstance(given, str):
            return list(given)
        return (given.replace(",", " ") if comma_compat else given).split()

    DEFINE(parse, name, default, help, flag_values)


def DEFINE_alias(name: str, original_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Give a flag another name. UnrecognizedFlagError if there is no flag `original_name`."""
    flag_values.alias(name, original_name)


def set_default(flag_holder: Any, value: Any, flag_values: FlagValues = FLAGS) -> None:
    """Change the default of a flag, which is its value unless the command line gave another.

    Args:
        flag_holder: The name of the flag.
        value: The new default.
        flag_values: The flags.
    """
    flag = flag_values[getattr(flag_holder, "name", flag_holder)]
    flag.default = None if value is None else flag.read(value)
    if not flag.present:
        flag.value = flag.default


def declare_key_flag(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Accept a flag as one of this module's: help shows all flags. UnrecognizedFlagError if there is none."""
    flag_values[flag_name]


def adopt_module_key_flags(module: Any, flag_values: FlagValues = FLAGS) -> None:
    """Accept the flags of a module as this one's: help shows all flags."""


def register_multi_flags_validator(
    flag_names: Sequence[str],
    multi_flags_checker: Checker,
    message: str = "Flags validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Refuse command lines for whose flags a function returns False.

    Args:
        flag_names: The flags that the function looks at.
        multi_flags_checker: It takes a dict of their values by name.
        message: What the error says.
        flag_values: The flags.
    """

    def holds(_: Any) -> bool:
        return multi_flags_checker({name: flag_values[name].value for name in flag_names})

    for name in flag_names:
        register_validator(name, holds, message, flag_values)


def multi_flags_validator(
    flag_names: Sequence[str], message: str = "Flags validation failed", flag_values: FlagValues = FLAGS
) -> Callable[[Checker], Checker]:
    """`register_multi_flags_validator` as a decorator."""

    def register(checker: Checker) -> Checker:
        register_multi_flags_validator(flag_names, checker, message, flag_values)
        return checker

    return register


def _at_most_one(
    names: Sequence[str], required: bool, flag_values: FlagValues, given: Callable[[Any], bool]
) -> None:
    def holds(values: Mapping[str, Any]) -> bool:
        count = sum(map(given, values.values()))
        return count == 1 or (not required and count == 0)

    which = "exactly" if required else "at most"
    register_multi_flags_validator(
        names, holds, f"{which} one of {', '.join(names)} may be given", flag_values
    )


def mark_flags_as_mutual_exclusive(
    flag_names: Sequence[str], required: bool = False, flag_values: FlagValues = FLAGS
) -> None:
    """Refuse command lines that give more than one of the flags, or none of them if one is `required`."""
    _at_most_one(flag_names, required, flag_values, lambda value: value is not None)


def mark_bool_flags_as_mutual_exclusive(
    flag_names: Sequence[str], required: bool = False, flag_values: FlagValues = FLAGS
) -> None:
    """Refuse command lines that switch on more than one of the flags, or none if one is `required`."""
    _at_most_one(flag_names, required, flag_values, bool)
