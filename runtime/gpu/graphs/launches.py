"""Work that one call enqueues on a GPU: a loaded function or a captured graph."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial
from typing import Any

from staticgraph.compiler.codegen.cuda.function import CudaFunction
from staticgraph.compiler.kernel.schedule_gpu.function import Extents
from staticgraph.runtime.gpu.cuda.connection import Connection
from staticgraph.runtime.gpu.cuda.failure import explained
from staticgraph.runtime.gpu.libcuda import libcuda

_REGISTERS = 4  # of CUfunction_attribute
_GIVEN = 8  # of CUfunction_attribute: MAX_DYNAMIC_SHARED_SIZE_BYTES
_VERBOSE = 1  # of cudaGraphDebugDotFlags


class LoadedKernel:
    """A function that is loaded, with room for its arguments: a launch reads them before it returns."""

    __slots__ = (
        "_connection",
        "_name",
        "_module",
        "_address",
        "_launch",
        "_grid",
        "_rest",
        "_values",
        "_table",
    )

    def __init__(self, connection: Connection, module: Any, function: CudaFunction) -> None:
        self._connection, self._name = connection, function.name
        self._module = module  # unloaded with the last kernel of it
        self._address = address = module.get_function(function.name).ptr
        # A GPU may load a function when it is first asked about; in a capture, that would be too late.
        connection.cuda.funcGetAttribute(_REGISTERS, address)
        if function.shared:
            connection.cuda.funcSetAttribute(address, _GIVEN, function.shared)
        self._launch = partial(connection.cuda.launchKernel, address)
        self._grid, self._rest = function.grid, (*function.block, function.shared, connection.stream.ptr)
        self._values: Any = ()
        self._table: Any = ()

    def __call__(
        self, addresses: Sequence[int], sizes: Sequence[int] = (), grid: Extents | None = None
    ) -> None:
        arguments = [*addresses, *sizes]  # a number is little-endian, so it may be as long as an address
        if len(arguments) != len(self._values):
            self._values = (ctypes.c_uint64 * len(arguments))()
            start, size = ctypes.addressof(self._values), ctypes.sizeof(self._values)
            self._table = (ctypes.c_void_p * len(arguments))(*range(start, start + size, 8))
        self._values[:] = arguments
        try:
            self._connection.enter()
            self._launch(*(grid or self._grid or ()), *self._rest, ctypes.addressof(self._table), 0)
        except self._connection.errors as error:
            raise explained(error, f"to run {self._name}") from None

    def ready(self) -> None:
        """As in the protocol. Before CUDA 12.4, to be asked about has a function loaded, too."""
        load = getattr(libcuda(), "cuFuncLoad", None)
        if load is not None:
            load(ctypes.c_void_p(self._address))


class InstantiatedGraph:
    """A captured graph, ready to be launched."""

    __slots__ = ("_connection", "_graph", "_launch")

    def __init__(self, connection: Connection, graph: Any) -> None:
        self._connection = connection
        self._graph = graph  # destroyed with it
        self._launch = partial(connection.runtime.graphLaunch, graph.graphExec, connection.stream.ptr)

    def replay(self) -> None:
        try:
            self._connection.enter()
            self._launch()
        except self._connection.errors as error:
            raise explained(error, "to run a step") from None

    def text(self) -> str:
        """Return CUDA's description of the graph, for Graphviz."""
        return self._graph.debug_dot_str(_VERBOSE)
