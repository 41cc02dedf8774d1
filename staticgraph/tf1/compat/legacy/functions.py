"""`tf.function` in a program that builds graphs: its operations go where it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import staticgraph as sg


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: bool | None = None,
) -> Any:
    """A function of tensors, or a decorator that makes one: each call adds its operations to the graph.

    Positional arguments become tensors where `input_signature` is given. A program is compiled as a whole in
    any case, and Python's own `if` and `while` are not rewritten, so that the other arguments change nothing.

    >>> import staticgraph.compat.tf1 as tf
    >>> @tf.function
    ... def double(x):
    ...     return x * 2
    >>> with tf.Session() as sess:
    ...     print(sess.run(double(tf.constant([1, 2]))))
    [2 4]
    """
    if func is None:
        return lambda decorated: function(decorated, input_signature, autograph)
    inner = func

    @wraps(inner)
    def called(*args: Any, **kwargs: Any) -> Any:
        given = args if input_signature is None else tuple(map(sg.convert_to_tensor, args))
        return inner(*given, **kwargs)

    called.python_function = inner  # type: ignore[attr-defined]
    return called
