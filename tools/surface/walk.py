"""Surface of a package: its public names, and how each is called, as text.

One walk serves both sides, so that TensorFlow 1.15 (on Python 3.7) and staticgraph are described in the same
words. An *offer* is `module`, `value`, or `def` or `class` with its parameters as Python spells them:
`def(x, axis=None)`. A function that does not tell its parameters has none in brackets: `def`.
"""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import textwrap
import types
from typing import Any

import numpy as np

LEAKED = {"absolute_import", "division", "print_function"}  # public by accident in TensorFlow's modules


def public(owner: Any) -> list[str]:
    """The public names of a module or class, sorted."""
    return sorted(name for name in dir(owner) if not name.startswith("_") and name not in LEAKED)


def find(owner: Any, path: str) -> Any:
    """The thing at a dotted path below `owner`; "." is `owner` itself. AttributeError if there is none.

    >>> import math
    >>> find(math, "pi")
    3.141592653589793
    """
    for name in path.strip(".").split("."):
        owner = getattr(owner, name) if name else owner
    return owner


def dotted(module: str, name: str) -> str:
    """The name of what is in a module, from the package on.

    >>> dotted("nn", "relu"), dotted(".", "abs")
    ('nn.relu', 'abs')
    """
    return name if module == "." else module + "." + name


def offer(owner: Any, name: str) -> str:
    """Return what `owner`, a module or a class, has under a name. AttributeError if it has nothing.

    >>> import queue
    >>> offer(queue, "Queue"), offer(queue.Queue, "get")
    ('class(maxsize=0)', 'def(block=True, timeout=None)')
    """
    if inspect.isclass(owner) and not hasattr(owner, name) and name in attributes(owner):
        return "value"  # of its objects
    thing = getattr(owner, name)
    if isinstance(thing, types.ModuleType):
        return "module"
    if inspect.isclass(thing):
        return "class" + _constructor(thing)
    if not callable(thing):
        return "value"
    unbound = inspect.isclass(owner) and not isinstance(
        inspect.getattr_static(owner, name), (classmethod, staticmethod)
    )
    return "def" + signature(thing, unbound)


@functools.cache
def attributes(cls: type) -> frozenset[str]:
    """The attributes that a class declares, and those that its methods give to its objects.

    >>> import threading
    >>> "start" in attributes(threading.Thread), "_target" in attributes(threading.Thread)
    (False, True)
    """
    found: set[str] = set()
    for each in cls.__mro__[:-1]:
        found.update(vars(each).get("__annotations__", ()))
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(each)))
        except (OSError, TypeError, SyntaxError):  # not written in Python
            continue
        found.update(
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        )
    return frozenset(found)


def signature(function: Any, unbound: bool = False) -> str:
    """The parameters of a function in brackets, without the first where the function is an unbound method.

    >>> def power(x, y=2.0, *, name="power"): ...
    >>> signature(power)
    "(x, y=2.0, *, name='power')"
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return ""
    if unbound and parameters and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL:
        del parameters[0]
    plain = [
        parameter.replace(annotation=parameter.empty, default=parameter.empty)
        if parameter.default is parameter.empty
        else parameter.replace(annotation=parameter.empty, default=_Spelled(parameter.default))
        for parameter in parameters
    ]
    return str(inspect.Signature(plain))


def _constructor(cls: type) -> str:
    """Return the signature of a class, not its metaclass's: TensorFlow's hides those of `Variable`."""
    if issubclass(cls, enum.Enum):
        return ""
    for maker in (cls.__init__, cls.__new__):
        if inspect.isfunction(maker):
            return signature(maker, unbound=True)
    return ""


class _Spelled:
    """A default value whose representation is its spelling."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return spelling(self.value)


def spelling(value: Any) -> str:
    """A default value in words that two packages can agree on: an expression in Python's grammar.

    An object is called as its class: an initializer may be given as either.

    >>> spelling([1, 1]), spelling(np.float32), spelling(len), spelling(object())
    ('(1, 1)', 'tf.float32', 'len', 'object')
    """
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(map(spelling, value)) + ")"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if value is None or isinstance(value, (bool, int, float, str, bytes, dict)):
        return repr(value)
    if hasattr(value, "as_numpy_dtype"):
        return "tf." + value.name
    if inspect.isclass(value) and issubclass(value, np.generic):
        return "tf." + np.dtype(value).name
    name = getattr(value, "__name__", type(value).__name__)  # that of a class, function or op
    return "lambda_" if name == "<lambda>" else name
