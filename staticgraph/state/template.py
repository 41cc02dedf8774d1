"""Functions that make their variables when they are first called, and find them again in later calls: their
scopes of variables open no scope of names.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from staticgraph.building.framework import GraphKeys, get_collection
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.state.scopes import VariableScope, unique_scope_name, variable_scope


class PureVariableScope(variable_scope):
    """A `variable_scope` that opens no scope of names: operations get the names that they would have outside.

    Args:
        name_or_scope: A name inside of the open scope, or a `VariableScope` to enter again.
        reuse: True to find variables only, `tf.AUTO_REUSE` to find or make them.
        initializer: The default of `get_variable` in the scope, as are the arguments up to `custom_getter`.
        old_name_scope: The `original_name_scope` of the scope that is opened; by default its name.
        dtype: The default dtype of variables; None for that of the scope around.
        use_resource: The default of `get_variable`, as is `constraint`.
    """

    def __init__(
        self,
        name_or_scope: Any,
        reuse: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Callable[..., Any] | None = None,
        old_name_scope: str | None = None,
        dtype: Any = None,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        defaults = (initializer, regularizer, caching_device, partitioner, custom_getter, reuse)
        super().__init__(name_or_scope, None, None, *defaults, dtype, use_resource, constraint, False)
        self._old_name_scope = old_name_scope

    def _open_names(self, graph: Graph, target: str | VariableScope, entered: ExitStack) -> str:
        default = target if isinstance(target, str) else target.original_name_scope
        return default if self._old_name_scope is None else self._old_name_scope


class Template:
    """Result of `make_template`: a function with a variable scope of its own."""

    def __init__(
        self, name: str, function: Callable[..., Any], unique_name: str | None, custom_getter: Any
    ) -> None:
        self._name, self._unique_name = name, unique_name
        self._function, self._custom_getter = function, custom_getter
        self._scope: VariableScope | None = None
        self._called = False
        self.__doc__ = function.__doc__

    def open_scope(self) -> None:
        """Take the name of the scope now, not at the first call."""
        name = self._unique_name or unique_scope_name(self._name)
        with PureVariableScope(name, custom_getter=self._custom_getter) as scope:
            self._scope = scope

    def _opened(self) -> variable_scope:
        return variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        again = variable_scope(self._scope, reuse=self._called) if self._scope else self._opened()
        with again as scope:
            self._scope = self._scope or scope
            result = self._function(*args, **kwargs)
        self._called = True
        return result

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of the variables; None before it has a name."""
        return self._scope

    var_scope = variable_scope  # the older name

    @property
    def name(self) -> str:
        """The name that was given to the template."""
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function that is called in the scope."""
        return self._function

    @property
    def variable_scope_name(self) -> str | None:
        """The prefix of the names of the variables, with its slash."""
        return None if self._scope is None else f"{self._scope.name}/"

    @property
    def global_variables(self) -> list[Any]:
        return self._collected(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        return self._collected(GraphKeys.LOCAL_VARIABLES)

    @property
    def trainable_variables(self) -> list[Any]:
        return self._collected(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def variables(self) -> list[Any]:
        """The global variables, then the local ones."""
        return self.global_variables + self.local_variables

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The global variables that optimizers leave alone."""
        trainable = {id(variable) for variable in self.trainable_variables}
        return [variable for variable in self.global_variables if id(variable) not in trainable]

    weights = variables
    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables

    def _collected(self, key: str) -> list[Any]:
        return [] if self._scope is None else get_collection(key, f"{self._scope.name}/")


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Template:
    """A function that calls `func_` in a variable scope of its own, whose variables all calls share.

    `func_` makes its variables by `get_variable`; one that only a later call asks for is a ValueError. The
    scope is `name_`, made unique where the first call is or, with `create_scope_now_`, here; or exactly
    `unique_name_`. `kwargs` are given to each call. TypeError if `func_` is no function.

    >>> import staticgraph as sg
    >>> def scaled(x):
    ...     return x * sg.get_variable("factor", [])
    >>> scale = sg.make_template("scale", scaled)
    >>> first, second = scale(sg.constant(1.0)), scale(sg.constant(2.0))
    >>> [variable.name for variable in scale.variables]
    ['scale/factor:0']
    """
    if name_ is None:
        raise misuse(ValueError, "make_template: name cannot be None.")
    if not callable(func_):
        raise misuse(TypeError, f"make_template: func_={func_!r} is not a function")
    function = functools.partial(func_, **kwargs) if kwargs else func_
    template = Template(name_, function, unique_name_, custom_getter_)
    if create_scope_now_:
        template.open_scope()
    return template
