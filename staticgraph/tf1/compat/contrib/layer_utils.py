"""`tf.contrib.slim.utils`: outputs of layers in collections, by the names of the layers, and helpers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import staticgraph as sg
from staticgraph.compiler.graph.checks.arguments import keys_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.legacy.conditions import smart_cond as _smart_cond

_aliases: WeakKeyDictionary[Any, list[str]] = WeakKeyDictionary()  # by tensor


def variance_epsilon(dtype: Any) -> float:
    """Return what layer normalization adds to the variance: more in float16, which has no 1e-12."""
    return 1e-3 if dtype == sg.float16 else 1e-12


def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """Add the output of a layer to collections, under the name of the layer.

    Args:
        collections: A collection or a list of them; None or empty for none.
        alias: The name, such as that of the layer's scope.
        outputs: The output.

    Returns:
        `outputs`.
    """
    if keys_of(collections, "outputs_collections"):
        append_tensor_alias(outputs, alias)
        sg.add_to_collections(collections, outputs)
    return outputs


def append_tensor_alias(tensor: Any, alias: str) -> Any:
    """Give a tensor one more name for `convert_collection_to_dict`, and return it."""
    _aliases.setdefault(tensor, []).append(alias.removesuffix("/"))
    return tensor


def get_tensor_aliases(tensor: Any) -> list[str]:
    """The names that a tensor was given; else its own, of the operation if it is the first output."""
    return _aliases.get(tensor) or [tensor.name.removesuffix(":0")]


def gather_tensors_aliases(tensors: Any) -> list[str]:
    """The names of several tensors, one list after the other."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> dict[str, Any]:
    """The tensors of a collection by their names: the end points of a net.

    Args:
        collection: The name of the collection.
        clear_collection: If True, the collection is empty afterwards.

    Returns:
        A dictionary in the order of the collection.

    >>> import staticgraph as sg
    >>> x = sg.contrib.slim.fully_connected(sg.zeros([1, 2]), 3, scope="first", outputs_collections="ends")
    >>> convert_collection_to_dict("ends")
    {'first': <sg.Tensor 'first/Relu:0' shape=(1, 3) dtype=float32>}
    """
    found = {alias: x for x in sg.get_collection(collection) for alias in get_tensor_aliases(x)}
    if clear_collection:
        sg.get_default_graph().clear_collection(collection)
    return found


def get_variable_collections(variables_collections: Any, name: str) -> Any:
    """The collections of one variable of a layer: of its name if they are in a dictionary."""
    return (
        variables_collections.get(name)
        if isinstance(variables_collections, Mapping)
        else variables_collections
    )


def constant_value(value_or_tensor_or_var: Any, dtype: Any = None) -> Any:
    """The value of a tensor that is known while the graph is built; None for others and for variables.

    Args:
        value_or_tensor_or_var: A tensor, a variable or a value, which is returned as it is.
        dtype: The type that a tensor must have; None for any.

    Raises:
        ValueError: It is None, or of another type.
    """
    value = value_or_tensor_or_var
    if value is None:
        raise misuse(ValueError, "constant_value: the argument is None")
    if not isinstance(value, sg.Tensor | sg.Variable):
        return value
    if dtype and value.dtype != dtype:
        raise misuse(ValueError, f"constant_value: the type is {value.dtype}, not {dtype}")
    return None if isinstance(value, sg.Variable) else sg.get_static_value(value)


def static_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any]) -> Any:
    """Call `fn1` if a Python value is true, else `fn2`."""
    return _smart_cond(bool(pred), fn1, fn2)


def smart_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any], name: str | None = None) -> Any:
    """`tf.cond`, or only one of the functions if the condition is known."""
    return _smart_cond(pred, fn1, fn2, name)


def channel_dimension(shape: Any, data_format: str, min_rank: int = 1) -> int:
    """The number of channels: of axis 1 for "channels_first", else of the last."""
    return _dimension(shape, 1 if data_format == "channels_first" else -1, min_rank)


def first_dimension(shape: Any, min_rank: int = 1) -> int:
    """The first size of a shape, which must be known."""
    return _dimension(shape, 0, min_rank)


def last_dimension(shape: Any, min_rank: int = 1) -> int:
    """The last size of a shape, which must be known."""
    return _dimension(shape, -1, min_rank)


def _dimension(shape: Any, axis: int, min_rank: int) -> int:
    if shape.ndims is None or shape.ndims < min_rank:
        raise misuse(ValueError, f"the shape {shape} must be known and of rank {min_rank} or more")
    size = shape.as_list()[axis]
    if size is None:
        raise misuse(ValueError, f"size {axis} of {shape} must be known")
    return int(size)


def two_element_tuple(int_or_tuple: Any) -> tuple[int, int]:
    """One integer twice, or two integers as a tuple."""
    given = int_or_tuple
    if isinstance(given, sg.TensorShape):
        given = given.as_list()
    if isinstance(given, int):
        return given, given
    if isinstance(given, list | tuple) and len(given) == 2:
        return int(given[0]), int(given[1])
    raise misuse(ValueError, f"an integer or two of them are needed, not {int_or_tuple!r}")


def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """One positive integer `n` times, or `n` positive integers as a tuple."""
    if int(n) != n or n < 1:
        raise misuse(ValueError, f"n_positive_integers(n): n must be a positive integer, not {n!r}")
    values = tuple(value) if hasattr(value, "__len__") else (value,) * int(n)
    if len(values) != n or any(int(each) < 1 for each in values):
        raise misuse(ValueError, f"{n} positive integers are needed, not {value!r}")
    return tuple(int(each) for each in values)
