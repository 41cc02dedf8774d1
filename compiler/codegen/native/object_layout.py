"""Layout of Python's and NumPy's objects, as CPython keeps them on 64-bit machines."""

from staticgraph.compiler.codegen.native.c_types import (
    ADDRESS,
    BYTE,
    DOUBLE,
    INT32,
    INT64,
    SELF,
    Inline,
    Layout,
    pointer,
)

CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # flags of an array


class Object(Layout):
    """Any object."""

    REFERENCES = 0, INT32
    TYPE = 8, SELF


OBJECT = pointer(Object)


class ArrayObject(Layout):
    """An array of NumPy's."""

    DATA = 16, ADDRESS
    NDIM = 24, INT32
    DIMS = 32, pointer(INT64)
    DESCR = 56, OBJECT
    FLAGS = 64, INT32


class Float(Layout):
    """A float of Python's or a float64 of NumPy's."""

    VALUE = 16, DOUBLE


class ScalarObject(Layout):
    """A single value of NumPy's."""

    VALUE = 16, Inline(BYTE)


class Tuple(Layout):
    """A tuple."""

    SIZE = 16, INT64
    ITEMS = 24, Inline(OBJECT)


class List(Layout):
    """A list."""

    SIZE = 16, INT64
    ITEMS = 24, pointer(OBJECT)
