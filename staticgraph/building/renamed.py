"""Arguments that TF1 renamed in the course of its releases: both names are accepted, one at a time."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.errors import misuse


def renamed(name: str, value: Any, old_name: str, old_value: Any) -> Any:
    """The argument, given under its present or its old name. ValueError if both are given.

    >>> from staticgraph.building.renamed import renamed
    >>> renamed("axis", None, "dim", 1)
    1
    """
    if old_value is None:
        return value
    if value is not None:
        raise misuse(ValueError, f"{name} and {old_name} are two names of one argument, and both were given")
    return old_value


def needed(function: str, **arguments: Any) -> None:
    """ValueError for arguments that have the default None only because an old name comes before them."""
    for name, value in arguments.items():
        if value is None:
            raise misuse(ValueError, f"{function} needs a value for {name}")


def named_only(function: str, sentinel: Any, **arguments: Any) -> None:
    """ValueError unless `arguments` were all given by name: too many callers mixed up labels and logits."""
    if sentinel is not None:
        given = ", ".join(f"{name}=..." for name in arguments)
        raise misuse(ValueError, f"{function} takes its arguments by name", f"{function}({given})")
    needed(function, **arguments)
