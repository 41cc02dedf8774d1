"""Ops with loops of their own: their kernels, and whether a GPU does what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from staticgraph.compiler.codegen.cuda.function import KernelWork
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.opdef import OpDef
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.kernel.expr import Load
from staticgraph.compiler.kernel.stmt import Buffer, Kernel
from staticgraph.compiler.ops.kinds import Out, View, described, scratch_of
from staticgraph.runtime.gpu.simulator.build import Unit
from tests.gpu.loops import compare, from_memory, in_memory
from tests.gpu.printing import emit_kernel
from tests.gpu.running import compiled, run, unset
from tests.ops.harness import as_tuple


@dataclass(frozen=True)
class Case:
    """An op on arrays of these dtypes."""

    op: OpDef
    arrays: tuple[tuple[DType, np.ndarray], ...]
    attrs: dict[str, Any]

    @property
    def kernel(self) -> Kernel:
        """The kernel: its results are y0, y1, ... and what it reads x0, x1, ..."""
        types = [TensorType(dtype, array.shape) for dtype, array in self.arrays]
        results = as_tuple(self.op.type(*types, **self.attrs))
        outs = tuple(Out(f"y{n}", t.static_shape, t.dtype) for n, t in enumerate(results))
        views = [_view(f"x{n}", t) for n, t in enumerate(types)]
        assert self.op.statements is not None
        made = self.op.statements(outs, *views, **self.attrs)
        body, form = described(made)
        buffers = {out.buffer: Buffer(out.dtype, out.shape, written=True) for out in outs}
        buffers |= {f"x{n}": Buffer(t.dtype, t.static_shape) for n, t in enumerate(types)}
        return Kernel(self.op.name, {**buffers, **scratch_of(made)}, body, form)

    def expected(self) -> dict[str, np.ndarray]:
        """Return the results of NumPy."""
        with np.errstate(all="ignore"):
            found = as_tuple(self.op.meaning(*(a for _, a in self.arrays), **self.attrs))  # type: ignore[misc]
        return {f"y{n}": array for n, array in enumerate(found)}

    def __str__(self) -> str:
        inputs = ", ".join(f"{dtype.name}{list(array.shape)}" for dtype, array in self.arrays)
        return f"{self.op.name}({inputs}; {self.attrs})"


def _view(name: str, type: TensorType) -> View:
    return View(type.static_shape, type.dtype, lambda at: Load(name, at, type.dtype))


def check(cases: Sequence[Case], exact: bool = False) -> list[KernelWork]:
    """Compares what a GPU does with the meaning, in all schedules; up to rounding, unless it is `exact`."""
    works = [emit_kernel(case.kernel) for case in cases]
    unit = compiled(works)
    for case, work in zip(cases, works, strict=True):
        found = results(case, work, unit)
        for name, wanted in case.expected().items():
            buffer = case.kernel.buffers[name]
            if exact:
                np.testing.assert_array_equal(found[name], buffer.dtype.round(wanted), err_msg=str(case))
            else:
                compare(buffer, found[name], buffer.dtype.round(wanted), str(case))
    return works


def results(case: Case, work: KernelWork, unit: Unit | None = None) -> dict[str, np.ndarray]:
    """Return the results of the simulator for a case."""
    buffers = case.kernel.buffers
    given = {f"x{n}": in_memory(buffers[f"x{n}"], a) for n, (_, a) in enumerate(case.arrays)}
    given |= {n: unset(b.shape, _element(b)) for n, b in buffers.items() if n not in given}
    found = run(work, given, unit)
    return {n: from_memory(b, found[n]).reshape(b.shape) for n, b in buffers.items() if n.startswith("y")}


def _element(buffer: Buffer) -> np.dtype:
    return in_memory(buffer, np.zeros((), buffer.dtype.numpy)).dtype


def kinds(work: KernelWork) -> list[str]:
    """The templates of its functions, in order."""
    return [call.function.kind for call in work.calls]  # type: ignore[union-attr]
