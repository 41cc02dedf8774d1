"""Classes of losses and metrics that are made of a function: a row tells what a constructor takes."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any

from staticgraph.building.signatures import arguments, parameters_of


def function_class(base: type, class_name: str, doc: str, function: Any, parameters: dict[str, Any]) -> Any:
    """Return a subclass of `base` whose objects are made of `function`.

    Args:
        base: A class whose constructor takes the function, and then `parameters` and any options by name.
        class_name: The name of the class.
        doc: The docstring.
        function: A function of targets, predictions and options.
        parameters: What the constructor takes, in this order, with the defaults.

    Raises:
        TypeError: From the constructor, if it is called with other arguments.
    """
    one = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    signature = Signature([one, *parameters_of(parameters)])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = arguments(class_name, signature, (self, *args), kwargs)
        base.__init__(fn=function, **given)  # type: ignore[misc]

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return type(class_name, (base,), {"__init__": __init__, "__doc__": doc, "__module__": base.__module__})
