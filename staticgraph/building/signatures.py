"""Functions whose parameters are derived, from those of another function or from a row of data; and arguments
that TF1 renamed in the course of its releases, of which both names are accepted, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any

from staticgraph.compiler.graph.errors import misuse

VAR_KEYWORD = Parameter.VAR_KEYWORD


def parameters_of(defaults: Mapping[str, Any]) -> list[Parameter]:
    """Parameters with these names and defaults, annotated by the type of the default if it tells anything."""
    return [
        Parameter(
            name,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=value,
            annotation="Any" if value is None or isinstance(value, type) else type(value).__name__,
        )
        for name, value in defaults.items()
    ]


def arguments(
    name: str, signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the value of each parameter in a call, defaults included.

    Args:
        name: What was called, for the message.
        signature: Its parameters.
        args: The arguments by position.
        kwargs: The arguments by name.

    Raises:
        TypeError: A parameter has no value, or an argument no parameter.
    """
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        from staticgraph.compiler.support.nearest import nearest_name  # only for mistakes

        meant = (nearest_name(given, signature.parameters) for given in kwargs.keys() - signature.parameters)
        hint = next((f"nearest: {each}" for each in meant if each), None)
        raise misuse(TypeError, f"{name}(): {error}", hint) from None
    bound.apply_defaults()
    return bound.arguments


def derived(signature: Signature, call: Callable[[dict[str, Any]], Any]) -> Any:
    """Return a constructor with these parameters that calls a function with their values by name."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        call(named(arguments(type(self).__name__, signature, (self, *args), kwargs), signature))

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def like(
    base: Any, leave_out: str = "", after: Mapping[str, str] | None = None, **defaults: Any
) -> Callable[[Callable[..., None]], Any]:
    """Give a constructor `__init__(self, **given)` the parameters of a base's, in other words.

    Args:
        base: The base class.
        leave_out: Parameters of the base that are not shown, between spaces.
        after: For each parameter that the base does not have, the one that it stands behind.
        defaults: Defaults by the names of parameters, where they are not those of the base.
    """
    signature = Signature.from_callable(base.__init__)
    placed = [p for name, p in signature.parameters.items() if name not in leave_out.split()]
    for name, before in (after or {}).items():
        at = [parameter.name for parameter in placed].index(before) + 1
        placed[at:at] = parameters_of({name: defaults[name]})
    placed = [_with_default(p, defaults[p.name]) if p.name in defaults else p for p in placed]
    changed = signature.replace(parameters=placed)
    return lambda construct: derived(changed, lambda given: construct(**given))


def _with_default(parameter: Parameter, default: Any) -> Parameter:
    annotation = parameter.annotation
    if default is None and annotation not in ("Any", Parameter.empty) and "None" not in annotation:
        annotation += " | None"
    return parameter.replace(default=default, annotation=annotation)


def with_defaults(base: Any, leave_out: str = "", **defaults: Any) -> Any:
    """Return the constructor of a base with other defaults: see `like`."""
    return like(base, leave_out, **defaults)(base.__init__)


def made_of(base: Any, order: str, **makers: Callable[..., Any]) -> Any:
    """Return the constructor of a base, of which some arguments are made of others.

    Args:
        base: The base class.
        order: The names of the parameters, between spaces.
        makers: For an argument of the base, the function that makes it. The parameters of the function are
            parameters of the constructor.
    """
    functions = (base.__init__, *makers.values())
    known = {name: p for f in functions for name, p in Signature.from_callable(f).parameters.items()}
    placed = [known[name].replace(kind=Parameter.POSITIONAL_OR_KEYWORD) for name in ("self", *order.split())]

    def construct(given: dict[str, Any]) -> None:
        for argument, make in makers.items():
            names = Signature.from_callable(make).parameters
            given[argument] = make(**{name: given.pop(name) for name in names})
        base.__init__(**given)

    return derived(Signature(placed, return_annotation="None"), construct)


def adapted(
    function: Callable[..., Any], order: str, name: str = "", /, **defaults: Any
) -> Callable[..., Any]:
    """Return a function with the parameters of another in another order, and by other names.

    Args:
        function: The other function, whose summary is the docstring.
        order: The parameters, between spaces; `new=old` is called `old` there. Those left out have the
            defaults that they have there.
        name: The name of the new function, if it is another.
        defaults: Defaults that are not those of the other function, by the new names.
    """
    pairs = [(new, old or new) for new, _, old in (entry.partition("=") for entry in order.split())]
    known = Signature.from_callable(function).parameters
    renamed = [known[old].replace(name=new) for new, old in pairs]
    placed = [_with_default(p, defaults[p.name]) if p.name in defaults else p for p in renamed]
    signature = Signature(placed, return_annotation=Signature.from_callable(function).return_annotation)

    def adapter(*args: Any, **kwargs: Any) -> Any:
        given = arguments(adapter.__name__, signature, args, kwargs)
        return function(**{old: given[new] for new, old in pairs})

    adapter.__name__ = adapter.__qualname__ = name or function.__name__
    adapter.__module__ = function.__module__
    adapter.__doc__ = (function.__doc__ or "").split("\n\n")[0]
    adapter.__signature__ = signature  # type: ignore[attr-defined]
    return adapter


def named(given: dict[str, Any], signature: Signature) -> dict[str, Any]:
    """Arguments by name alone: what stands under a name such as `**kwargs` is set free."""
    loose = {name for name, parameter in signature.parameters.items() if parameter.kind is VAR_KEYWORD}
    more = [given[name] for name in loose]
    return {name: value for name, value in given.items() if name not in loose} | (more[0] if more else {})


def renamed(name: str, value: Any, old_name: str, old_value: Any) -> Any:
    """The argument, given under its present or its old name. ValueError if both are given.

    >>> from staticgraph.building.signatures import renamed
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
