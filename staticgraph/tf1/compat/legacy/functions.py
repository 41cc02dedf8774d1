"""Functions that ask how to compute, where a program is compiled as a whole: `tf.function` and others."""

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


def recompute_grad(
    f: Callable[..., Any],
    use_data_dep: Any = None,
    tupleize_grads: bool = False,
) -> Callable[..., Any]:
    """Return a function of the same results and derivatives.

    `Session(memory_limit=...)` tells how much memory a step may take: the compiler chooses what is computed
    again, over the whole step, so that the wish for one function changes nothing.

    Args:
        f: A function of tensors.
        use_data_dep: Ignored.
        tupleize_grads: Ignored.

    >>> import staticgraph.compat.tf1 as tf
    >>> @tf.contrib.layers.recompute_grad
    ... def square(x):
    ...     return x * x
    >>> x = tf.constant(3.0)
    >>> with tf.Session() as sess:
    ...     print(sess.run(tf.gradients(square(x), x)))
    [np.float32(6.0)]
    """
    if not callable(f):
        raise misuse(TypeError, f"recompute_grad takes a function, not {f!r}")
    return wraps(f)(lambda *args, **kwargs: f(*args, **kwargs))


def sparse_matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> sg.Tensor:
    """Return the product of two matrices, of which one may have many zeros: they are multiplied all the same.

    Args:
        a, b: Matrices of float32 or bfloat16.
        transpose_a, transpose_b: If a matrix is transposed first.
        a_is_sparse, b_is_sparse: Ignored.
        name: Name of the operation.
    """
    return sg.matmul(a, b, transpose_a, transpose_b, name=name or "SparseMatMul")
