"""Variables shared by name: `get_variable` makes a variable once and finds it again inside
`variable_scope`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

from staticgraph.building.framework import GraphKeys, get_default_graph, graph_of, name_scope
from staticgraph.compiler.graph.dtypes import DType, as_dtype, float32
from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.graph import Graph
from staticgraph.state.replicas import VariableAggregation, VariableSynchronization
from staticgraph.state.store import AUTO_REUSE, find_or_make
from staticgraph.state.variables import Variable

_DEFAULTS = ("initializer", "regularizer", "caching_device", "partitioner", "custom_getter", "constraint")


class _Store:
    """State of `get_variable` for one graph: its variables, the open scope, and counts of scope names."""

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self.partitioned: dict[str, Any] = {}
        self.scope = VariableScope(False)
        self.opened: dict[str, int] = {}  # how often a scope of that name was opened, to number default names
        self.inside: dict[str, set[str]] = {}  # the names of those directly inside a scope

    def unique(self, name: str) -> str:
        prefix = f"{self.scope.name}/" if self.scope.name else ""
        candidate, number = name, 0
        while self.opened.get(prefix + candidate, 0):
            number += 1
            candidate = f"{name}_{number}"
        return candidate

    def open(self, name: str) -> None:
        """Count that the scope `name` is entered."""
        self.opened[name] = self.opened.get(name, 0) + 1
        while outer := name.rpartition("/")[0]:
            self.inside.setdefault(outer, set()).add(name)
            name = outer

    def close(self, name: str) -> None:
        """Let default names inside the scope `name` begin
        anew, so that entering it again finds the same names.
        """
        names = [name]
        for outer in names:  # which grows
            names += self.inside.pop(outer, ())
        for inner in names[1:]:
            self.opened.pop(inner, None)

    def memory(self) -> Callable[[], None]:
        """A function that brings the present counts back."""
        opened, inside = dict(self.opened), {name: set(names) for name, names in self.inside.items()}

        def restore() -> None:
            self.opened, self.inside = opened, inside

        return restore


def unique_scope_name(name: str) -> str:
    """Return `name`, with a number where the open scope has a scope of that name already."""
    return _store().unique(name)


def _store(graph: Graph | None = None) -> _Store:
    attached = (graph or get_default_graph()).attached
    if _Store not in attached:
        attached[_Store] = _Store()
    found: _Store = attached[_Store]
    return found


class ScopeState(NamedTuple):
    """The open variable scope of a graph, and the counts of scope names, at one moment."""

    store: _Store
    scope: VariableScope
    opened: dict[str, int]
    inside: dict[str, set[str]]

    @classmethod
    def of(cls, graph: Graph) -> ScopeState:
        """Return the present state of a graph."""
        store = _store(graph)
        return cls(
            store, store.scope, dict(store.opened), {name: {*all} for name, all in store.inside.items()}
        )

    def restore(self) -> None:
        """Bring the state back."""
        store = self.store
        store.scope, store.opened = self.scope, dict(self.opened)
        store.inside = {name: {*all} for name, all in self.inside.items()}


class VariableScope:
    """A prefix of variables' names, whether they are reused, and defaults for `get_variable`.

    Given by `with variable_scope(name) as scope` and `get_variable_scope()`; passing it to `variable_scope`
    enters the same scope again from anywhere.
    """

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Callable[..., Any] | None = None,
        name_scope: str = "",
        dtype: Any = float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        self.reuse = reuse
        self.name = name
        self.initializer = initializer
        self.regularizer = regularizer
        self.caching_device = caching_device
        self.partitioner = partitioner
        self.custom_getter = custom_getter
        self.original_name_scope = name_scope
        self.dtype: DType = as_dtype(dtype)
        self.use_resource = use_resource
        self.constraint = constraint

    def copy(self, **changes: Any) -> VariableScope:
        """A scope with the same settings but for `changes`."""
        fields = dict(
            reuse=self.reuse,
            name=self.name,
            name_scope=self.original_name_scope,
            dtype=self.dtype,
            use_resource=self.use_resource,
            **{key: getattr(self, key) for key in _DEFAULTS},
        )
        return VariableScope(**(fields | changes))

    def reuse_variables(self) -> None:
        """Find variables instead of making them, from here on."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        self.regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        self.caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        self.partitioner = partitioner

    def set_custom_getter(self, custom_getter: Callable[..., Any] | None) -> None:
        self.custom_getter = custom_getter

    def set_dtype(self, dtype: Any) -> None:
        self.dtype = as_dtype(dtype)

    def set_use_resource(self, use_resource: bool | None) -> None:
        self.use_resource = use_resource

    def get_collection(self, name: str) -> list[Any]:
        """The items of a collection of the default graph that are inside this scope."""
        return get_default_graph().get_collection(name, f"{self.name}/" if self.name else "")

    def global_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def trainable_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def get_variable(self, name: str, shape: Any = None, dtype: Any = None, **options: Any) -> Variable:
        """See the function `get_variable`."""
        if not isinstance(name, str):
            raise misuse(TypeError, f"get_variable(name): a name is a string, not {name!r}")
        for key in ("initializer", "regularizer", "caching_device", "partitioner", "constraint"):
            if options.get(key) is None:
                options[key] = getattr(self, key)
        options.setdefault("reuse", None)
        if options["reuse"] is None:
            options["reuse"] = self.reuse
        if options.get("trainable") is None:
            options["trainable"] = options.get("synchronization") is not VariableSynchronization.ON_READ
        getter = options.pop("custom_getter", None) or self.custom_getter
        full_name = f"{self.name}/{name}" if self.name else name
        given = options["initializer"]
        if dtype is None and (callable(given) or given is None):
            dtype = self.dtype
        arguments = {
            "name": full_name,
            "shape": shape,
            "dtype": None if dtype is None else as_dtype(dtype),
            **options,
        }
        store = _store()
        make = functools.partial(_find_or_make, store)
        with name_scope(None):  # names of variables do not depend on name scopes
            return make(**arguments) if getter is None else _call_getter(getter, make, arguments)


def _find_or_make(
    store: _Store, name: str, shape: Any = None, dtype: Any = None, partitioner: Any = None, **options: Any
) -> Any:
    """Return the variable of that full name, or make it: in parts, if there is a partitioner and an axis."""
    is_scalar = isinstance(shape, list | tuple) and not shape
    if name not in store.partitioned and (partitioner is None or is_scalar):
        return find_or_make(store.variables, name, shape, dtype, **options)
    from staticgraph.state.partitioned import find_or_make_parts  # few programs have any

    return find_or_make_parts(
        store.variables, store.partitioned, name, shape, dtype, partitioner=partitioner, **options
    )


def _call_getter(custom: Callable[..., Any], getter: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call a user's getter with the arguments that TF1 passes; `constraint` only where it is accepted."""
    accepted = inspect.signature(custom).parameters
    if "constraint" not in accepted and all(p.kind is not p.VAR_KEYWORD for p in accepted.values()):
        arguments = {key: value for key, value in arguments.items() if key != "constraint"}
    return custom(getter=getter, **arguments)


def get_variable_scope() -> VariableScope:
    """The open variable scope of the default graph.

    >>> with sg.variable_scope("net"):
    ...     sg.get_variable_scope().name
    'net'
    """
    return _store().scope


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Callable[..., Any] | None = None,
    constraint: Any = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Variable:
    """The variable `name` of the open variable scope, made where it does not exist.

    What is not given comes from the scope: dtype (float32), initializer (`glorot_uniform` for floats, zeros
    for integers and bool), regularizer, constraint. An `initializer` is a function of shape and dtype, or a
    value, and then no shape is given. What `regularizer(variable)` returns goes to the collection
    REGULARIZATION_LOSSES. ValueError if the variable exists and the scope does not reuse, or the other way
    round, or shape or dtype differ.

    >>> import staticgraph as sg
    >>> def weights():
    ...     with sg.variable_scope("layer", reuse=sg.AUTO_REUSE):
    ...         return sg.get_variable("w", [2, 3])
    >>> weights() is weights(), weights().name
    (True, 'layer/w:0')
    """
    return get_variable_scope().get_variable(
        name,
        shape,
        dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = False,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Variable:
    """`get_variable` for a variable that is neither trained nor saved."""
    return get_variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        False,
        [*(collections or ()), GraphKeys.LOCAL_VARIABLES],
        caching_device,
        partitioner,
        validate_shape,
        use_resource,
        custom_getter,
        constraint,
    )


class variable_scope:
    """Context in which `get_variable` prefixes names, reuses variables, and takes defaults.

    `name_or_scope` is a name inside the open scope, or a `VariableScope` to enter
    again; with None, `default_name` is made unique. `reuse`: True finds variables
    only, `sg.AUTO_REUSE` finds or makes them; inner scopes inherit it. The name
    is opened as a name scope as well, unless `auxiliary_name_scope` is False.

    >>> import staticgraph as sg
    >>> with sg.variable_scope("net") as scope:
    ...     w = sg.get_variable("w", [1])
    >>> with sg.variable_scope(scope, reuse=True):
    ...     sg.get_variable("w") is w
    True
    """

    def __init__(
        self,
        name_or_scope: str | VariableScope | None,
        default_name: str | None = None,
        values: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Callable[..., Any] | None = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: bool | None = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if name_or_scope is None and default_name is None:
            raise misuse(TypeError, "variable_scope(): give a name_or_scope or a default_name")
        if name_or_scope is None and reuse is True:
            raise misuse(
                ValueError, "variable_scope(None, default_name, reuse=True): a new name has nothing to reuse"
            )
        if not isinstance(name_or_scope, str | VariableScope | None):
            raise misuse(
                TypeError, f"variable_scope(): {shown(name_or_scope)} is neither a name nor a VariableScope"
            )
        if not isinstance(auxiliary_name_scope, bool):
            text = f"auxiliary_name_scope must be True or False, not {shown(auxiliary_name_scope)}"
            raise misuse(TypeError, text)
        single = getattr(reuse, "shape", ()) == ()  # an array is not compared
        if reuse is not AUTO_REUSE and not (single and reuse in (None, True, False)):
            raise misuse(ValueError, f"reuse={shown(reuse)} is not True, False, None or sg.AUTO_REUSE")
        self._target = name_or_scope
        self._default_name = default_name
        self._values = list(values) if values is not None else []
        self._reuse = reuse
        self._changes = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "custom_getter": custom_getter,
            "constraint": constraint,
            "dtype": dtype,
            "use_resource": use_resource,
        }
        self._with_name_scope = auxiliary_name_scope
        self._open: list[ExitStack] = []

    def __enter__(self) -> VariableScope:
        graph = graph_of(self._values)
        store = _store(graph)
        with ExitStack() as entered:
            entered.enter_context(graph.as_default())
            target = self._target if self._target is not None else store.unique(str(self._default_name))
            prefix = self._open_names(graph, target, entered)
            scope = self._inner(store.scope, target, prefix)
            self._switch(store, scope, entered)
            self._open.append(entered.pop_all())
        return scope

    def _open_names(self, graph: Graph, target: str | VariableScope, entered: ExitStack) -> str:
        """Open the name scope; returns the prefix of the names of operations in this variable scope."""
        if not self._with_name_scope:
            prefix = graph.get_name_scope()
            prefix = f"{prefix}/" if prefix else ""
        else:
            # The name of the operations is made unique by itself, as TensorFlow does.
            short = self._default_name if self._target is None else _last_part(self._target)
            prefix = entered.enter_context(graph.name_scope(short)) if short else ""
        return prefix if isinstance(target, str) else target.original_name_scope

    def _inner(self, outer: VariableScope, target: str | VariableScope, prefix: str) -> VariableScope:
        changes = {key: value for key, value in self._changes.items() if value is not None}
        if isinstance(target, VariableScope):
            base, name, reuse = target, target.name, self._reuse or target.reuse
        else:
            base, name, reuse = (
                outer,
                f"{outer.name}/{target}" if outer.name else target,
                self._reuse or outer.reuse,
            )
            name = name if target else outer.name
        if (getter := changes.get("custom_getter")) is not None and base.custom_getter is not None:
            changes["custom_getter"] = _nested(getter, base.custom_getter)
        return base.copy(name=name, reuse=reuse, name_scope=prefix, **changes)

    def _switch(self, store: _Store, scope: VariableScope, entered: ExitStack) -> None:
        before = store.scope
        again = isinstance(self._target, VariableScope)
        forget = store.memory() if again else functools.partial(store.close, scope.name)
        store.open(scope.name)

        def restore() -> None:
            store.scope = before
            forget()

        entered.callback(restore)
        store.scope = scope

    def __exit__(self, *error: Any) -> None:
        self._open.pop().close()


def _last_part(target: str | VariableScope) -> str:
    return target if isinstance(target, str) else target.name.split("/")[-1]


def _nested(inner: Callable[..., Any], outer: Callable[..., Any]) -> Callable[..., Any]:
    """A custom getter whose getter is the custom getter of the outer scope."""

    def both(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return inner(functools.partial(outer, getter), *args, **kwargs)

    return both


def variable_op_scope(
    values: Any,
    name_or_scope: Any,
    default_name: str | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Callable[..., Any] | None = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Any = None,
) -> variable_scope:
    """`variable_scope` with the arguments of the first TensorFlow releases."""
    return variable_scope(
        name_or_scope,
        default_name,
        values,
        initializer,
        regularizer,
        caching_device,
        partitioner,
        custom_getter,
        reuse,
        dtype,
        use_resource,
        constraint,
    )
