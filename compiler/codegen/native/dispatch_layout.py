"""Layout of what the dispatching function reads: objects of Python and NumPy, and the records of a callable.

The objects are as CPython keeps them on 64-bit machines. The records consist of 64-bit words:

* `Host`: the addresses of Python's and NumPy's types and functions, the same for all callables;
* `Head`: one per callable, the data of the array that is its `self`;
* `Binding`: one per program of the callable, in a linked list;
* `Feed` and `Result`: one per argument and per fetched tensor of a binding;
* `Known`: one per session, which leads to a `Run` for each set of fetches and feeds that ran often.

`native/dispatch.py` and `native/find.py` generate the code that reads the records; the runtime fills them.
"""

from enum import IntEnum

from staticgraph.compiler.codegen.native.c_types import (
    ADDRESS,
    BYTE,
    DOUBLE,
    INT32,
    INT64,
    SELF,
    VOID,
    Inline,
    Layout,
    Record,
    function_pointer,
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


STOPPED, UNSOUND = 1, 2  # what the function of a step returns if it failed, and 0 otherwise


class Host(Record):
    """Types and single objects, then functions."""

    NDARRAY = OBJECT
    FLOAT = OBJECT
    FLOAT64 = OBJECT
    INT = OBJECT
    LIST = OBJECT
    DICT = OBJECT
    TRUE = OBJECT
    FALSE = OBJECT
    NONE = OBJECT
    NOT_IMPLEMENTED = OBJECT
    VECTORCALL = function_pointer(OBJECT, OBJECT, pointer(OBJECT), INT64, OBJECT)
    INCREF = function_pointer(VOID, OBJECT)
    DECREF = function_pointer(VOID, OBJECT)
    SAVE_THREAD = function_pointer(ADDRESS)
    RESTORE_THREAD = function_pointer(VOID, ADDRESS)
    FETCH_ERROR = function_pointer(VOID, pointer(OBJECT), pointer(OBJECT), pointer(OBJECT))
    RESTORE_ERROR = function_pointer(VOID, OBJECT, OBJECT, OBJECT)
    INTEGER_VALUE = function_pointer(INT64, OBJECT, pointer(INT32))
    NEW_LIST = function_pointer(OBJECT, INT64)
    SET_LIST = function_pointer(INT32, OBJECT, INT64, OBJECT)
    NEW_TUPLE = function_pointer(OBJECT, INT64)
    SET_TUPLE = function_pointer(INT32, OBJECT, INT64, OBJECT)
    NEXT_OF_DICT = function_pointer(INT32, OBJECT, pointer(INT64), pointer(OBJECT), pointer(OBJECT))
    NEW_ARRAY = function_pointer(
        OBJECT, OBJECT, OBJECT, INT32, pointer(INT64), pointer(INT64), ADDRESS, INT32, OBJECT
    )
    SET_BASE = function_pointer(INT32, OBJECT, OBJECT)
    NEW_SCALAR = function_pointer(OBJECT, ADDRESS, OBJECT, OBJECT)


class Run(Record):
    """A callable, by what it fetches and the keys of what it is fed."""

    NEXT = SELF
    KIND = OBJECT  # list, tuple, or null where one object is fetched
    FETCHES = pointer(OBJECT)
    FETCH_COUNT = INT64
    KEYS = pointer(OBJECT)
    KEY_COUNT = INT64
    CALL = OBJECT


class Known(Record):
    """The runs that a session knows."""

    HOST = pointer(Host)
    RECORDED = pointer(List)  # the list of operations of the graph
    SIZE = INT64  # how many there were at the last look
    MOST_KEYS = INT64  # of any run
    FIRST = pointer(Run)  # of them, or null


class State(Record):
    """A session."""

    VERSION = INT64  # changes when bindings become invalid
    OWNER = pointer(INT64)  # the word of its lock that tells which thread holds it; 0 if none does
    ACQUIRE = OBJECT  # Python functions: of that lock
    RELEASE = OBJECT


class Cell(Record):
    """The memory of a variable."""

    FRONT = ADDRESS  # the address of its value
    BACK = ADDRESS  # the address of memory for the next value, where the old one cannot be overwritten


class Conversion(IntEnum):
    """From a Python number to an element."""

    NONE = 0
    FLOAT32 = 1
    FLOAT64 = 2
    INT32 = 3
    INT64 = 4
    BOOL = 5


class Feed(Record):
    """An argument."""

    SLOT = pointer(ADDRESS)  # where in the table its address goes
    DESCR = OBJECT
    NDIM = INT64
    DIMS = pointer(INT64)
    SCALAR = OBJECT  # for no axes: the NumPy type of single values, whose objects are read in place
    CONVERSION = INT64  # for no axes: which of Python's numbers are accepted
    VALUE = ADDRESS  # for no axes: where a converted number goes
    EXPECTED = pointer(BYTE)  # the only value that the program is good for, or null where it is good for all
    EXPECTED_BYTES = INT64


class Block(Record):
    """Memory that was handed out before. It may be again when nothing else refers to `OWNER`."""

    OWNER = OBJECT
    BYTES = INT64
    DATA = ADDRESS


class Result(Record):
    """A fetched tensor."""

    SLOT = pointer(ADDRESS)
    DESCR = OBJECT
    NDIM = INT64
    DIMS = pointer(INT64)
    BYTES = INT64
    VALUE = ADDRESS  # for no axes: where the program writes it
    BLOCKS = pointer(Block)  # for large ones: two blocks that are handed out in turn


class VariableSlot(Record):
    """A slot of the table, and the word that holds the address that goes there."""

    SLOT = pointer(ADDRESS)
    HOLDER = pointer(ADDRESS)


class Counter(Record):
    """A number, and what a run adds to it."""

    NUMBER = pointer(INT64)
    STEP = INT64


class ResultForm(IntEnum):
    """Form of the returned value.

    It is one output, a list or a tuple of outputs, or the result of a function that gets a list.
    """

    SINGLE = 0
    LIST = 1
    TUPLE = 2
    OTHER = 3


class Binding(Record):
    """A program ready to be called. After the address of a block comes the number of records in it."""

    NEXT = SELF
    STATE = pointer(State)
    VERSION = INT64  # the state's version that the binding is good for
    LONG = INT64  # run without Python's lock, while the session is held
    READY = pointer(INT64)  # the address of a word that tells whether the thread pool is ready, or null
    ENTRY = function_pointer(INT32, ADDRESS)
    TABLE = ADDRESS
    CALLS = pointer(INT64)  # the address of a word that counts
    CONNECTED = pointer(INT64)  # of steps with collectives: a word that is 0 after a failure; or null
    FAILED = OBJECT  # of steps with collectives: a function that raises the error of a run; or null
    FEEDS = pointer(Feed)
    FEED_COUNT = INT64
    VARIABLES = pointer(VariableSlot)
    VARIABLE_COUNT = INT64
    FLIPS = pointer(pointer(Cell))  # addresses of cells whose sides are exchanged after the run
    FLIP_COUNT = INT64
    COUNTERS = pointer(Counter)
    COUNTER_COUNT = INT64
    RESULTS = pointer(Result)
    RESULT_COUNT = INT64
    OUTPUTS = pointer(INT64)  # numbers of results, -1 for None
    OUTPUT_COUNT = INT64
    FORM = INT64
    ASSEMBLE = OBJECT  # the function of ResultForm.OTHER


class Head(Record):
    """A callable."""

    HOST = pointer(Host)
    CHAIN = pointer(pointer(Binding))  # the address of the word with the first binding
    FALLBACK = OBJECT  # what is called where no binding fits; null: NotImplemented is returned
    LOCKED = INT64  # whether the caller holds the session
