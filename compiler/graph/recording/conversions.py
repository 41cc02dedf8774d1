"""Conversion of what stands for a tensor: variables, slices, and objects of registered types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.tensor import Tensor

_REGISTERED: list[tuple[int, Any, Callable[..., Any]]] = []  # in the order in which they are asked


def register_tensor_conversion_function(
    base_type: Any, conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Let objects of a type be used as tensors: by `convert_to_tensor`, and by all operations.

    Args:
        base_type: The type, or a tuple of types. Objects of their subclasses are converted too.
        conversion_func: A function `(value, dtype=None, name=None, as_ref=False)` that returns a tensor, or
            NotImplemented to have the next function asked.
        priority: Functions of a lower priority are asked first, and those of the same one in order.

    Raises:
        TypeError: If `base_type` is no type, or if `conversion_func` cannot be called.

    >>> import staticgraph as sg
    >>> class Meters:
    ...     def __init__(self, value):
    ...         self.value = value
    >>> def convert(value, dtype=None, name=None, as_ref=False):
    ...     return sg.convert_to_tensor(value.value, dtype, name)
    >>> sg.register_tensor_conversion_function(Meters, convert)
    >>> with sg.Session() as sess:
    ...     print(sess.run(sg.add(Meters([1.0, 2.0]), 1.0)))
    [2. 3.]
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(each, type) for each in types):
        raise misuse(TypeError, f"base_type is {shown(base_type)}, and must be a type or a tuple of types")
    if not callable(conversion_func):
        raise misuse(TypeError, f"conversion_func is {shown(conversion_func)}, and must be callable")
    _REGISTERED.append((priority, types, conversion_func))
    _REGISTERED.sort(key=lambda entry: entry[0])


def stands_for_tensor(value: Any) -> bool:
    """Return True for what is no tensor but is used as one: a variable, slices, or a registered type."""
    if hasattr(value, "to_tensor"):
        return not hasattr(value, "row_splits")  # ragged rows are padded only by who asks for it
    return bool(_REGISTERED) and any(isinstance(value, types) for _, types, _ in _REGISTERED)


def converted(values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of an operation with a tensor for each object of a registered type."""
    if not _REGISTERED:
        return values

    def convert(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(convert, value)) if type(value) in (list, tuple) else value
        return value if hasattr(value, "to_tensor") else as_one_tensor(value)

    return {name: convert(value) for name, value in values.items()}


def as_one_tensor(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Return the tensor that a value stands for, or the value itself if it stands for none."""
    if hasattr(value, "to_tensor"):
        return value if hasattr(value, "row_splits") else value.to_tensor()
    for _, types, function in _REGISTERED:
        if isinstance(value, types):
            made = function(value, dtype=dtype, name=name, as_ref=False)
            if made is NotImplemented:
                continue
            if not isinstance(made, Tensor):
                text = f"the conversion function of {type(value).__name__} returned {shown(made)}"
                raise misuse(RuntimeError, text, "it must return a tensor or NotImplemented")
            return made
    return value
