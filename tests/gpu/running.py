"""Runs what a kernel is on a GPU without one: each function by the stand-in, in several schedules.

unit = compiled([work, other])            # all functions in one go: a compiler takes its time to start
after = run(work, {"x": x, "y": unset(x.shape, x.dtype)}, unit)
"""

from collections.abc import Iterable, Mapping

import numpy as np

from staticgraph.compiler.codegen.cuda.function import CudaFunction, FunctionCall, KernelWork
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.runtime.gpu.simulator import product as products
from staticgraph.runtime.gpu.simulator.build import Unit
from staticgraph.runtime.gpu.simulator.memory import UNSET, Memory

SCHEDULES = (0, 3, 6)  # warps in lockstep; greedy, from the last to the first; by the dice


def functions(works: Iterable[KernelWork | FunctionCall]) -> list[CudaFunction]:
    """Return the functions that these need compiled, each once."""
    calls = [call for work in works for call in (work.calls if isinstance(work, KernelWork) else (work,))]
    return list(dict.fromkeys(call.function for call in calls if isinstance(call, FunctionCall)))


def compiled(works: Iterable[KernelWork | FunctionCall]) -> Unit:
    """One unit of all their functions."""
    return Unit(functions(works))


def unset(shape: tuple[int, ...], dtype: np.dtype | type) -> np.ndarray:
    """An array that nobody has written yet: NaN where there is such a number."""
    return np.full(int(np.prod(shape)) * np.dtype(dtype).itemsize, UNSET, np.uint8).view(dtype).reshape(shape)


def run(
    work: KernelWork | FunctionCall,
    arrays: Mapping[str, np.ndarray],
    unit: Unit | None = None,
    schedules: Iterable[int] = SCHEDULES,
) -> dict[str, np.ndarray]:
    """Run a program and return its arrays, which must be the same, bit by bit, in every schedule.

    The arrays of the caller stay as they are. A store outside of them is an error.
    """
    unit = unit or compiled([work])
    results = [_run_once(work, arrays, unit, schedule) for schedule in schedules]
    for schedule, result in zip(schedules, results, strict=True):
        for name, array in result.items():
            same = array.tobytes() == results[0][name].tobytes()
            assert same, f"`{name}` depends on the order of threads: schedule {schedule} gives another result"
    return results[0]


def _run_once(
    work: KernelWork | FunctionCall, arrays: Mapping[str, np.ndarray], unit: Unit, schedule: int
) -> dict[str, np.ndarray]:
    calls, scratch = (work.calls, work.scratch) if isinstance(work, KernelWork) else ((work,), ())
    memory = Memory(limit=1 << 40)
    sizes = {name: array.nbytes for name, array in arrays.items()} | dict(scratch)
    places = {name: memory.allocate(max(size, 1)) for name, size in sizes.items()}
    views = {name: memory.view(places[name], size) for name, size in sizes.items()}
    for name, array in arrays.items():
        views[name][:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    for call in calls:
        if isinstance(call, Product):
            products.multiply(call, *(views[name] for name in call.arguments))
            continue
        addresses = [places[name] for name in call.arguments]
        unit.run(call.function.name, addresses, schedule, call.blocks, sizes=call.sizes)
        for name, place in places.items():
            damage = memory.find(place, 1).damage()
            assert damage is None, f"{call.function.name} stores outside of `{name}`: {damage}"
    return {name: views[name].view(array.dtype).reshape(array.shape) for name, array in arrays.items()}
