"""Layout of the watch that tells a step to stop, for native functions and for the runtime, which makes it."""

from staticgraph.compiler.codegen.native.c_types import (
    ADDRESS,
    INT32,
    INT64,
    VOID,
    Atomic,
    Record,
    function_pointer,
    pointer,
)


class WatchState(Record):
    """The words that a step looks at."""

    STOP = Atomic(INT64)  # 1 asks for a stop
    ENSURE = function_pointer(INT32)  # functions of Python
    RELEASE = function_pointer(VOID, INT32)
    SIGNALS = function_pointer(INT32)
    SAVE = function_pointer(ADDRESS)
    RESTORE = function_pointer(VOID, ADDRESS)
    TIMES = ADDRESS  # the table of times, for timed code
    SKIPPED = Atomic(INT64)  # 1 if a part of the step was skipped for a stop: so must be the rest
    NEXT = INT64  # when to ask for signals again
    IDENT = function_pointer(INT64)  # tells the number of a thread
    MAIN = pointer(INT64)  # the number of the main thread
    COLLECTIVES = ADDRESS  # of a record by which a step calls MPI, if it does
