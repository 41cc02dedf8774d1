"""Calls from the runtime to the compiler.

Importing the compiler takes as long as importing all the rest of the runtime. Cached runs therefore import
this module only when they compile: a graph from a file may bring its machine code along.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen.llvm.text import module
from staticgraph.compiler.compile import Compiled, compile
from staticgraph.compiler.compiled_step import CompiledStep
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.sizes import estimate
from staticgraph.compiler.kernel_codes import KernelCache
from staticgraph.compiler.rewrite import Rule, Trace
from staticgraph.compiler.stages import Observer
from staticgraph.compiler.support.dataclass import replace
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.reports.compile_log import Progress
from staticgraph.runtime.switches import Settings, cache_folder

if TYPE_CHECKING:
    from staticgraph.runtime.reports.dump import Dump
    from staticgraph.runtime.reports.stage_log import StageLog

_MUCH = 1 << 14  # elements that a step is given: with fewer it is hardly worth several threads
_MANY = 64  # nodes of a step beside whose compile others are worth to be begun
_MOST = 256  # nodes whose passes are over before the threads that compile have done anything else


class Watching:
    """Observers of the compile of `step`, called `what`, as requested by the settings."""

    def __init__(self, settings: Settings, what: str, step: Step) -> None:
        self.trace: Trace | None = _report if "rules" in settings.trace else None
        self._what = what
        self._dump: Dump | None = None
        self._log: StageLog | None = None
        if settings.dump is not None:
            from staticgraph.runtime.reports.dump import Dump  # what few programs ask for

            self._dump = Dump(settings.dump, what)
            for report in step.reports:
                self._dump.after_stage(*report)
        if "stages" in settings.trace:
            from staticgraph.runtime.reports.stage_log import StageLog

            self._log = StageLog(step.reports)

    @property
    def observers(self) -> tuple[Observer, ...]:
        """The observers to call after each stage."""
        dump = () if self._dump is None else (self._dump.after_stage,)
        return dump if self._log is None else (*dump, self._log)

    def finish(self, made: CompiledStep, language: str, code: Callable[[], str]) -> None:
        """Show what was observed, and the code, in the language of files that end so."""
        if self._dump is not None:
            self._dump.finish(made, language, code())
        if self._log is not None:
            print(f"compiled {self._what}: {self._log}", file=sys.stderr)


def compiled(step: Step, settings: Settings, what: str) -> Compiled:
    """The step for this processor. `what` names it where it is dumped."""
    target = replace(cpu_jit.host(), fast_math=settings.math == "fast", tuned=settings.tune)
    watching = Watching(settings, what, step)
    if (nodes := len(step.function.nodes)) > _MANY:
        from staticgraph.runtime.cpu.fast_path import dispatch

        dispatch.expect(at_once=nodes > _MOST)  # while no kernel is ready for the threads that compile
    if sum(estimate(p.size) for p in step.function.params) > _MUCH:
        from staticgraph.runtime.cpu.pool import POOL

        POOL.expect()
    kept: KernelCache | None = None
    if settings.tune or cache_folder() is not None:
        from staticgraph.runtime.cpu.disk.disk_cache import KEPT

        kept = KEPT
    with Progress(f"compiling {what}") as progress:
        made = compile(
            step,
            target,
            watching.observers,
            cpu_jit.begin,
            settings.memory_limit,
            kept,
            without=settings.left_out,
            trace=watching.trace,
            told=partial(progress, noun="kernel"),
        )
    watching.finish(made, "ll", lambda: module(made.codes, cpu_jit.host()))
    return made


def _report(rule: Rule, before: Value, after: Value) -> None:
    """Say that a rule was applied, and where."""
    where = before.node.where
    place = f", {where.short}" if where is not None else ""
    print(f"rule {rule.name!r}: {before.node.op.name} -> {after.node.op.name}{place}", file=sys.stderr)
