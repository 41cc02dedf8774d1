"""Convolutions by cuDNN, through NVIDIA's frontend to it, which is a package of its own.

A convolution is a graph of one operation. The library names the algorithms it would take, the most promising
first, and those are left out that do not keep what a session promises: the same bits in every run, all bits
of float32 operands, memory within bounds. The first of the others is kept. Its addresses are plain numbers.
"""

from __future__ import annotations

import ctypes
import itertools
import re
from collections.abc import Callable
from typing import Any

from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.errors import OpError, UnimplementedError
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution, Ints, Made
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.runtime.gpu.cuda.installed import version

FRONTEND, LEAST = "nvidia-cudnn-frontend", (1, 24)
LIBRARIES = ("nvidia-cudnn-cu13", "nvidia-cudnn-cu12")
_SYSTEMS_OWN = "libcudnn.so.9"
# What it asks the system for when it plans. It looks where the wheels for CUDA 12 are, not where those for
# CUDA 13 are, and ends the process where it finds nothing; what is loaded before is found.
_NEEDS = ("cublasLt", "nvrtc")
_TYPES = {"float32": "FLOAT", "float16": "HALF", "bfloat16": "BFLOAT16"}  # of cudnn.data_type
# What algorithms do that are left out: members of cudnn.numerical_note. Winograd's small tiles lose about as
# much as another order of the sums does, larger ones more.
_NOT: tuple[str, ...] = ("NONDETERMINISTIC", "DOWN_CONVERT_INPUTS", "REDUCED_PRECISION_REDUCTION")
_NOT += ("FFT", "WINOGRAD_TILE_6x6", "WINOGRAD_TILE_13x13")
_ROUNDS = "TENSOR_CORE"  # where the operands are float32
_IMAGE, _FILTER, _RESULT = range(1, 4)  # the numbers of the tensors of a graph

Convolve = Callable[[int, int, int, int], None]  # the addresses of image, filter, result and workspace


def packages() -> dict[str, str]:
    """The packages of cuDNN that are installed, with their versions."""
    return {name: found for name in (FRONTEND, *LIBRARIES) if (found := version(name))}


def lacking() -> str | None:
    """Say what is missing for convolutions by cuDNN; None if nothing is, as far as known without it."""
    installed = packages()
    if FRONTEND not in installed:
        return f"{FRONTEND} is not installed"
    found = tuple(map(int, re.findall(r"\d+", installed[FRONTEND])[:2]))
    if found < LEAST:
        least = ".".join(map(str, LEAST))
        return f"{FRONTEND} {installed[FRONTEND]} is too old: {least} or later is needed"
    if len(installed) == 1 and not _is_there(_SYSTEMS_OWN):
        return f"{FRONTEND} is installed, and cuDNN itself is not: {' or '.join(LIBRARIES)}"
    return None


def _is_there(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def frontend(library: Callable[[str], Any]) -> Any:
    """The module; `library` loads libraries of CUDA's by name. UnimplementedError if it does not work."""
    try:
        for name in _NEEDS:
            library(name)
        import cudnn

        cudnn.backend_version()
    except Exception as error:  # it is the library's, which may be one for another CUDA
        raise UnimplementedError(f"cuDNN does not start: {_first_line(error)}") from None
    return cudnn


def described(module: Any, convolution: Convolution, handle: Any = None) -> tuple[Any, Any]:
    """The graph that the frontend makes of a convolution, and what it makes. Without a handle of a GPU it
    can only be validated.
    """
    c = convolution
    kind, floats = getattr(module.data_type, _TYPES[c.dtype.name]), module.data_type.FLOAT
    graph = module.pygraph(
        io_data_type=kind, intermediate_data_type=floats, compute_data_type=floats, handle=handle
    )

    def tensor(name: str, uid: int, shape: Ints) -> Any:
        dims, strides = layout(shape)
        return graph.tensor(name=name, dim=dims, stride=strides, data_type=kind, uid=uid)

    image = tensor("image", _IMAGE, c.image_shape)
    how = {
        "pre_padding": [*c.before],
        "post_padding": [*c.after],
        "stride": [*c.strides],
        "dilation": [*c.dilations],
        "compute_data_type": floats,
        "name": "convolution",
    }
    if c.made is Made.RESULT:
        made = graph.conv_fprop(image=image, weight=tensor("filter", _FILTER, c.filter_shape), **how)
        uid, shape = _RESULT, c.result_shape
    else:
        made = graph.conv_wgrad(image=image, loss=tensor("result", _RESULT, c.result_shape), **how)
        uid, shape = _FILTER, c.filter_shape
        made.set_dim(layout(shape)[0])  # it does not follow from the others
    made.set_output(True).set_data_type(kind).set_stride(layout(shape)[1]).set_uid(uid)
    return graph, made


def layout(shape: Ints) -> tuple[list[int], list[int]]:
    """Extents and strides of an array, the last axis of which comes second in cuDNN's order of axes.

    >>> layout((8, 5, 6, 16))
    ([8, 16, 5, 6], [480, 1, 96, 16])
    """
    steps = [*itertools.accumulate(reversed(shape[1:]), initial=1, func=int.__mul__)][::-1]
    return [shape[0], shape[-1], *shape[1:-1]], [steps[0], steps[-1], *steps[1:-1]]


def left_out(module: Any, convolution: Convolution) -> list[Any]:
    """Return the numerical notes of algorithms that a convolution must not use."""
    exact = convolution.dtype is float32 and convolution.precision is Precision.FLOAT32
    return [getattr(module.numerical_note, name) for name in (*_NOT, *((_ROUNDS,) if exact else ()))]


class Cudnn:
    """cuDNN on a stream of the current GPU."""

    def __init__(self, module: Any, stream: int) -> None:
        self._module = module
        try:
            self._handle = module.create_handle()
            module.set_stream(handle=self._handle, stream=stream)
        except Exception as error:
            raise UnimplementedError(f"cuDNN does not start: {_first_line(error)}") from None

    def convolution(self, convolution: Convolution) -> Convolve:
        """Prepare the call of a convolution. Raises UnimplementedError if no algorithm is suitable."""
        module, handle = self._module, self._handle
        try:
            graph, _ = described(module, convolution, handle)
            graph.validate()
            graph.build_operation_graph()
            graph.create_execution_plans([module.heur_mode.A, module.heur_mode.FALLBACK])
            graph.deselect_numeric_notes(left_out(module, convolution))
            graph.deselect_workspace_greater_than(convolution.room)
            graph.check_support()
            graph.build_plans(module.build_plan_policy.HEURISTICS_CHOICE)
            needed = graph.get_workspace_size()
        except Exception as error:  # of several classes, which say that it cannot be done
            raise UnimplementedError(f"cuDNN does not do {convolution}: {_first_line(error)}") from None
        if needed > convolution.room:
            raise UnimplementedError(f"cuDNN needs {needed} bytes of memory for {convolution}")

        def convolve(image: int, filter: int, result: int, workspace: int) -> None:
            try:
                graph.execute({_IMAGE: image, _FILTER: filter, _RESULT: result}, workspace, handle)
            except Exception as error:
                raise OpError(f"cuDNN, asked for {convolution}: {_first_line(error)}") from None

        return convolve

    def close(self) -> None:
        """Give the library's memory back."""
        self._module.destroy_handle(self._handle)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
