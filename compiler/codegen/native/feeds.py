"""Reading what is fed: arrays and single numbers in place if they have the right type and layout, Python
numbers after a conversion.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.native.builder import Writer, function
from staticgraph.compiler.codegen.native.c_types import (
    BOOL,
    BYTE,
    DOUBLE,
    FLOAT,
    INT32,
    INT64,
    TypeKind,
    pointer,
)
from staticgraph.compiler.codegen.native.dispatch_layout import (
    ALIGNED,
    CONTIGUOUS,
    OBJECT,
    ArrayObject,
    Conversion,
    Feed,
    Float,
    Host,
    ScalarObject,
)
from staticgraph.compiler.codegen.native.values import NULL, Register

_FEED = pointer(Feed)


@function(BOOL, _FEED, pointer(ArrayObject))
def read_array(w: Writer, feed: Register, array: Register) -> None:
    """Return true if an array fits a feed. Its address then is in the table."""
    plain = (array.flags & (CONTIGUOUS | ALIGNED)) == (CONTIGUOUS | ALIGNED)
    ndim = array.ndim.to(INT64)
    with w.if_(~((array.descr == feed.descr) & plain & (ndim == feed.ndim))):
        w.return_(False)
    sizes, dims = array.dims, feed.dims
    with w.range(ndim) as i, w.if_(sizes[i] != dims[i]):
        w.return_(False)
    feed.slot[0] = array.data
    w.return_(True)


@function(BOOL, pointer(Host), _FEED, OBJECT, OBJECT)
def read_scalar(w: Writer, host: Register, feed: Register, value: Register, type: Register) -> None:
    """Return true if a number fits a feed. Its address, or that of its converted value, is in the table."""
    with w.if_(type == feed.scalar):
        feed.slot[0] = value.to(pointer(ScalarObject)).value
        w.return_(True)
    place, kind = feed.value, feed.conversion
    feed.slot[0] = place

    def put(number: Register, element: TypeKind) -> None:
        place.to(pointer(element))[0] = number.to(element)
        w.return_(True)

    with w.if_((type == host.float) | (type == host.float64)):
        number = value.to(pointer(Float)).value
        with w.if_(kind == Conversion.FLOAT32):
            put(number, FLOAT)
        with w.if_(kind == Conversion.FLOAT64):
            put(number, DOUBLE)
        w.return_(False)
    with w.if_(kind == Conversion.BOOL):
        is_true = value == host.true
        place.to(pointer(BYTE))[0] = is_true.to(BYTE)
        w.return_(is_true | (value == host.false))
    with w.if_((type != host.int) | (kind == Conversion.NONE)):
        w.return_(False)
    overflow = w.stack(INT32)
    number = host.integer_value(value, overflow)
    with w.if_(overflow[0] != 0):
        w.return_(False)
    with w.if_(kind == Conversion.FLOAT32):
        put(number, FLOAT)
    with w.if_(kind == Conversion.FLOAT64):
        put(number, DOUBLE)
    with w.if_(kind == Conversion.INT64):
        put(number, INT64)
    low = number.to(INT32)
    place.to(pointer(INT32))[0] = low
    w.return_(low.to(INT64) == number)


@function(BOOL, _FEED)
def is_expected(w: Writer, feed: Register) -> None:
    """Return true if what was read has the value that the program is good for."""
    expected = feed.expected
    with w.if_(expected == NULL):
        w.return_(True)
    data = feed.slot[0].to(pointer(BYTE))
    with w.range(feed.expected_bytes) as i, w.if_(data[i] != expected[i]):
        w.return_(False)
    w.return_(True)
