"""Conditions that may be known while the graph is built, and what is computed after something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse


def smart_constant_value(pred: Any) -> bool | None:
    """The value of a condition: a bool, 0 or 1, or a tensor that is known; None for another tensor.

    TypeError for anything else.
    """
    if isinstance(pred, sg.Variable):
        return None
    if isinstance(pred, sg.Tensor):
        known = sg.get_static_value(pred)
        return None if known is None else bool(known)
    if pred in (0, 1):
        return bool(pred)
    raise misuse(TypeError, f"a condition is a bool, 0, 1 or a tensor, not {pred!r}")


def smart_cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """`tf.cond`, or only the one function where the condition is known.

    >>> smart_cond(True, lambda: "one", lambda: "other")
    'one'
    """
    for function in (true_fn, false_fn):
        if not callable(function):
            raise misuse(TypeError, f"smart_cond takes two functions, not {function!r}")
    known = smart_constant_value(pred)
    if known is None:
        return sg.cond(pred, true_fn, false_fn, name=name)
    chosen = true_fn if known else false_fn
    assert chosen is not None
    return chosen()


def smart_case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    name: str = "smart_case",
) -> Any:
    """`tf.case` without the functions whose conditions are known to be false.

    Args:
        pred_fn_pairs: Pairs of a condition and a function, a list or a dictionary.
        default: The function if no condition holds.
        exclusive: Raise an error in a run if more than one condition holds.
        name: The name of the scope.

    Returns:
        What the function of the first condition that holds returns, without operations if that is known now.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    left: list[tuple[Any, Any]] = []
    for pred, function in pairs:
        known = smart_constant_value(pred)
        if known and not left:
            return function()
        if known is not False:
            left.append((sg.convert_to_tensor(pred), function))
    if not left and default is not None:
        return default()
    return sg.case(left, default=default, exclusive=exclusive, name=name)


def with_dependencies(dependencies: Any, output_tensor: Any, name: str | None = None) -> Any:
    """The tensor, SparseTensor or IndexedSlices, which is computed after `dependencies`."""
    values = [*dependencies, output_tensor]
    with sg.name_scope(name, "control_dependency", values) as scope, sg.control_dependencies(dependencies):
        if hasattr(output_tensor, "with_components"):
            return output_tensor.with_components([sg.identity(part) for part in output_tensor.components()])
        return sg.identity(output_tensor, name=scope)
