"""One way of calling a plan: its feeds in the order of a caller's arguments.

The first runs of a program go through Python. From then on the dispatching function calls it, and Python only
takes part where something must be converted, compiled, allocated or waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from staticgraph.compiler.codegen.dispatch_layout import Binding as Word
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.runtime.binding import Binding, bindable
from staticgraph.runtime.devices.pool import POOL
from staticgraph.runtime.dispatch import native, words
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.feeds import Converter
from staticgraph.runtime.plan import Plan
from staticgraph.runtime.variables import VariableStore

WARM = 2  # runs of a program through Python before machine code that calls it is worth its preparation


class Caller:
    """Calls `plan` with the values of `feeds`, the same tensors as the plan's in any order."""

    def __init__(self, plan: Plan, feeds: Sequence[Tensor], store: VariableStore) -> None:
        self.runs = 0  # through Python
        self._plan = plan
        self._store = store
        self._converters = [Converter(t) for t in feeds]
        self._order = [plan.feeds.index(t) for t in feeds]  # the plan's feed that each argument is
        self._bindings: dict[Executable, Binding] = {}
        self._tried: WeakKeyDictionary[Executable, int] = WeakKeyDictionary()  # to bind, at which version
        self._chain = words(0)
        self._bound: Callable[..., Any] | None = None  # runs what is in the chain
        self._parallel = False  # whether something in the chain is work for several threads

    def function(self) -> Callable[..., Any]:
        """A function that does the same as this object, without Python where it can."""
        found = native()
        return self if found is None else found.function(self._chain, self)

    def __call__(self, *values: Any, **_: Any) -> Any:
        """The fetched structure for these values of the feeds."""
        if len(values) != len(self._order):
            raise TypeError(f"the callable takes {len(self._order)} values, {len(values)} were given")
        with self._store:
            self.runs += 1
            if self._parallel:
                POOL.ensure()
            made = NotImplemented if self._bound is None else self._bound(*values)
            return self._convert(values) if made is NotImplemented else made

    def _convert(self, values: Sequence[Any]) -> Any:
        arrays = [convert(value) for convert, value in zip(self._converters, values, strict=True)]
        if self._bound is not None and arrays:
            made = self._bound(*arrays)
            if made is not NotImplemented:
                return made
        return self._interpret(arrays)

    def _interpret(self, arrays: list[np.ndarray]) -> Any:
        """Run through Python, and prepare to do without it."""
        given = dict(zip(self._order, arrays, strict=True))
        ordered = [given[i] for i in range(len(arrays))]
        program = self._plan.ready(ordered, self._store)
        made = self._plan.run(program, ordered, self._store)
        if program.calls >= WARM:
            self._bind(program)
        return made

    def _bind(self, program: Executable) -> None:
        version = self._store.version
        if self._tried.get(program) == version:
            return
        self._tried[program] = version
        found = native()
        if found is None or not bindable(self._plan, program, self._store):
            return
        programs = [*self._plan.programs.values()]
        good = {p: b for p in programs if (b := self._bindings.get(p)) is not None and b.version == version}
        good[program] = Binding(self._plan, program, self._store, self._order)
        following = 0
        for binding in good.values():
            binding.words[Word.NEXT] = following
            following = binding.address
        self._chain[0] = following
        self._bindings = good
        self._parallel = any(bound.compiled.parallel for bound in good)
        if self._bound is None:
            self._bound = found.function(self._chain, None)
