"""The value and the gradients of a function of ops, by their NumPy meaning."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.autodiff.reverse import vjp
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.opdef import recording


def meaning(function: Callable[..., Any], *arrays: Any) -> Any:
    """`function` of arrays: an array, or a list of arrays where it gives several values."""
    build = Builder()
    arrays = tuple(np.asarray(a) for a in arrays)
    params = tuple(build.parameter(f"x{i}", str(a.dtype), a.shape) for i, a in enumerate(arrays))
    with recording(build):
        made = function(*params)
    values = list(made) if isinstance(made, tuple | list) else [made]
    found = interpret(Function(params, tuple(values)), dict(zip(params, arrays, strict=True)))
    return found if isinstance(made, tuple | list) else found[0]


def gradients(function: Callable[..., Any], *arrays: Any, by: Sequence[int] = (0,)) -> list[np.ndarray]:
    """The gradients of the sum of all elements of `function` of arrays."""

    def differentiated(*xs: Any) -> list[Any]:
        y = function(*xs)
        ones = y.recorder.constant(np.ones(y.shape), y.dtype)
        return list(vjp(y.recorder, [y], [ones], [xs[i] for i in by]))

    return meaning(differentiated, *arrays)
