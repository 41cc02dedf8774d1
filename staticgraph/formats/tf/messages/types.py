"""The numbers that element types have in messages: `DT_FLOAT`, and the way from and to our own types."""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import DTYPES, REFERENCE, DType
from staticgraph.formats.tf.messages.fields import TYPES
from staticgraph.formats.tf.messages.scalars import Enum

__all__ = ["DataType", "data_type", "dtype_of"]

_NAMES = """
    INVALID FLOAT DOUBLE INT32 UINT8 INT16 INT8 STRING COMPLEX64 INT64 BOOL QINT8 QUINT8 QINT32 BFLOAT16
    QINT16 QUINT16 UINT16 COMPLEX128 HALF RESOURCE VARIANT UINT32 UINT64
"""
_NUMBERS = {f"DT_{name}": number for number, name in enumerate(_NAMES.split())}

DataType = Enum(**_NUMBERS, **{f"{name}_REF": n + REFERENCE for name, n in _NUMBERS.items() if n})
TYPES["DataType"] = DataType

_BY_NUMBER = {dtype.as_datatype_enum: dtype for dtype in DTYPES.values()}


def data_type(dtype: DType) -> int:
    """The number of an element type.

    >>> from staticgraph.compiler.graph.dtypes import float32
    >>> data_type(float32), DataType.Name(1)
    (1, 'DT_FLOAT')
    """
    return dtype.as_datatype_enum


def dtype_of(number: int) -> DType:
    """The element type of a number. TypeError for those that only TensorFlow has."""
    found = _BY_NUMBER.get(number % REFERENCE if number > REFERENCE else number)
    if found is None:
        raise TypeError(f"{DataType.text(number)} is not an element type here")
    return found


def __getattr__(name: str) -> int:
    if name in DataType:
        return DataType.Value(name)
    raise AttributeError(f"module 'staticgraph.messages.types' has no attribute {name!r}")
