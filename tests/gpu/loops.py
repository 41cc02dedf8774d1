"""Kernels of users' graphs as the lowering gives them, and whether what is emitted for them is right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import FunctionCall, KernelWork
from staticgraph.compiler.compile import optimize
from staticgraph.compiler.graph.dtypes import DType, float32
from staticgraph.compiler.graph.graph import reset_default_graph
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.program import Launch, Loops
from tests.gpu.meaning import meaning
from tests.gpu.printing import emit
from tests.gpu.running import compiled, run
from tests.passes.steps import step_of

Build = Callable[..., Sequence[sg.Tensor]]
_ROUNDING = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-12}


def loops(build: Build, *inputs: tuple[DType, tuple[int, ...]]) -> list[Loops]:
    """The kernels of the tensors that `build` makes of inputs of these dtypes and shapes."""
    reset_default_graph()
    feeds = [sg.placeholder(dtype, shape) for dtype, shape in inputs]
    fetches = build(*feeds)
    zeros = {p: np.zeros(shape, dtype.numpy) for p, (dtype, shape) in zip(feeds, inputs, strict=True)}
    step = step_of(fetches, zeros)
    program = lower(optimize(step.function), step.fetches, step.updates)
    works = [i.work for i in program.instructions if isinstance(i, Launch)]
    return [work for work in works if isinstance(work, Loops)]


def floats(*shapes: tuple[int, ...]) -> list[tuple[DType, tuple[int, ...]]]:
    """Inputs of float32."""
    return [(float32, shape) for shape in shapes]


def emitted(work: Loops) -> KernelWork:
    """Return the work of a GPU for a kernel."""
    return emit(work.nests, dict(work.buffers), work.rows, work.sums)


def kinds(work: KernelWork) -> list[str]:
    """The templates of its functions, in order."""
    return [call.function.name.rsplit("_", 1)[0] for call in work.calls if isinstance(call, FunctionCall)]


def text(work: KernelWork) -> str:
    """All its functions."""
    return "\n".join(call.function.text for call in work.calls if isinstance(call, FunctionCall))


def check(many: Iterable[Loops]) -> None:
    """Compares what is emitted, in all schedules, with the meaning."""
    works = [(loops, emitted(loops)) for loops in many]
    unit = compiled([work for _, work in works])
    rng = np.random.default_rng(7)
    for loops, work in works:
        buffers = {name: b for name, b in loops.buffers if not b.local}
        arrays = {name: _random(b, rng) for name, b in buffers.items()}
        expected = meaning(loops.nests, dict(loops.buffers), loops.rows, loops.sums, arrays)
        found = run(work, {name: in_memory(buffers[name], a) for name, a in arrays.items()}, unit)
        for name, buffer in buffers.items():
            compare(buffer, from_memory(buffer, found[name]), expected[name], f"{name} of {text(work)}")


def compare(buffer: Buffer, found: np.ndarray, expected: np.ndarray, message: str) -> None:
    """Equal, up to the rounding of the dtype, also of what a sum is made of."""
    if not buffer.dtype.is_floating:
        np.testing.assert_array_equal(found, expected, err_msg=message)
        return
    unit = _ROUNDING[buffer.dtype.name]
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    wide = [array.astype(np.float64) for array in (found, expected)]
    np.testing.assert_allclose(*wide, rtol=unit, atol=unit * float(scale), err_msg=message)


def in_memory(buffer: Buffer, array: np.ndarray) -> np.ndarray:
    """The elements as functions find them."""
    if buffer.dtype.numpy.itemsize == buffer.dtype.size:
        return array
    return np.frombuffer(buffer.dtype.to_bytes(array), np.uint16).reshape(array.shape)


def from_memory(buffer: Buffer, array: np.ndarray) -> np.ndarray:
    """The numbers that are in memory."""
    return buffer.dtype.from_bytes(array.tobytes(), array.shape)


def _random(buffer: Buffer, rng: np.random.Generator) -> np.ndarray:
    if buffer.dtype.is_bool:
        return np.asarray(rng.random(buffer.shape) < 0.5)
    if buffer.dtype.is_integer:
        return np.asarray(rng.integers(0, 4, buffer.shape)).astype(buffer.dtype.numpy)
    return np.asarray(buffer.dtype.round(rng.standard_normal(buffer.shape)))
