"""Our own training steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import staticgraph as sg
from benchmarks import staticgraph_row
from benchmarks.workloads import Data
from gpu_stages.sizes import Step


def ours(step: Step, data: Data, device: str, cast: str | None = None, **switches: Any) -> Any:
    """Our step on a device: a function that works on the next batch, and returns the loss.

    `cast`: the dtype that operands of products have in the graph, as PyTorch's autocast makes it.
    """
    with sg.Graph().as_default(), sg.options(device=device, **switches), _casting(cast):
        return getattr(staticgraph_row, step.name)(data)


@contextmanager
def _casting(dtype: str | None) -> Iterator[None]:
    """Context in which the rows of the benchmark have their products of operands of this dtype."""
    if dtype is None:
        yield
        return
    half = sg.as_dtype(dtype)

    def of_halves(product: Callable[..., Any]) -> Callable[..., Any]:
        def made(a: Any, b: Any, *rest: Any, **attributes: Any) -> Any:
            return sg.cast(product(sg.cast(a, half), sg.cast(b, half), *rest, **attributes), sg.float32)

        return made

    before = staticgraph_row.sg
    nn = _Overlaid(sg.nn, {"conv2d": of_halves(sg.nn.conv2d)})
    staticgraph_row.sg = _Overlaid(sg, {"nn": nn, "matmul": of_halves(sg.matmul)})  # type: ignore[assignment]
    try:
        yield
    finally:
        staticgraph_row.sg = before


class _Overlaid:
    """The names of a module, some of which mean something else."""

    def __init__(self, module: Any, others: dict[str, Any]) -> None:
        self._module = module
        self.__dict__.update(others)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)
