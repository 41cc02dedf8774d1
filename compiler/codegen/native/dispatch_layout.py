"""Layout of the records of a callable that the dispatching function reads, in 64-bit words.

* `Host`: the addresses of Python's and NumPy's types and functions, the same for all callables;
* `Head`: one per callable, the data of the array that is its `self`;
* `Binding`: one per program of the callable, in a linked list;
* `Feed` and `Result`: one per argument and per fetched tensor of a binding;
* `Known`: one per session, which leads to a `Run` for each set of fetches and feeds that ran often.

`native/dispatch.py` and `native/find.py` generate the code that reads the records; the runtime fills them.
"""

from __future__ import annotations

from enum import IntEnum, auto

# Where CPython and NumPy keep the parts of objects: bytes from their start, on 64-bit machines.
REFERENCES, TYPE, DATA, NDIM, DIMS, DESCR, FLAGS = 0, 8, 16, 24, 32, 56, 64
VALUE = 16  # of a Python float and of a NumPy scalar
SIZE, ITEMS = 16, 24  # of a tuple, which has its items there, and of a list, which has their address there
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # flags of an array

STOPPED, UNSOUND = 1, 2  # what the function of a step returns if it failed, and 0 otherwise


class _Words(IntEnum):
    """Positions in a record, from 0."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:
        return count


class Host(_Words):
    """Types and single objects, then functions."""

    NDARRAY = auto()
    FLOAT = auto()
    FLOAT64 = auto()
    INT = auto()
    LIST = auto()
    DICT = auto()
    TRUE = auto()
    FALSE = auto()
    NONE = auto()
    NOT_IMPLEMENTED = auto()
    VECTORCALL = auto()
    INCREF = auto()
    DECREF = auto()
    SAVE_THREAD = auto()
    RESTORE_THREAD = auto()
    FETCH_ERROR = auto()
    RESTORE_ERROR = auto()
    INTEGER_VALUE = auto()
    NEW_LIST = auto()
    SET_LIST = auto()
    NEW_TUPLE = auto()
    SET_TUPLE = auto()
    NEXT_OF_DICT = auto()
    NEW_ARRAY = auto()
    SET_BASE = auto()
    NEW_SCALAR = auto()


class Head(_Words):
    """A callable."""

    HOST = auto()
    CHAIN = auto()  # the address of the word with the first binding
    FALLBACK = auto()  # what is called where no binding fits; null: NotImplemented is returned
    LOCKED = auto()  # whether the caller holds the session


class Known(_Words):
    """The runs that a session knows."""

    HOST = auto()
    RECORDED = auto()  # the list of operations of the graph
    SIZE = auto()  # how many there were at the last look
    MOST_KEYS = auto()  # of any run
    FIRST = auto()  # of them, or null


class Run(_Words):
    """A callable, by what it fetches and the keys of what it is fed."""

    NEXT = auto()
    KIND = auto()  # list, tuple, or null where one object is fetched
    FETCHES = auto()
    FETCH_COUNT = auto()
    KEYS = auto()
    KEY_COUNT = auto()
    CALL = auto()


class State(_Words):
    """A session."""

    VERSION = auto()  # changes when bindings become invalid
    HOLDERS = auto()  # how many calls hold it at the moment, one inside the other
    ACQUIRE = auto()  # Python functions: of the lock that those hold
    RELEASE = auto()


class Cell(_Words):
    """The memory of a variable."""

    FRONT = auto()  # the address of its value
    BACK = auto()  # the address of memory for the next value, where the old one cannot be overwritten


class Binding(_Words):
    """A program ready to be called. After the address of a block comes the number of records in it."""

    NEXT = auto()
    STATE = auto()
    VERSION = auto()  # the state's version that the binding is good for
    LONG = auto()  # run without Python's lock, while the session is held
    READY = auto()  # the address of a word that tells whether the thread pool is ready, or null
    ENTRY = auto()
    TABLE = auto()
    CALLS = auto()  # the address of a word that counts
    FEEDS = auto()
    FEED_COUNT = auto()
    VARIABLES = auto()  # pairs: a slot of the table, the word that holds what goes there
    VARIABLE_COUNT = auto()
    FLIPS = auto()  # addresses of cells whose sides are exchanged after the run
    FLIP_COUNT = auto()
    COUNTERS = auto()  # pairs: the address of a number, what is added to it after the run
    COUNTER_COUNT = auto()
    RESULTS = auto()
    RESULT_COUNT = auto()
    OUTPUTS = auto()  # numbers of results, -1 for None
    OUTPUT_COUNT = auto()
    FORM = auto()
    ASSEMBLE = auto()  # the function of ResultForm.OTHER


class ResultForm(_Words):
    """Form of the returned value.

    It is one output, a list or a tuple of outputs, or the result of a function that gets a list.
    """

    SINGLE = auto()
    LIST = auto()
    TUPLE = auto()
    OTHER = auto()


class Feed(_Words):
    """An argument."""

    SLOT = auto()  # where in the table its address goes
    DESCR = auto()
    NDIM = auto()
    DIMS = auto()
    SCALAR = auto()  # for no axes: the NumPy type of single values, whose objects are read in place
    CONVERSION = auto()  # for no axes: which of Python's numbers are accepted
    VALUE = auto()  # for no axes: where a converted number goes
    EXPECTED = auto()  # the only value that the program is good for, or null where it is good for all
    EXPECTED_BYTES = auto()


class Conversion(_Words):
    """From a Python number to an element."""

    NONE = auto()
    FLOAT32 = auto()
    FLOAT64 = auto()
    INT32 = auto()
    INT64 = auto()
    BOOL = auto()


class Result(_Words):
    """A fetched tensor."""

    SLOT = auto()
    DESCR = auto()
    NDIM = auto()
    DIMS = auto()
    BYTES = auto()
    VALUE = auto()  # for no axes: where the program writes it
    BLOCKS = auto()  # for large ones: two blocks that are handed out in turn


class Block(_Words):
    """Memory that was handed out before. It may be again when nothing else refers to `OWNER`."""

    OWNER = auto()
    BYTES = auto()
    DATA = auto()


def word(name: str, base: str, index: int, kind: str = "ptr") -> str:
    """LLVM text: `%name` is the word at `index` of the record at `%base`."""
    return _loaded(name, f"getelementptr i64, ptr %{base}, i64 {index}", kind)


def field(name: str, base: str, offset: int, kind: str = "ptr") -> str:
    """LLVM text: `%name` is the part of the object at `%base` that begins after `offset` bytes."""
    return _loaded(name, f"getelementptr i8, ptr %{base}, i64 {offset}", kind)


def _loaded(name: str, place: str, kind: str) -> str:
    return f"%{name}.at = {place}\n  %{name} = load {kind}, ptr %{name}.at"
