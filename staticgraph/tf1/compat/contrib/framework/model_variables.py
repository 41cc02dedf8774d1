"""`tf.contrib.framework`: variables of a model, and lists of them by scope and suffix."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib.framework.arg_scope import add_arg_scope

__all__ = [
    "add_model_variable",
    "get_local_variables",
    "get_model_variables",
    "get_trainable_variables",
    "get_unique_variable",
    "get_variables",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "get_variables_to_restore",
    "is_tensor",
    "local_variable",
    "model_variable",
    "variable",
]


@add_arg_scope
def variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    use_resource: Any = None,
) -> Any:
    """`get_variable`, whose collections are these and GLOBAL_VARIABLES."""
    wanted = list(dict.fromkeys([*(collections or ()), sg.GraphKeys.GLOBAL_VARIABLES]))
    return sg.get_variable(
        name,
        shape,
        dtype or sg.float32,
        initializer,
        regularizer,
        trainable,
        wanted,
        custom_getter=custom_getter,
    )


@add_arg_scope
def model_variable(name: str, shape: Any = None, *args: Any, collections: Any = None, **options: Any) -> Any:
    """`variable` that is also in the collection MODEL_VARIABLES."""
    wanted = [*(collections or ()), sg.GraphKeys.MODEL_VARIABLES]
    return variable(name, shape, *args, collections=wanted, **options)


def local_variable(initial_value: Any, validate_shape: bool = True, name: str | None = None) -> Any:
    """A variable that is no part of a checkpoint and is not trained."""
    return sg.Variable(
        initial_value,
        trainable=False,
        collections=[sg.GraphKeys.LOCAL_VARIABLES],
        validate_shape=validate_shape,
        name=name,
    )


def collections_of(variables_collections: Any, name: str) -> list[str] | None:
    """The collections of one of a layer's variables: a list for all, or a dictionary by name."""
    if isinstance(variables_collections, Mapping):
        variables_collections = variables_collections.get(name)
    return list(variables_collections) if variables_collections else None


def add_model_variable(var: Any) -> None:
    """Put a variable into the collection MODEL_VARIABLES."""
    add_once(sg.GraphKeys.MODEL_VARIABLES, var)


def add_once(collection: str, var: Any) -> None:
    """Put a variable into a collection unless it is there: TRAINABLE_VARIABLES has most of them already."""
    if not any(var is other for other in sg.get_collection(collection)):
        sg.add_to_collection(collection, var)


def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = sg.GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """The variables of a collection whose name begins with a scope and ends with a suffix."""
    if isinstance(scope, sg.VariableScope):
        scope = scope.name
    pattern = (re.escape(scope) + ".*" if scope else ".*") + (f"{re.escape(suffix)}$" if suffix else "")
    found = sg.get_collection(collection)
    return [one for one in found if re.match(pattern, one.op.name)]


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """`get_variables` of MODEL_VARIABLES."""
    return get_variables(scope, suffix, sg.GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """`get_variables` of LOCAL_VARIABLES."""
    return get_variables(scope, suffix, sg.GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """`get_variables` of TRAINABLE_VARIABLES."""
    return get_variables(scope, suffix, sg.GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """`get_variables` with a suffix."""
    return get_variables(scope, suffix)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """The variables whose name ends with `given_name`, which is the last part or several of them."""
    return [v for v in get_variables(scope) if f"/{v.op.name}".endswith(f"/{given_name}")]


def get_unique_variable(var_op_name: str) -> Any:
    """The one variable of this full name. ValueError if there is none."""
    found = [v for v in get_variables() if v.op.name == var_op_name]
    if len(found) != 1:
        raise misuse(ValueError, f"get_unique_variable: {len(found)} variables are called {var_op_name!r}")
    return found[0]


def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list[Any]:
    """The variables of the scopes `include`, by default all, without those of the scopes `exclude`."""
    excluded = {v.op.name for scope in exclude or () for v in get_variables(scope)}
    found = {v.op.name: v for scope in include or (None,) for v in get_variables(scope)}
    return [v for name, v in found.items() if name not in excluded]


def is_tensor(x: Any) -> bool:
    """Return True if `x` is a tensor, a variable, IndexedSlices or a SparseTensor."""
    return isinstance(x, sg.Tensor | sg.Variable | sg.IndexedSlices | sg.SparseTensor)
