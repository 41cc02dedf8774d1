"""Differences of two signatures for a caller: a parameter is missing, elsewhere, or has another default."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named parameter. `default` is its spelling, None for a parameter that has to be given."""

    name: str
    default: str | None = None
    place: int | None = None  # among the positional ones; None: by name only
    named: bool = True  # False: by place only


@dataclass(frozen=True, slots=True)
class Parameters:
    """A signature: the named parameters, and whether any number of others are taken by place or by name."""

    named: dict[str, Parameter]
    more_places: bool = False
    more_names: bool = False

    @property
    def opaque(self) -> bool:
        """Return True if it tells nothing: `(*args, **kwargs)`, of a function hidden by a wrapper."""
        return not self.named and self.more_names


@functools.cache
def parse(offer: str) -> Parameters | None:
    """The parameters of what `walk.offer` says; None if it does not tell.

    >>> parse("def(x, axis=None)").named["axis"]
    Parameter(name='axis', default='None', place=1, named=True)
    >>> parse("value")
    """
    kind, bracket, inside = offer.partition("(")
    if kind not in ("def", "class") or not bracket:
        return None
    function = ast.parse(f"lambda {inside.removesuffix(')')}: 0", mode="eval").body
    assert isinstance(function, ast.Lambda)
    arguments = function.args
    by_place = arguments.posonlyargs + arguments.args
    required: list[None] = [None] * (len(by_place) - len(arguments.defaults))
    named = {
        parameter.arg: Parameter(parameter.arg, _text(default), place, place >= len(arguments.posonlyargs))
        for place, (parameter, default) in enumerate(
            zip(by_place, [*required, *arguments.defaults], strict=True)
        )
    }
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        named[parameter.arg] = Parameter(parameter.arg, _text(default))
    return Parameters(named, arguments.vararg is not None, arguments.kwarg is not None)


def _text(default: ast.expr | None) -> str | None:
    return None if default is None else ast.unparse(default)


def differences(theirs: Parameters, ours: Parameters) -> dict[str, str]:
    """Return what a caller of `theirs` finds changed in `ours`, by parameter; empty if nothing is.

    A default where theirs has none changes nothing for them, nor do further parameters that have one.

    >>> differences(parse("def(x, axis=0, name=None)"), parse("def(x, name=None, axis=1)"))
    {'axis': 'at place 3, not 2; default 1, not 0', 'name': 'at place 2, not 3'}
    """
    if theirs.opaque:
        return {}
    found = {name: _difference(parameter, ours) for name, parameter in theirs.named.items()}
    for name, parameter in ours.named.items():
        if name not in theirs.named and parameter.default is None and not theirs.more_names:
            found[name] = "has to be given"
    further = set(ours.named) - set(theirs.named)
    if theirs.more_places and not ours.more_places:
        found["*"] = "not taken"
    if theirs.more_names and not ours.more_names and not further:
        found["**"] = "not taken"
    return {name: text for name, text in found.items() if text}


def _difference(theirs: Parameter, ours: Parameters) -> str:
    if theirs.name not in ours.named:
        passed_on = ours.more_names and (ours.more_places or theirs.place is None)
        return "" if passed_on else "by name only" if ours.more_names else "not taken"
    mine, changes = ours.named[theirs.name], []
    if not mine.named:
        changes.append("by place only")
    if theirs.place is not None and mine.place is None:
        changes.append("by name only")
    elif theirs.place is not None and mine.place is not None and mine.place != theirs.place:
        changes.append(f"at place {mine.place + 1}, not {theirs.place + 1}")
    if theirs.default is not None and mine.default != theirs.default:
        changes.append(f"default {mine.default}, not {theirs.default}" if mine.default else "has to be given")
    return "; ".join(changes)
