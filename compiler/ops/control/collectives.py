"""Collectives: ops whose result depends on what all processes of a run give.

Each process calls the same collectives in the same order. `workers`, the number of processes, is part of the
op, since it decides about shapes; among one process, each op gives back what it takes. None of them may be
merged with another or computed in advance: the others wait for each one. How a step calls MPI for them, see
`compiler/codegen/native/collective.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, INTEGER, float32, float64, int32
from staticgraph.compiler.graph.errors import RuleError, require
from staticgraph.compiler.graph.opdef import Effect, ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.world import MEMBERSHIP
from staticgraph.compiler.ops.kinds import structural
from staticgraph.compiler.ops.samples import Sample, real

COMBINED = INTEGER | {float32, float64}  # what MPI adds on every machine; others are cast
COMBINERS = ("sum", "prod", "min", "max")
_MOST = (1 << 31) - 1  # elements that a function of MPI takes


def _exchanged(kind: str, value: np.ndarray, workers: int, combine: str = "sum", root: int = 0) -> np.ndarray:
    world = MEMBERSHIP.world
    if world.size != workers:
        raise RuleError(
            f"it was made for {workers} processes, and runs in {world.size}",
            "build the graph after staticgraph.distribute.init(), in every process",
        )
    return world.exchange(kind, value, combine, root)


def _checked(x: TensorType, workers: int) -> None:
    known = isinstance(workers, int) and not isinstance(workers, bool)
    require(known and workers >= 1, f"workers must be a number of processes, not {workers!r}")
    if x.is_static and isinstance(x.size, int):
        require(x.size * workers <= _MOST, f"{x.size} elements are too many for a call of MPI", "split them")


def _all_reduce_type(x: TensorType, workers: int, combine: str) -> TensorType:
    _checked(x, workers)
    require(combine in COMBINERS, f"combine must be one of {', '.join(COMBINERS)}, not {combine!r}")
    return x


def _rows(x: TensorType, workers: int, what: str) -> TensorType:
    _checked(x, workers)
    if x.shape is None:
        return x
    require(len(x.shape) >= 1, f"{what} needs at least one axis, and a number has none")
    return x


def _all_gather_type(x: TensorType, workers: int) -> TensorType:
    _rows(x, workers, "all_gather")
    if x.shape is None:
        return x
    first, *rest = x.shape
    return TensorType(x.dtype, (None if first is None else first * workers, *rest))


def _divided(x: TensorType, workers: int, what: str) -> int | None:
    """Return the rows of each process where `x` is cut into as many parts of equal size."""
    _rows(x, workers, what)
    if x.shape is None or x.shape[0] is None:
        return None
    rows = x.shape[0]
    require(rows % workers == 0, f"{rows} rows cannot be divided among {workers} processes", "pad them")
    return rows // workers


def _reduce_scatter_type(x: TensorType, workers: int, combine: str) -> TensorType:
    rows = _divided(x, workers, "reduce_scatter")
    _all_reduce_type(x, workers, combine)
    return x if x.shape is None else TensorType(x.dtype, (rows, *x.shape[1:]))


def _all_to_all_type(x: TensorType, workers: int) -> TensorType:
    _divided(x, workers, "all_to_all")
    return x


def _broadcast_type(x: TensorType, workers: int, root: int) -> TensorType:
    _checked(x, workers)
    require(0 <= root < workers, f"root is process {root}, and there are {workers}: 0 to {workers - 1}")
    return x


def _of_sums(count: int, workers: int, combine: str) -> tuple[int, ...]:
    """Inputs with a derivative: that of a sum. Minima and maxima have none here."""
    return (0,) if combine == "sum" else ()


_SAMPLES = [Sample(real(2, 3), workers=1), Sample(real(4), workers=1), Sample(real(0, 2), workers=1)]


@structural(
    type=_all_reduce_type, numpy=lambda x, workers, combine: _exchanged("all_reduce", x, workers, combine),
    grad=lambda g, y, x, workers, combine: (ops.all_reduce(g, workers=workers, combine=combine),),
    grad_takes=(), differentiable=_of_sums, dtypes=COMBINED, effect=Effect.EXCHANGE,
    samples=[*_SAMPLES, Sample(real(), workers=1, combine="sum")],
)
def all_reduce(x: Any, *, workers: int, combine: str = "sum") -> Any:
    """`x` of all processes, combined element by element: the same result in each.

    `workers` is the number of processes; `combine` is "sum", "prod", "min" or "max".
    """


@structural(
    type=_all_gather_type, numpy=lambda x, workers: _exchanged("all_gather", x, workers),
    grad=lambda g, y, x, workers: (ops.reduce_scatter(g, workers=workers, combine="sum"),), grad_takes=(),
    dtypes=ANY, effect=Effect.EXCHANGE, samples=_SAMPLES,
)
def all_gather(x: Any, *, workers: int) -> Any:
    """The rows of all processes, in the order of their ranks: the same result in each.

    `workers` is the number of processes.
    """


@structural(
    type=_reduce_scatter_type,
    numpy=lambda x, workers, combine: _exchanged("reduce_scatter", x, workers, combine),
    grad=lambda g, y, x, workers, combine: (ops.all_gather(g, workers=workers),), grad_takes=(),
    differentiable=_of_sums, dtypes=COMBINED, effect=Effect.EXCHANGE, samples=_SAMPLES,
)
def reduce_scatter(x: Any, *, workers: int, combine: str = "sum") -> Any:
    """The part of this process of `x` of all processes, combined element by element.

    `x` is cut along its first axis into as many parts as there are processes, `workers`; `combine` is "sum",
    "prod", "min" or "max".
    """


def _broadcast_grad(g: Any, y: Any, x: Any, workers: int, root: int) -> tuple[Any]:
    total = ops.all_reduce(g, workers=workers, combine="sum")
    if workers == 1:
        return (total,)
    here = ops.cast(ops.equal(ops.worker_rank(), root), dtype=g.dtype)
    return (total * here,)


@structural(
    type=_broadcast_type, numpy=lambda x, workers, root: _exchanged("broadcast", x, workers, root=root),
    grad=_broadcast_grad, grad_takes=(), dtypes=ANY, effect=Effect.EXCHANGE,
    samples=[*_SAMPLES, Sample(real(), workers=1, root=0)],
)
def broadcast(x: Any, *, workers: int, root: int = 0) -> Any:
    """`x` of the process `root`, in each of the `workers` processes."""


@structural(
    type=_all_to_all_type, numpy=lambda x, workers: _exchanged("all_to_all", x, workers),
    grad=lambda g, y, x, workers: (ops.all_to_all(g, workers=workers),), grad_takes=(), dtypes=ANY,
    effect=Effect.EXCHANGE, samples=_SAMPLES,
)
def all_to_all(x: Any, *, workers: int) -> Any:
    """Part i of `x` goes to process i. The result has what each process sent here, in the order of ranks.

    `x` is cut along its first axis into as many parts as there are processes, `workers`.
    """


@structural(
    type=lambda: TensorType(int32, ()), numpy=lambda: np.int32(MEMBERSHIP.world.rank), effect=Effect.MARK,
    differentiable=False,
)
def worker_rank() -> Any:
    """The number of this process, from 0 on."""
