"""`tf.Module`: objects that own variables and other modules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse

F = TypeVar("F", bound=Callable[..., Any])
_NAME = re.compile(r"[A-Za-z_]\w*")


class Module:
    """An object with a name scope, whose variables and modules are found among its attributes.

    They are also found in lists, tuples and dicts that are attributes.

    Args:
        name: The name, an identifier. Default: the name of the class in small letters.

    Raises:
        ValueError: The name is not an identifier.

    >>> import staticgraph.compat.tf1 as tf
    >>> class Dense(tf.Module):
    ...     def __init__(self, inputs, outputs, name=None):
    ...         super().__init__(name)
    ...         with self.name_scope:
    ...             self.w = tf.Variable(tf.zeros([inputs, outputs]), name="w")
    ...
    ...     @tf.Module.with_name_scope
    ...     def __call__(self, x):
    ...         return tf.matmul(x, self.w)
    >>> dense = Dense(3, 2)
    >>> [v.name for v in dense.variables], dense(tf.ones([1, 3])).name
    (['dense/w:0'], 'dense/MatMul:0')
    """

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = _snake_case(type(self).__name__)
        if not _NAME.fullmatch(name):
            text = f"{name!r} is not a valid module name. Module names must be valid Python identifiers"
            raise misuse(ValueError, f"{text} (e.g. a valid class name).")
        self._name = name
        with sg.name_scope(name) as scope:
            self._scope = scope

    @property
    def name(self) -> str:
        """The name that was given, or that of the class."""
        return self._name

    @property
    def name_scope(self) -> Any:
        """A context in which operations have the name of this module in front."""
        return sg.name_scope(self._scope)

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables of this module and of those in it."""
        return tuple(found for found in _owned(self) if isinstance(found, sg.Variable))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The variables that optimizers change."""
        return tuple(found for found in self.variables if found.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The modules in this one, also inside others."""
        return tuple(found for found in _owned(self) if isinstance(found, Module))

    @classmethod
    def with_name_scope(cls, method: F) -> F:
        """Decorate a method so that its operations have the name of the module in front."""

        @wraps(method)
        def scoped(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped  # type: ignore[return-value]


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _owned(module: Module) -> list[Any]:
    """The variables and modules of a module: its own first, then those of the modules in it."""
    found: dict[int, Any] = {}
    level: list[Any] = [module]
    while level:
        below: list[Any] = []
        for each in level:
            for value in _attributes(each):
                if value is not module and id(value) not in found:
                    found[id(value)] = value
                    below += [value] if isinstance(value, Module) else []
        level = below
    return list(found.values())


def _attributes(module: Module) -> Iterator[Any]:
    """The variables and modules among attributes, by the names of these, and in containers."""
    for name in sorted(vars(module)):
        yield from _leaves(vars(module)[name])


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Module | sg.Variable):
        yield value
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _leaves(value[key])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
