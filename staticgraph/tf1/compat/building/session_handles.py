"""Session handles: values of a run that the session keeps, for later runs to read by a handle."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.dtypes import DType, as_dtype, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.kinds import host
from staticgraph.runtime.state.resources import resources

__all__ = ["delete_session_tensor", "get_session_handle", "get_session_tensor"]

_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
_numbers = itertools.count()


class _Kept:
    """The values that one session keeps for one graph, by handle."""

    def __init__(self) -> None:
        self.values: dict[str, np.ndarray] = {}

    def shut(self) -> None:
        self.values.clear()

    def get(self, handle: str) -> np.ndarray:
        if handle not in self.values:
            raise InvalidArgumentError(f"The tensor with handle '{handle}' is not in the session store.")
        return self.values[handle]


class _Owner:
    """Object of a graph to which the values of each of its sessions belong."""

    @classmethod
    def of_default_graph(cls) -> _Owner:
        """Return that of the default graph."""
        found: _Owner = sg.get_default_graph().attached.setdefault(cls, cls())
        return found

    def kept(self) -> _Kept:
        """Return the values of the session that calls the present host op."""
        return resources().of(self, _Kept)


_STORES: WeakValueDictionary[str, _Kept] = WeakValueDictionary()  # by handle


class TensorHandle:
    """A value that a session keeps, as a run returns it for a `SessionHandle`.

    The session forgets the value with the last reference to this object, unless `get_raw_handle` was called.

    Args:
        handle: The text of the handle.
    """

    def __init__(self, handle: str) -> None:
        self._handle, self._store, self._owned = handle, _STORES[handle], True

    @property
    def handle(self) -> str:
        """The text that is fed where `get_session_tensor` reads the value."""
        return self._handle

    def eval(self) -> Any:
        """Return the value.

        Raises:
            TypeError: If the value was deleted, or is no longer this object's.
        """
        self._require_owned()
        return self._store.get(self._handle)[()]

    def delete(self) -> None:
        """Delete the value. TypeError if it was deleted, or is no longer this object's."""
        self._require_owned()
        self._forget()

    def get_raw_handle(self) -> str:
        """Return the text of the handle, and leave it to the caller to delete the value."""
        self._owned = False
        return self._handle

    def _require_owned(self) -> None:
        if not self._owned:
            text = f"Persistent tensor {self._handle} may have already been deleted."
            raise misuse(TypeError, text)

    def _forget(self) -> None:
        self._owned = False
        self._store.values.pop(self._handle, None)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.eval(), dtype)

    def __del__(self) -> None:
        if getattr(self, "_owned", False):
            self._forget()

    def __str__(self) -> str:
        return self._handle


class SessionHandle:
    """Handle of a value, before a run: fetched, it is a `TensorHandle`.

    Attributes:
        op: The operation that keeps the value.
        dtype: `string`, the type of handles.
    """

    def __init__(self, made: Tensor) -> None:
        self._tensor, self.op, self.dtype = made, made.op, string

    @property
    def name(self) -> str:
        """The name of the tensor."""
        return self._tensor.name

    @property
    def graph(self) -> Any:
        """The graph that the operation is in."""
        return self._tensor.graph

    def eval(self, feed_dict: Any = None, session: Any = None) -> TensorHandle:
        """Return the handle, by a run of `session`, or of the default session."""
        return _handle([self._tensor.eval(feed_dict, session)])

    def fetch_parts(self) -> tuple[list[Tensor], Callable[[list[Any]], TensorHandle]]:
        """The tensor to fetch, and what makes a handle of its value."""
        return [self._tensor], _handle

    def __repr__(self) -> str:
        return f"<SessionHandle '{self.name}'>"


def _handle(values: list[Any]) -> TensorHandle:
    return TensorHandle(values[0].decode())


def get_session_handle(data: Tensor, name: str | None = None) -> SessionHandle:
    """Keep the value of a tensor in the session, and return the handle by which later runs read it.

    Args:
        data: A tensor.
        name: The name of the operation.

    Returns:
        A `SessionHandle`. A run gives a `TensorHandle` for it, whose `handle` is a string.

    Raises:
        TypeError: If `data` is not a tensor.

    >>> import staticgraph.compat.tf1 as tf
    >>> with tf.Session() as sess:
    ...     h = sess.run(tf.get_session_handle(tf.constant([1.0, 2.0])))
    ...     holder, x = tf.get_session_tensor(h.handle, tf.float32)
    ...     sess.run(x * 10, {holder: h.handle}).tolist()
    [10.0, 20.0]
    """
    if not isinstance(data, Tensor):
        raise misuse(TypeError, f"get_session_handle: `data` must be of type Tensor, and is {data!r}")
    owner = _Owner.of_default_graph()
    return SessionHandle(keep_session_tensor(data, owner=owner, name=name))


def get_session_tensor(handle: str, dtype: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return a placeholder for a handle, and the tensor whose value is the one that the session keeps for it.

    Args:
        handle: The text of some handle; which value is read is decided by the one that is fed.
        dtype: The type of the value.
        name: The name of the operation.

    Returns:
        The placeholder, a scalar string, and a tensor of unknown shape. A run raises InvalidArgumentError if
        the session keeps no value for the handle, or one of another type.
    """
    holder = _holder(handle)
    owner = _Owner.of_default_graph()
    made = read_session_tensor(holder, owner=owner, dtype=as_dtype(dtype), name=name)
    return holder, made


def delete_session_tensor(handle: str, name: str | None = None) -> tuple[Tensor, Operation]:
    """Return a placeholder for a handle, and the operation that makes the session forget its value.

    Args:
        handle: The text of some handle; the one that is fed decides.
        name: The name of the operation.

    Returns:
        The placeholder, a scalar string, and the operation.

    >>> import staticgraph.compat.tf1 as tf
    >>> with tf.Session() as sess:
    ...     raw = sess.run(tf.get_session_handle(tf.constant(1.0))).get_raw_handle()
    ...     holder, delete = tf.delete_session_tensor(raw)
    ...     sess.run(delete, {holder: raw})
    """
    holder = _holder(handle)
    made = forget_session_tensor(holder, owner=_Owner.of_default_graph(), name=name)
    return holder, made


def _holder(handle: Any) -> Tensor:
    if not isinstance(handle, str | bytes):
        text = f"the handle must be a string, and is {handle!r}"
        raise misuse(TypeError, text, "a TensorHandle has it as its attribute `handle`")
    return sg.placeholder(string, [])


@host(tf="GetSessionHandle", type=lambda value, owner: TensorType(string, ()), stateful=True)
def keep_session_tensor(value: Any, *, owner: _Owner) -> Any:
    """The handle of a value, which the session keeps with those of `owner`."""
    handle = f"GetSessionHandle;{next(_numbers)};{_DEVICE}"
    store = owner.kept()
    store.values[handle] = np.array(value)
    _STORES[handle] = store
    return handle


@host(
    tf="GetSessionTensor",
    type=lambda handle, owner, dtype: TensorType(dtype, None),
    stateful=True,
    dtypes=frozenset({string}),
)
def read_session_tensor(handle: Any, *, owner: _Owner, dtype: DType) -> Any:
    """The value that a handle stands for, among those of `owner`."""
    value = owner.kept().get(handle[()].decode())
    if value.dtype != dtype.numpy:
        raise InvalidArgumentError(f"the handle stands for {value.dtype.name}, not for {dtype.name}")
    return value


@host(tf="DeleteSessionTensor", type=lambda handle, owner: (), stateful=True, dtypes=frozenset({string}))
def forget_session_tensor(handle: Any, *, owner: _Owner) -> Any:
    """Nothing: the session forgets the value of `owner` that a handle stands for."""
    owner.kept().values.pop(handle[()].decode(), None)
    return ()
