"""Search for the stage at fault in the making of one kernel: each form of it is interpreted.

`build_kernel`, the schedule and `parallelize` make loops of a group. NumPy runs the loops that each of them
made, one scalar at a time, on the inputs for which the kernel is wrong. The first form that is wrong, too,
was made by the stage at fault. If none is, the printer of its text is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.fusion.group import Group
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.stmt import If, Kernel, Loop, Share, Stmt, While
from staticgraph.compiler.lower.kernels import build_kernel
from staticgraph.compiler.lower.program import Loops
from staticgraph.compiler.stages import NAMES, observing
from staticgraph.runtime.reports.dump import as_kernel

MOST = 200_000  # statements that are interpreted per form: some seconds
_ROUNDS = 64  # that a loop without a known end is taken to have

Arrays = Sequence[np.ndarray]


def wrong_stage(
    group: Group,
    compile: Callable[[], object],
    known: Mapping[Value, np.ndarray],
    is_wrong: Callable[[Arrays], bool],
) -> str | None:
    """Return the name of the stage at fault, None if the kernel is too large to interpret.

    Args:
        group: The group that the kernel computes.
        compile: Compiles the group alone.
        known: The values that it takes.
        is_wrong: Tells if outputs of the group are wrong.
    """
    printer: str | None = None
    for stage, form in _forms(compile):
        kernels = _kernels(form)
        if kernels is None:
            printer = stage if NAMES[stage].makes == "text" else printer
            continue
        if sum(map(_statements_of, kernels)) > MOST:
            return None
        if is_wrong(_interpreted(kernels, group, known)):
            return stage
    return printer


def _forms(compile: Callable[[], object]) -> list[tuple[str, Any]]:
    """Compile, and return what each stage of the kernel made."""
    seen: list[tuple[str, Any]] = []

    def observe(stage: str, before: Any, after: Any) -> None:
        if NAMES[stage].part == "kernel":
            seen.append((stage, after))

    with observing(observe):
        compile()
    return seen


def _kernels(form: Any) -> tuple[Kernel, ...] | None:
    """Return a form as kernels that run one after the other, None if it has no loops."""
    if isinstance(form, Loops | Kernel):
        return (as_kernel(form),)
    return form if isinstance(form, tuple) and all(isinstance(each, Kernel) for each in form) else None


def _interpreted(
    kernels: Sequence[Kernel], group: Group, known: Mapping[Value, np.ndarray]
) -> list[np.ndarray]:
    """Return the outputs of a group as these kernels compute them."""
    arrays: dict[str, np.ndarray] = {}
    of_value: dict[Value, np.ndarray] = {}
    # A group that is compiled alone takes whole values: windows are for many that are alike.
    values = [v for v in build_kernel(group).values if isinstance(v, Value)]
    for (name, buffer), value in zip(kernels[0].arguments.items(), values, strict=True):
        given = value.constant if value.constant is not None else known.get(value)
        made = np.zeros(buffer.shape, buffer.dtype.numpy)
        arrays[name] = made if given is None else np.array(given).reshape(buffer.shape)
        of_value[value] = arrays[name]
    arrays |= {n: np.zeros(b.shape, b.dtype.numpy) for n, b in kernels[0].shared.items()}
    for kernel in kernels:
        interpret(kernel, arrays)
    return [of_value[value].reshape(value.shape) for value in group.outputs]


def _statements_of(kernel: Kernel) -> float:
    """Return about how many statements a kernel performs."""
    return sum(_counted(kernel.body))


def _counted(body: Sequence[Stmt]) -> Iterator[float]:
    for stmt in body:
        match stmt:
            case Loop(index, inside, _, share):
                rounds = math.ceil(index.extent / share.count) if isinstance(share, Share) else index.extent
                yield rounds * sum(_counted(inside))
            case While(_, inside):
                yield _ROUNDS * sum(_counted(inside))
            case If(_, inside):
                yield sum(_counted(inside))
            case _:
                yield 1.0
