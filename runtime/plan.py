"""How one set of fetches is computed: programs by
signature, each compiled once and called again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from staticgraph.compiler.compile import compile
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.passes.specialise import (
    StaticFeedNeeded,
    Step,
    VariableTypeNeeded,
    specialise,
    uninitialized,
)
from staticgraph.runtime.devices import cpu_jit
from staticgraph.runtime.devices.generated import KEPT
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.memory import empty, from_storage, to_storage
from staticgraph.runtime.recycle import Recycler
from staticgraph.runtime.variables import VariableStore

PROGRAM_LIMIT = 128  # per set of fetches: batches of ever new sizes must not fill the memory


@dataclass(slots=True)
class Plan:
    """One set of fetches and fed tensors, and its programs by signature.

    A signature is the shapes of the feeds, the values of those feeds that shapes depend on, and the types of
    the values of those variables that the graph does not tell.
    """

    graph: Graph
    fetches: Fetches
    feeds: tuple[Tensor, ...]
    memory_limit: int | None = None
    static: tuple[int, ...] = ()
    variables: tuple[Operation, ...] = ()
    programs: dict[Any, Executable] = field(default_factory=dict)
    recyclers: list[Recycler] = field(init=False)  # one per fetched tensor

    def __post_init__(self) -> None:
        self.recyclers = [Recycler() for _ in self.fetches.tensors]

    def ready(self, arrays: Sequence[np.ndarray], store: VariableStore) -> Executable:
        """The program for arrays of these shapes, whose variables have the values that it needs."""
        program = self.program(arrays, store)
        missing = [op for op in program.needed if op not in store]
        if missing:
            raise uninitialized(missing)
        if reshaped := self._reshaped(program, store):
            self.variables = (*self.variables, *reshaped)
            program = self.program(arrays, store)
        return program

    def program(self, arrays: Sequence[np.ndarray], store: VariableStore) -> Executable:
        """The program for arrays of these shapes, compiled if need be."""
        while True:
            statics = tuple((i, arrays[i].tobytes()) for i in self.static)
            types = {op: store.type_of(op) for op in self.variables}
            signature = (tuple(a.shape for a in arrays), statics, tuple(types.values()))
            program = self.programs.get(signature)
            if program is not None:
                return program
            try:
                step = self._step(arrays, types)
            except StaticFeedNeeded as needed:
                more = {self.feeds.index(t) for t in needed.feeds}
                self.static = tuple(sorted({*self.static, *more}))
            except VariableTypeNeeded as needed:
                self.variables = (*self.variables, *needed.variables)
            else:
                made = compile(step, cpu_jit.host(), (), cpu_jit.begin, self.memory_limit, KEPT)
                self.programs[signature] = Executable(made)
                if len(self.programs) > PROGRAM_LIMIT:
                    del self.programs[next(iter(self.programs))]

    def _reshaped(self, program: Executable, store: VariableStore) -> list[Operation]:
        """The variables whose value has another shape than the program reads."""
        reads = program.compiled.step.reads
        types = program.compiled.program.arguments[len(self.feeds) : len(self.feeds) + len(reads)]
        pairs = zip(reads, types, strict=True)
        return [op for op, type in pairs if op in store and store.stored(op).shape != type.shape]

    def _step(self, arrays: Sequence[np.ndarray], types: dict[Operation, TensorType | None]) -> Step:
        feeds = {t: TensorType(t.dtype, a.shape) for t, a in zip(self.feeds, arrays, strict=True)}
        static = {self.feeds[i]: arrays[i] for i in self.static}
        return specialise(self.graph, self.fetches.tensors, self.fetches.targets, feeds, types, static)

    def run(self, program: Executable, arrays: Sequence[np.ndarray], store: VariableStore) -> Any:
        """The fetched structure for these values of the feeds. Changes the variables in `store`."""
        step = program.compiled.step
        fetched = iter(self._call(program, step, arrays, store))
        return self.fetches.assemble(
            [
                step.names[t] if t in step.names else from_storage(next(fetched), t.dtype)[()]
                for t in self.fetches.tensors
            ]
        )

    def _call(
        self, program: Executable, step: Step, arrays: Sequence[np.ndarray], store: VariableStore
    ) -> list[np.ndarray]:
        """Run the program; commits new values of variables
        and returns the fetches as compiled code holds them.
        """
        layout = program.compiled.program
        arguments = [to_storage(a, t.dtype) for a, t in zip(arrays, self.feeds, strict=True)]
        types = layout.arguments[len(arrays) :]
        arguments += [
            store.stored(op) if op in store else empty(type)  # the program does not read the latter
            for op, type in zip(step.reads, types, strict=False)
        ]
        arguments += [store.random_state(op) for op in step.counters]
        memory = zip(self.fetches.tensors, self.recyclers, strict=True)
        computed = [recycler for tensor, recycler in memory if tensor not in step.names]
        results = [r.array(t) for r, t in zip(computed, layout.results[: step.fetches], strict=True)]
        for i, op in enumerate(step.writes, step.fetches):
            old = step.updates.get(i, -1)
            overwritten = old in layout.in_place
            results.append(arguments[old] if overwritten else store.next_buffer(op, layout.results[i]))
        program(arguments, results)
        for op, buffer in zip(step.writes, results[step.fetches :], strict=True):
            store.commit(op, buffer)
        for op, advance in zip(step.counters, step.advances, strict=True):
            store.random_state(op)[0] += np.uint64(advance)
        return results[: step.fetches]
