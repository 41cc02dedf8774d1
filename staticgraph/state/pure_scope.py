"""Scopes of variables that open no scope of names."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from staticgraph.compiler.graph.graph import Graph
from staticgraph.state.scopes import VariableScope, variable_scope


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
