"""`tensorflow.python.framework.function`: functions of a graph; their operations go where they are called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse


class _Call(NamedTuple):
    """The call of a function, as its `python_grad_func` and `shape_func` see it."""

    inputs: list[sg.Tensor]
    outputs: list[sg.Tensor]
    name: str


class Defun:
    """A decorator that makes a function of tensors, with declared dtypes and maybe a gradient of its own.

    Args:
        *input_types: The dtype of each argument; none to take whatever is given.
        func_name: The name of the function, and of the scope of each call; by default that of the function.
        grad_func: A function (a `Defun` too) of the inputs, then of the derivatives by the outputs. It
            returns the derivatives by the inputs.
        python_grad_func: A function `(op, *derivatives)`. The inputs and outputs of `op` are tensors. It
            returns the derivatives by the inputs.
        out_names: Names of the outputs; they are kept and change nothing.
        shape_func: A function of the same `op` that returns the static shapes of the outputs.
        **kwargs: Settings for TensorFlow's runtime, such as `noinline`; they change nothing: each call is
            inlined, and the graph is compiled as a whole.

    Raises:
        ValueError: If a call gives another number of arguments, or an argument of another dtype; if there are
            fewer parameters than dtypes, or two gradients.

    >>> import staticgraph.compat.tf1 as tf
    >>> from staticgraph.tf1.compat.building.defun import Defun
    >>> @Defun(tf.float32, tf.float32)
    ... def clipped_gradient(x, dy):
    ...     return tf.clip_by_value(dy, -1.0, 1.0)
    >>> @Defun(tf.float32, grad_func=clipped_gradient)
    ... def same(x):
    ...     return tf.identity(x)
    >>> x = tf.constant(2.0)
    >>> with tf.Session() as sess:
    ...     float(sess.run(tf.gradients(100.0 * same(x), x)[0]))
    1.0
    """

    def __init__(
        self,
        *input_types: Any,
        func_name: str | None = None,
        grad_func: Callable[..., Any] | None = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Any = None,
        shape_func: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if grad_func is not None and python_grad_func is not None:
            raise misuse(ValueError, "Defun: grad_func and python_grad_func are two gradients", "give one")
        self._dtypes = [sg.as_dtype(each) for each in input_types]
        self._options: dict[str, Any] = {
            "func_name": func_name,
            "grad_func": grad_func,
            "shape_func": shape_func,
        }
        self._options |= {"python_grad_func": python_grad_func}

    def __call__(self, func: Callable[..., Any]) -> Any:
        if not callable(func):
            raise misuse(ValueError, f"Defun decorates a function, not {func!r}")
        taken = inspect.signature(func).parameters.values()
        count = sum(each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) for each in taken)
        if count < len(self._dtypes) and not any(each.kind is each.VAR_POSITIONAL for each in taken):
            text = f"{func.__name__} has {count} parameters, and Defun names {len(self._dtypes)} dtypes"
            raise misuse(ValueError, text)
        return _Function(func, self._dtypes, **self._options)


class _Function:
    """A function that `Defun` made."""

    def __init__(
        self,
        func: Callable[..., Any],
        dtypes: list[Any],
        func_name: str | None,
        grad_func: Callable[..., Any] | None,
        python_grad_func: Callable[..., Any] | None,
        shape_func: Callable[..., Any] | None,
    ) -> None:
        self._func, self._dtypes = func, dtypes
        self._grad, self._python_grad, self._shapes = grad_func, python_grad_func, shape_func
        self.name = func_name or func.__name__
        self.__name__, self.__doc__ = self.name, func.__doc__

    def __call__(self, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
        if self._dtypes and len(args) != len(self._dtypes):
            text = f"{self.name} takes {len(self._dtypes)} arguments, and {len(args)} were given"
            raise misuse(ValueError, text)
        with sg.name_scope(name or self.name) as scope:
            xs = [self._argument(at, value) for at, value in enumerate(args)]
            if self._grad is None and self._python_grad is None:
                made = self._func(*xs, **kwargs)
            else:
                made = sg.custom_gradient(self._with_gradient)(*xs, **kwargs)
        several = isinstance(made, list | tuple)
        ys = [sg.convert_to_tensor(y) for y in (made if several else [made])] if made is not None else []
        if self._shapes is not None:
            for y, shape in zip(ys, self._shapes(_Call(xs, ys, scope)), strict=True):
                y.set_shape(shape)
        if len(ys) == 1:
            return ys[0]
        return tuple(ys) if ys else sg.no_op(name=scope)

    def _argument(self, at: int, value: Any) -> sg.Tensor:
        tensor = sg.convert_to_tensor(value)
        if self._dtypes and tensor.dtype.base_dtype is not self._dtypes[at]:
            text = f"argument {at} of {self.name} is {tensor.dtype.name}, not {self._dtypes[at].name}"
            raise misuse(ValueError, text, f"convert it: cast(x, tf.{self._dtypes[at].name})")
        return tensor

    def _with_gradient(self, *xs: sg.Tensor, **kwargs: Any) -> tuple[Any, Callable[..., Any]]:
        made = self._func(*xs, **kwargs)
        ys = list(made) if isinstance(made, list | tuple) else [made]

        def gradient(*dys: sg.Tensor) -> Any:
            if self._grad is not None:
                return self._grad(*xs, *dys)
            assert self._python_grad is not None
            return self._python_grad(_Call(list(xs), ys, self.name), *dys)

        return made, gradient
