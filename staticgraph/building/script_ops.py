"""Functions of Python inside a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, as_dtype, string
from staticgraph.compiler.graph.errors import DtypeError, misuse


def py_func(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """A tensor per dtype in `Tout`, whose values are what `func` returns in each run.

    One dtype gives one tensor, a list gives a list. An empty list gives the operation if `stateful`, and an
    empty list if not: nothing that a run computes needs such a call.

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
    if not dtypes:
        return made if stateful else []
    return [made] if len(dtypes) == 1 else list(made)


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


class _HostValue(np.ndarray):
    """An array that says its value as TensorFlow's eager tensors do."""

    def numpy(self) -> Any:
        """The array itself, a NumPy number for a scalar, bytes for a string."""
        return self.view(np.ndarray)[()]


def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None) -> Any:
    """`py_func` for functions that were written for eager tensors: what `func` gets has a method `numpy()`.

    Args:
        func: A function of arrays. It returns a value, or a list or tuple of values, for which `Tout` has
            dtypes; numbers and arrays are cast to them, None is allowed for an empty `Tout`.
        inp: The tensors whose values `func` gets.
        Tout: A dtype, or a list of dtypes.
        name: The name of the operation.

    Returns:
        One tensor for one dtype, a list of tensors for a list, the operation for an empty list. Shapes are
        unknown: `set_shape` tells them.

    Raises:
        ValueError: If `func` cannot be called.

    `func` computes with NumPy: operations of the graph are not carried out inside it, and no derivative flows
    through it. Errors while running are those of `py_func`.

    >>> import staticgraph as sg
    >>> def total(x):
    ...     return x.numpy().sum()
    >>> with sg.Session() as sess:
    ...     float(sess.run(sg.py_function(total, [[1.0, 2.5]], sg.float32)))
    3.5
    """
    if not callable(func):
        raise misuse(ValueError, f"func is {func!r}, it must be callable")
    several = isinstance(Tout, list | tuple)
    dtypes = [as_dtype(dtype) for dtype in (Tout if several else [Tout])]

    def called(*arrays: Any) -> Any:
        made = func(*(np.asarray(array).view(_HostValue) for array in arrays))
        values = () if not dtypes else tuple(made) if several and isinstance(made, list | tuple) else (made,)
        if len(values) != len(dtypes) or dtypes == [string]:
            return made
        return tuple(_cast(value, dtype) for value, dtype in zip(values, dtypes, strict=True))

    return py_func(called, inp, Tout, name=name or "EagerPyFunc")


def _cast(value: Any, dtype: DType) -> Any:
    return value if dtype is string else np.asarray(value).astype(dtype.numpy)
