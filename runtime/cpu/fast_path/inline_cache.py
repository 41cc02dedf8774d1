"""The programs of a plan that machine code calls.

The first runs of a program go through Python. From then on the dispatching function calls it, and Python only
takes part where something must be converted, compiled, allocated or waited for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from staticgraph.compiler.codegen.native.dispatch_layout import Binding as Word
from staticgraph.runtime.cpu.executable import CpuExecutable
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.state.resources import remaining
from staticgraph.runtime.state.variables import VariableStore

if TYPE_CHECKING:
    from staticgraph.runtime.backend import Programs
    from staticgraph.runtime.cpu.fast_path.call_record import CallRecord
    from staticgraph.runtime.cpu.fast_path.dispatch import Native
    from staticgraph.runtime.cpu.pool import Pool

WARM = 2  # runs of a program through Python before machine code that calls it is worth its preparation


def native() -> Native | None:
    """The dispatching function: it is imported, and compiled, once a program has run several times."""
    from staticgraph.runtime.cpu.fast_path import dispatch

    return dispatch.native()


class InlineCache:
    """Implements `FastPath`: the programs that are bound to their arguments, with feeds in `order`."""

    def __init__(self, programs: Programs, order: Sequence[int], store: VariableStore) -> None:
        self._programs = programs
        self._order = order
        self._store = store
        self._bindings: dict[CpuExecutable, CallRecord] = {}
        self._tried: WeakKeyDictionary[CpuExecutable, int] = WeakKeyDictionary()  # to bind, at which version
        self._first = (ctypes.c_int64 * 1)()
        self._bound: Callable[..., Any] | None = None  # runs what is in the chain
        self._pool: Pool | None = None  # if something in the chain is work for several threads

    def function(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """A function that runs what is in the chain, now or later, and else does as `otherwise`."""
        found = native()
        return otherwise if found is None else found.function(self._first, otherwise)

    def __call__(self, *values: Any) -> Any:
        """The fetched structure for these values, NotImplemented where no bound program takes them."""
        if self._bound is None or remaining() is not None:  # machine code has no eye on the time
            return NotImplemented
        if self._pool is not None:
            self._pool.ensure()
        return self._bound(*values)

    def add(self, program: Executable) -> None:
        """Bind a program that has run, if it is worth it and possible."""
        assert isinstance(program, CpuExecutable)
        version = self._store.version
        if program.calls < WARM or self._tried.get(program) == version:
            return
        self._tried[program] = version
        from staticgraph.runtime.cpu.fast_path.call_record import CallRecord, bindable

        found = native()
        if found is None or not bindable(self._programs, program, self._store):
            return
        known = [p for p in self._programs.known if isinstance(p, CpuExecutable)]
        good = {p: b for p in known if (b := self._bindings.get(p)) is not None and b.version == version}
        good[program] = CallRecord(self._programs, program, self._store, self._order)
        following = 0
        for binding in good.values():
            binding.words[Word.NEXT] = following
            following = binding.address
        self._first[0] = following
        self._bindings = good
        self._pool = next((bound.pool for bound in good if bound.parallel), None)
        if self._bound is None:
            self._bound = found.function(self._first, None)
