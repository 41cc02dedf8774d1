"""The edges of a graph while a stream of a GPU captures it: what the next node is to wait for.

CuPy has no functions for that, and those of the system's driver are called. They came with CUDA 11.3. Headers
of newer versions give their names to functions with more arguments, but the library keeps what it once had.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from typing import Any

from staticgraph.compiler.graph.errors import OpError
from staticgraph.runtime.gpu.cuda.failure import failure
from staticgraph.runtime.gpu.libcuda import libcuda

REPLACE = 1  # of CUstreamUpdateCaptureDependencies_flags
ACTIVE = 1  # of CUstreamCaptureStatus
_INVALID = 901  # the status of a capture that something has ended


class Edges:
    """Dependencies of the next node that `stream` captures.

    A capture may end with nodes that nobody waits for. Only work of other streams has to be joined, and a
    node that `replace` takes out of the set counts as joined.
    """

    def __init__(self, library: Any, stream: int) -> None:
        self._library = library
        self._stream = ctypes.c_void_p(stream)
        # From CUDA 12.3 on edges have kinds, which only the newer function can tell of. They do not matter
        # here: to wait for a node means for all of it.
        self._kinds = hasattr(library, "cuStreamGetCaptureInfo_v3")

    def replace(self, nodes: Collection[int]) -> None:
        """Have the next node wait for these, each given once, and for nothing else."""
        given = (ctypes.c_void_p * len(nodes))(*nodes)
        count, flags = ctypes.c_size_t(len(nodes)), ctypes.c_uint(REPLACE)
        self._check(self._library.cuStreamUpdateCaptureDependencies(self._stream, given, count, flags))

    def nodes(self) -> tuple[int, ...]:
        """Return the nodes that the next node waits for."""
        state, capture, graph = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p()
        nodes, count = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_size_t()
        kinds = (ctypes.c_void_p(),) if self._kinds else ()
        out = (ctypes.byref(each) for each in (state, capture, graph, nodes, *kinds, count))
        ask = self._library.cuStreamGetCaptureInfo_v3 if kinds else self._library.cuStreamGetCaptureInfo_v2
        self._check(ask(self._stream, *out))
        if state.value != ACTIVE:
            self._check(_INVALID)
        # The array is the driver's own, and changes with the next call.
        return tuple(nodes[i] or 0 for i in range(count.value))

    def _check(self, status: int) -> None:
        if status:
            raise _failed(status)


def edges(stream: int) -> Edges | None:
    """Return the `Edges` of a stream; None if the system's driver is too old for them."""
    library = libcuda()
    names = "cuStreamUpdateCaptureDependencies", "cuStreamGetCaptureInfo_v2"
    return Edges(library, stream) if all(hasattr(library, name) for name in names) else None


def _failed(status: int) -> OpError:
    error = failure(status, f"status {status}", "to capture work side by side")
    error.hint = error.hint or "overlap=False, or SG_OVERLAP=0, has the work done one after the other"
    return error
