"""Parts of complex numbers. They are computed by NumPy: compiled code knows real numbers only.

The gradient of a real loss by a complex tensor is the number whose real part says how the loss moves with the
real part, and whose imaginary part how it moves with the imaginary part. For a holomorphic function f that is
`g * conj(f')`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, complex64, complex128, float32, float64
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, broadcast
from staticgraph.compiler.ops.kinds import on_host, same_type
from staticgraph.compiler.ops.samples import reals

_OF_PARTS = {float32: complex64, float64: complex128}


def holomorphic(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A gradient rule written for real numbers, `g * f'(x)`, made right for complex ones too."""

    def conjugating(g: Any, y: Any, *inputs: Any, **attrs: Any) -> Any:
        if not g.dtype.is_complex:
            return rule(g, y, *inputs, **attrs)
        parts = rule(ops.conj(g), y, *inputs, **attrs)
        return tuple(None if part is None else ops.conj(part) for part in parts)

    return conjugating


def _complex_type(real: TensorType, imag: TensorType) -> TensorType:
    return TensorType(_OF_PARTS[real.dtype], broadcast(real.shape, imag.shape))


def _real_type(input: TensorType) -> TensorType:
    return TensorType(input.dtype.real_dtype, input.shape)


def _combine(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    parts = np.broadcast_arrays(real, imag)
    made = np.empty(parts[0].shape, np.result_type(real, np.complex64))
    made.real, made.imag = parts
    return made


def _complex_grad(g: Any, y: Any, real_part: Any, imag_part: Any) -> tuple[Any, Any]:
    return real(g), imag(g)


@on_host(
    tf="Complex", type=_complex_type, numpy=_combine, dtypes=frozenset(_OF_PARTS), samples=reals(),
    grad=_complex_grad, grad_takes=(),
)
def complex_(real: Any, imag: Any) -> Any:
    """The complex number real + i imag, of float32 or float64 parts, which broadcast.

    >>> sg.complex([1.0, 2.0], [0.5, 0.0]).dtype
    sg.complex64
    """


@on_host(
    tf="Conj", type=same_type, numpy=np.conj, dtypes=COMPLEX, samples=reals(),
    grad=lambda g, y, x: (ops.conj(g),), grad_takes=(),
)
def conj(input: Any) -> Any:
    """The complex conjugate: the imaginary part with the other sign."""


@on_host(
    tf="Real", type=_real_type, numpy=lambda input: np.real(input).copy(), dtypes=COMPLEX, samples=reals(),
    grad=lambda g, y, x: (complex_(g, 0.0),), grad_takes=(),
)
def real(input: Any) -> Any:
    """The real part of a complex number."""


@on_host(
    tf="Imag", type=_real_type, numpy=lambda input: np.imag(input).copy(), dtypes=COMPLEX, samples=reals(),
    grad=lambda g, y, x: (complex_(0.0, g),), grad_takes=(),
)
def imag(input: Any) -> Any:
    """The imaginary part of a complex number."""


def _angle_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    return (complex_(0.0, g) / conj(x),)


@on_host(
    tf="Angle", type=_real_type, numpy=np.angle, dtypes=COMPLEX, samples=reals(0.2, 2.0), grad=_angle_grad,
    grad_takes=(),
)
def angle(input: Any) -> Any:
    """The argument of a complex number, between -pi and pi."""


def _modulus_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    slope = ops.div_no_nan(g, y)
    return (complex_(slope * real(x), slope * imag(x)),)


@on_host(
    tf="ComplexAbs", type=_real_type, numpy=np.abs, dtypes=COMPLEX, samples=reals(0.2, 2.0),
    grad=_modulus_grad, grad_takes=(),
)
def complex_abs(x: Any) -> Any:
    """The modulus of a complex number, sqrt(real ** 2 + imag ** 2)."""
