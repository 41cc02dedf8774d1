"""Operations between complex numbers and their parts, which `complex_numbers/split.py` removes."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, complex64, complex128, float32
from staticgraph.compiler.kernel.primitives.primitive import Primitive


def combined(real: Any, imag: Any) -> np.ndarray:
    """The complex numbers of these parts, which broadcast."""
    parts = np.broadcast_arrays(real, imag)
    made = np.empty(parts[0].shape, np.result_type(real, np.complex64))
    made.real, made.imag = parts
    return made


def _of_parts(part: DType) -> DType:
    return complex64 if part is float32 else complex128


_TAKES = frozenset({"complex"})
PARTS: dict[str, Primitive] = {
    p.name: p
    for p in (
        Primitive("complex", 2, combined, _TAKES, exact=True, flops=0, result=_of_parts),
        Primitive("real", 1, np.real, _TAKES, exact=True, flops=0, result=lambda whole: whole.real_dtype),
        Primitive("imag", 1, np.imag, _TAKES, exact=True, flops=0, result=lambda whole: whole.real_dtype),
    )
}
