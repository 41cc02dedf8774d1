"""Callables that run a step without Python in between: machine code that Python calls as a built-in function.

It reads Python's and NumPy's objects where CPython keeps them. Where that cannot be relied on (another
interpreter, a build without the global lock, another layout of objects) `native()` is None, and runs take the
way through `ctypes` instead, which gives the same results.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.codegen.native import dispatch_layout as at
from staticgraph.compiler.codegen.native.dispatch import dispatch
from staticgraph.compiler.codegen.native.dispatch_layout import Head, Host, Known
from staticgraph.compiler.codegen.native.find import find
from staticgraph.runtime.cpu.jit import Library, begin, begin_after, load

_NEW_FUNCTION = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)
_CAPSULE_POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_FASTCALL_WITH_KEYWORDS = 0x80 | 0x02
_NEW_ARRAY, _SET_BASE, _NEW_SCALAR, _ARRAY_TYPE = 94, 282, 60, 2  # positions in NumPy's table of functions
_FUNCTIONS = {
    Host.VECTORCALL: "PyObject_Vectorcall",
    Host.INCREF: "Py_IncRef",
    Host.DECREF: "Py_DecRef",
    Host.SAVE_THREAD: "PyEval_SaveThread",
    Host.RESTORE_THREAD: "PyEval_RestoreThread",
    Host.FETCH_ERROR: "PyErr_Fetch",
    Host.RESTORE_ERROR: "PyErr_Restore",
    Host.INTEGER_VALUE: "PyLong_AsLongLongAndOverflow",
    Host.NEW_LIST: "PyList_New",
    Host.SET_LIST: "PyList_SetItem",
    Host.NEW_TUPLE: "PyTuple_New",
    Host.SET_TUPLE: "PyTuple_SetItem",
    Host.NEXT_OF_DICT: "PyDict_Next",
}

Words = ctypes.Array  # of 64-bit integers


def words(*values: int) -> Words:
    """A block of 64-bit words; at least one, so that it has an address of its own."""
    return (ctypes.c_int64 * max(len(values), 1))(*values)


class _MethodDef(ctypes.Structure):
    """Python's description of a built-in function."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _Head(np.ndarray):
    """The words of a head, which machine code finds like the data of any array, and what they refer to."""

    keep: tuple[Any, ...]


class Native:
    """The functions in memory that Python calls, and the addresses that they need."""

    def __init__(self) -> None:
        self._library: Library = load([dispatch.code(), find.code()])
        self._host = _host()
        self._run = _MethodDef(
            b"run",
            self._library[dispatch.code().name],
            _FASTCALL_WITH_KEYWORDS,
            b"run($self, /, *values)\n--\n\nRun a step for these values of its feeds.",
        )
        self._find = _MethodDef(
            b"find",
            self._library[find.code().name],
            _FASTCALL_WITH_KEYWORDS,
            b"find($self, fetches, feeds, /)\n--\n\nRun a step if it is known, else NotImplemented.",
        )

    def function(self, chain: Words, fallback: Callable[..., Any] | None) -> Callable[..., Any]:
        """A callable that runs the first binding in `chain` that fits. Where none does, it calls `fallback`.

        Without a fallback it returns NotImplemented, and its caller must hold the session.
        """
        values = {
            Head.HOST: ctypes.addressof(self._host),
            Head.CHAIN: ctypes.addressof(chain),
            Head.FALLBACK: 0 if fallback is None else id(fallback),
            Head.LOCKED: int(fallback is None),
        }
        head = np.array([values[word] for word in Head], np.int64)
        return _function(self._run, head, (self, chain, fallback))

    def find(self, record: np.ndarray) -> Callable[[Any, Any], Any]:
        """A function that calls what `record` leads to for these fetches and feeds, or returns
        NotImplemented.
        """
        record[Known.HOST] = ctypes.addressof(self._host)
        return _function(self._find, record, (self,))


def _function(method: _MethodDef, head: np.ndarray, keep: tuple[Any, ...]) -> Callable[..., Any]:
    """A built-in function whose `self` is `head`."""
    owner = head.view(_Head)
    owner.keep = keep
    made: Callable[..., Any] = _NEW_FUNCTION(ctypes.addressof(method), owner, None)
    return made


@functools.cache
def native() -> Native | None:
    """The dispatching function, loaded at the first call; None if objects are not as it expects them."""
    return Native() if unsupported() is None else None


def expect(at_once: bool) -> None:
    """Have the dispatching functions compiled, which a second run loads.

    Args:
        at_once: Begin now; otherwise when all is compiled that the first run needs.
    """
    if not native.cache_info().currsize and unsupported() is None:
        for code in (dispatch.code(), find.code()):
            (begin if at_once else begin_after)(code)


def _host() -> Words:
    table = _array_functions()
    one: dict[int, int] = {
        Host.NDARRAY: id(np.ndarray),
        Host.FLOAT: id(float),
        Host.FLOAT64: id(np.float64),
        Host.INT: id(int),
        Host.LIST: id(list),
        Host.DICT: id(dict),
        Host.TRUE: id(True),
        Host.FALSE: id(False),
        Host.NONE: id(None),
        Host.NOT_IMPLEMENTED: id(NotImplemented),
        Host.NEW_ARRAY: table[_NEW_ARRAY],
        Host.SET_BASE: table[_SET_BASE],
        Host.NEW_SCALAR: table[_NEW_SCALAR],
    }
    for word, name in _FUNCTIONS.items():
        one[word] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    return words(*(one[word] for word in Host))


def _array_functions() -> Words:
    """The addresses in NumPy's table of functions for extension modules. Their positions never change."""
    core = np._core if hasattr(np, "_core") else np.core  # the latter before NumPy 2
    address = _CAPSULE_POINTER(core._multiarray_umath._ARRAY_API, None)
    return (ctypes.c_int64 * (_SET_BASE + 1)).from_address(address)


def unsupported() -> str | None:
    """Return a reason that the dispatching function does not find the parts of objects; None if it does."""
    known = {
        f"this is {sys.implementation.name}, not CPython": sys.implementation.name == "cpython",
        "Python runs without its global lock": getattr(sys, "_is_gil_enabled", lambda: True)(),
        "this is a debug build of Python": not hasattr(sys, "gettotalrefcount"),
        "numbers begin with their highest byte": sys.byteorder == "little",
        "addresses do not have 64 bits": ctypes.sizeof(ctypes.c_void_p) == 8,
        "objects of Python begin in an unknown way": object.__basicsize__ == at.Float.VALUE,
    }
    wrong = next((what for what, fine in known.items() if not fine), None)
    if wrong is not None:
        return wrong
    if _array_functions()[_ARRAY_TYPE] != id(np.ndarray):
        return "NumPy's table of functions is not known"
    known_layout = _layout_is_known(np.arange(6, dtype=np.float32).reshape(2, 3))
    return None if known_layout else "arrays of NumPy's are laid out in an unknown way"


def _layout_is_known(array: np.ndarray) -> bool:
    def word(owner: Any, offset: int, kind: Any = ctypes.c_int64) -> Any:
        return kind.from_address(id(owner) + offset).value

    flags = at.CONTIGUOUS | at.ALIGNED | at.WRITEABLE
    real, single, whole = 1.5, np.float32(1.5), np.int64(7)
    owner, held, items = object(), [], [real, whole]
    before = word(owner, at.Object.REFERENCES, ctypes.c_int32)
    held.append(owner)
    return (
        word(owner, at.Object.REFERENCES, ctypes.c_int32) == before + 1
        and word(array, at.Object.TYPE) == id(np.ndarray)
        and word(array, at.ArrayObject.DATA) == array.ctypes.data
        and word(array, at.ArrayObject.NDIM, ctypes.c_int32) == 2
        and tuple((ctypes.c_int64 * 2).from_address(word(array, at.ArrayObject.DIMS))) == array.shape
        and word(array, at.ArrayObject.DESCR) == id(array.dtype)
        and word(array, at.ArrayObject.FLAGS, ctypes.c_int32) & flags == flags
        and not word(array.T, at.ArrayObject.FLAGS, ctypes.c_int32) & at.CONTIGUOUS
        and word(real, at.Float.VALUE, ctypes.c_double) == real
        and word(single, at.ScalarObject.VALUE, ctypes.c_float) == single
        and word(whole, at.ScalarObject.VALUE) == whole
        and word(items, at.List.SIZE) == word(tuple(items), at.Tuple.SIZE) == 2
        and ctypes.c_int64.from_address(word(items, at.List.ITEMS)).value == id(real)
        and word(tuple(items), at.Tuple.ITEMS) == id(real)
    )
