"""Parts of complex numbers. Kernels compute with pairs of real numbers: see `kernel/complex_numbers`.

The gradient of a real loss by a complex tensor is the number whose real part says how the loss moves with the
real part, and whose imaginary part how it moves with the imaginary part. For a holomorphic function f that is
`g * conj(f')`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, DType, complex64, complex128, float32, float64
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.primitives.instructions import combined
from staticgraph.compiler.ops.kinds import elementwise
from staticgraph.compiler.ops.samples import reals

_OF_PARTS = {float32: complex64, float64: complex128}


def _part(input: TensorType) -> DType:
    return input.dtype.real_dtype


def _complex_grad(g: Any, y: Any, real_part: Any, imag_part: Any) -> tuple[Any, Any]:
    return real(g), imag(g)


@elementwise(
    tf="Complex", result=lambda real, imag: _OF_PARTS[real.dtype], numpy=combined,
    dtypes=frozenset(_OF_PARTS), primitive="complex", samples=reals(), grad=_complex_grad,
)
def complex_(real: Any, imag: Any) -> Any:
    """The complex number real + i imag, of float32 or float64 parts, which broadcast.

    >>> sg.complex([1.0, 2.0], [0.5, 0.0]).dtype
    sg.complex64
    """
    return scalar.complex(real, imag)


@elementwise(
    tf="Conj", numpy=np.conj, dtypes=COMPLEX, samples=reals(), grad=lambda g, y, x: (ops.conj(g),),
)
def conj(input: Any) -> Any:
    """The complex conjugate: the imaginary part with the other sign."""
    return scalar.complex(scalar.real(input), -scalar.imag(input))


@elementwise(
    tf="Real", result=_part, numpy=lambda input: np.real(input).copy(), dtypes=COMPLEX, primitive="real",
    samples=reals(), grad=lambda g, y, x: (complex_(g, 0.0),),
)
def real(input: Any) -> Any:
    """The real part of a complex number."""
    return scalar.real(input)


@elementwise(
    tf="Imag", result=_part, numpy=lambda input: np.imag(input).copy(), dtypes=COMPLEX, primitive="imag",
    samples=reals(), grad=lambda g, y, x: (complex_(0.0, g),),
)
def imag(input: Any) -> Any:
    """The imaginary part of a complex number."""
    return scalar.imag(input)


def _angle_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    return (complex_(0.0, g) / conj(x),)


@elementwise(
    tf="Angle", result=_part, numpy=np.angle, dtypes=COMPLEX, samples=reals(0.2, 2.0), grad=_angle_grad,
)
def angle(input: Any) -> Any:
    """The argument of a complex number, between -pi and pi."""
    return scalar.atan2(scalar.imag(input), scalar.real(input))


def _modulus_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    slope = ops.div_no_nan(g, y)
    return (complex_(slope * real(x), slope * imag(x)),)


@elementwise(
    tf="ComplexAbs", result=_part, numpy=np.abs, dtypes=COMPLEX, samples=reals(0.2, 2.0), grad=_modulus_grad,
)
def complex_abs(x: Any) -> Any:
    """The modulus of a complex number, sqrt(real ** 2 + imag ** 2)."""
    a, b = scalar.abs(scalar.real(x)), scalar.abs(scalar.imag(x))
    larger, smaller = scalar.maximum(a, b), scalar.minimum(a, b)
    ratio = smaller / scalar.select(scalar.eq(larger, 0), 1, larger)
    infinite = scalar.maximum(scalar.eq(a, math.inf), scalar.eq(b, math.inf))
    return scalar.select(infinite, math.inf, larger * scalar.sqrt(ratio * ratio + 1))
