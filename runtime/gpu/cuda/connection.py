"""CuPy on a GPU: its modules, and the stream that all work goes to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from staticgraph.runtime.gpu.cuda.driver import Direction
from staticgraph.runtime.gpu.cuda.failure import explained

KINDS = {Direction.TO_DEVICE: 1, Direction.FROM_DEVICE: 2, Direction.ON_DEVICE: 3}  # of cudaMemcpyKind


class Connection:
    """The GPU that CuPy counts as `index`. `about` is what CUDA tells of it."""

    def __init__(self, index: int) -> None:
        import cupy  # half a second, and not needed to say that there is no GPU

        self.index, self.cupy = index, cupy
        self.runtime, self.cuda = cupy.cuda.runtime, cupy.cuda.driver
        self.errors = (self.runtime.CUDARuntimeError, self.cuda.CUDADriverError)
        # What a thread does goes to its current GPU, and the first call of a thread must set it.
        self.enter: Callable[[], None] = partial(self.runtime.setDevice, index)
        self.capturing = False  # whether the stream is
        self.idle: list[Any] = []  # events that nobody waits for any more
        try:
            self.enter()
            self.about: dict[str, Any] = self.runtime.getDeviceProperties(index)
            self.stream: Any = cupy.cuda.Stream(non_blocking=True)
        except self.errors as error:
            raise explained(error, f"to use GPU {index}") from None
