"""Functions of Python inside a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.graph.errors import DtypeError, misuse

__all__ = ["numpy_function", "py_func"]


def py_func(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """A tensor per dtype in `Tout`, whose values are what `func` returns in each run.

    One dtype gives one tensor, a list gives a list, an empty list gives the operation.

    `func` gets the values of `inp`: arrays, NumPy's numbers for scalars, strings as bytes. It returns a
    value, or a list or tuple of values, of just these dtypes: np.float32(x) for float32. Their shapes are
    unknown when the graph is built; `set_shape` tells them. No derivative flows through `func`, and a graph
    that has one cannot be saved. It is called once per run if `stateful`, and perhaps never again for the
    same inputs if not.

    Errors, while running: what `func` raises, as InvalidArgumentError for a TypeError or ValueError, as
    OutOfRangeError for StopIteration, and as UnknownError for the most part; InvalidArgumentError for values
    of other dtypes or of another number. No variable has changed then.

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> words = sg.placeholder(sg.string, [None])
    >>> longest = sg.py_func(lambda w: np.int64(max(map(len, w))), [words], sg.int64)
    >>> with sg.Session() as sess:
    ...     int(sess.run(longest + 1, {words: ["a", "four"]}))
    5
    """
    if not callable(func):
        raise misuse(ValueError, f"func is {func!r}, it must be callable")
    if not isinstance(inp, list | tuple):
        raise misuse(DtypeError, f"inp is {inp!r}, it must be a list of tensors", "inp=[x]")
    several = isinstance(Tout, list | tuple)
    dtypes = tuple(as_dtype(dtype) for dtype in (Tout if several else (Tout,)))
    op = ops.py_func if stateful else ops.py_func_stateless
    made = op(list(inp), func=func, Tout=dtypes, name=name)
    if not several:
        return made
    return made if not dtypes else [made] if len(dtypes) == 1 else list(made)


def numpy_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None) -> Any:
    """`py_func` under its later name; `func` is taken to have effects.

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> y = sg.numpy_function(np.sinh, [1.0], sg.float32)
    >>> with sg.Session() as sess:
    ...     round(float(sess.run(y)), 3)
    1.175
    """
    return py_func(func, inp, Tout, name=name)
