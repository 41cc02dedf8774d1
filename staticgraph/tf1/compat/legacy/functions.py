"""`tf.function` in a program that builds graphs: its operations go where it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse


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

    Raises:
        ValueError: If an argument does not fit its `TensorSpec` in `input_signature`.

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
        if input_signature is None:
            return inner(*args, **kwargs)
        return inner(*map(_argument, args, input_signature), **kwargs)

    called.python_function = inner  # type: ignore[attr-defined]
    return called


def _argument(value: Any, spec: Any) -> sg.Tensor:
    tensor = sg.convert_to_tensor(value, dtype_hint=getattr(spec, "dtype", None))
    fits = getattr(spec, "is_compatible_with", None)
    if hasattr(spec, "shape") and fits is not None and not fits(tensor):
        raise misuse(ValueError, f"{tensor} does not fit the signature {spec!r}")
    return tensor
