"""Layout of the record by which a step calls MPI. The runtime fills it, once per process.

It holds addresses of functions, and handles. Both differ between implementations of MPI.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.native.c_types import (
    ADDRESS,
    INT32,
    INT64,
    Record,
    function_pointer,
    pointer,
)

# The order of handles in `Collectives`: the types of elements, and what reductions combine with.
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ELEMENTS = ("byte", "float32", "float64", *_INTEGERS)
COMBINERS = ("sum", "prod", "min", "max")
KINDS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast")

# A handle of MPI is an int or an address. Passed in 64 bits, it has the same register or place of the stack.
_HANDLE = INT64
_REDUCTION = function_pointer(INT32, ADDRESS, ADDRESS, INT32, _HANDLE, _HANDLE, _HANDLE, ADDRESS)
_EXCHANGE = function_pointer(INT32, ADDRESS, INT32, _HANDLE, ADDRESS, INT32, _HANDLE, _HANDLE, ADDRESS)


class Begun(Record):
    """Note of a collective that was begun: what another process needs to take part in it."""

    COMM = INT64
    NUMBER = INT64  # among all that this process has begun by this communicator, from 1 on
    KIND = INT64  # in KINDS
    COUNT = INT64
    ELEMENT = INT64  # in ELEMENTS
    HOW = INT64  # the number of the combiner, or the root


class Collectives(Record):
    """Functions and handles of MPI."""

    ALL_REDUCE = _REDUCTION
    REDUCE_SCATTER = _REDUCTION
    ALL_GATHER = _EXCHANGE
    ALL_TO_ALL = _EXCHANGE
    BROADCAST = function_pointer(INT32, ADDRESS, INT32, _HANDLE, INT32, _HANDLE, ADDRESS)
    TEST = function_pointer(INT32, ADDRESS, pointer(INT32), ADDRESS)
    PAUSE = function_pointer(INT32)  # lets another process have the processor
    COMM = INT64
    TYPES = pointer(INT64)
    COMBINERS = pointer(INT64)
    BEGUN = pointer(INT64)  # counts the collectives that were begun by the communicator
    REQUESTS = pointer(INT64)  # one for each collective of a step
    NOTES = pointer(Begun)  # likewise
    STATUS = ADDRESS  # memory that MPI may write to
    ERROR = INT64  # what a function of MPI returned if it failed
    COMPLETED = pointer(INT64)  # counts the collectives that are complete
