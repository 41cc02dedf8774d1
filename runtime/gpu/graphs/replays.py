"""Fast path to captured programs: values go straight into a slot, and one call does the rest.

It is to a GPU what the chain of bound programs is to the processor, and is used in the same places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import bfloat16
from staticgraph.runtime.backend import Programs
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.gpu.executable import GpuExecutable
from staticgraph.runtime.gpu.store import DeviceStore


class Replays:
    """Implements `FastPath`: the programs that are captured, whose feeds come as arguments in `order`."""

    def __init__(self, programs: Programs, order: Sequence[int], store: DeviceStore) -> None:
        self._known = programs
        self._store = store
        self._dtypes = [programs.feeds[i].dtype.numpy for i in order]
        self._order = order
        self._places = [list(order).index(i) for i in range(len(order))]  # the argument that each feed is
        self._in_order = self._places == [*range(len(order))]
        self._programs: dict[tuple[tuple[int, ...], ...], GpuExecutable] = {}  # by the shapes of arguments
        crossing = [*(t.dtype for t in programs.feeds), *(t.dtype for t in programs.fetches.tensors)]
        self._never = bfloat16 in crossing  # it is another type on the host

    def function(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """A function that replays what is captured, now or later, and else does as `otherwise`."""

        def call(*values: Any) -> Any:
            with self._store:
                made = self(*values)
            return otherwise(*values) if made is NotImplemented else made

        return call

    def __call__(self, *values: Any) -> Any:
        """The fetched structure for these values, NotImplemented where nothing captured takes them."""
        if not self._programs or len(values) != len(self._dtypes):
            return NotImplemented
        for value, dtype in zip(values, self._dtypes, strict=True):
            if type(value) is not np.ndarray or value.dtype != dtype:
                return NotImplemented
        program = self._programs.get(tuple([value.shape for value in values]))
        if program is None or program.version != self._store.version or not program.is_captured:
            return NotImplemented
        feeds = values if self._in_order else [values[place] for place in self._places]
        made = program.replay(feeds, self._store, self._known.recyclers)
        return self._known.fetches.assemble([value[()] for value in made])

    def add(self, program: Executable) -> None:
        """Take the fast path to a program from now on, if there is one."""
        if self._never or self._known.static or not isinstance(program, GpuExecutable):
            return
        if program.is_captured:
            shapes = [type.static_shape for type in program.prepared.program.arguments]
            known = {*self._known.known}
            self._programs = {key: p for key, p in self._programs.items() if p in known}
            self._programs[tuple(shapes[i] for i in self._order)] = program
