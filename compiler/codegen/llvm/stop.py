"""Stopping a region: its chunks look at a flag, and do nothing from then on.

Threads claim chunks as ever, so that the thread pool needs to know nothing of it, and the step returns after
the region. From the first phase on that overwrites a variable, the step can only go on to its end: then only
what was skipped before counts.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.llvm.clock import Clock
from staticgraph.compiler.codegen.llvm.control_flow import ask, return_unless
from staticgraph.compiler.codegen.llvm.text import Emitter
from staticgraph.compiler.codegen.native.watch import WatchState

LOOK = 4e6  # ns of work of one thread between looks at the watch
STOPPABLE = 2.5e7  # ns of work of one thread that are done without a look: nobody notices them


def forget_skips(writer: Emitter, watch: str) -> None:
    """Begin a step of which nothing was skipped."""
    place, skipped = _skipped(writer, watch)
    clear, done = writer.label(), writer.label()
    writer.branch_if(writer.value(f"icmp eq i64 {skipped}, 0"), done, clear)
    writer.start(clear)
    writer.line(f"store atomic i64 0, ptr {place} monotonic, align 8")
    writer.branch(done)
    writer.start(done)


def return_if_skipped(writer: Emitter, watch: str) -> None:
    """Return from a step of which something was skipped."""
    return_unless(writer, writer.value(f"icmp eq i64 {_skipped(writer, watch)[1]}, 0"))


def skip_if_stopped(
    writer: Emitter, watch: str, master: str, committing: int, looks: int, clock: Clock
) -> None:
    """Return from a chunk, %chunk of %phase with the scratch memory %private, if the step is to stop.

    `master` is the scratch memory of the thread that runs the step: it asks for signals, in each chunk whose
    number is divisible by `looks`. From the phase `committing` on, only what was skipped before counts: some
    variables are overwritten then, and the others must be, too.
    """
    stop = writer.value(f"load atomic i64, ptr {watch} monotonic, align 8")
    place, skipped = _skipped(writer, watch)
    quiet = writer.value(f"icmp eq i64 {writer.value(f'or i64 {stop}, {skipped}')}, 0")
    early = writer.value(f"icmp ult i64 %phase, {committing}")
    told, refuse, late, skip, due, look, go_on = (writer.label() for _ in range(7))
    writer.branch_if(quiet, due, told)
    writer.start(told)
    writer.branch_if(early, refuse, late)
    writer.start(late)
    writer.branch_if(writer.value(f"icmp eq i64 {skipped}, 0"), go_on, skip)
    writer.start(due)
    rest = writer.value(f"and i64 %chunk, {looks - 1}")
    mine = writer.value(f"icmp eq ptr %private, {master}")
    turn = writer.value(f"and i1 {mine}, {writer.value(f'icmp eq i64 {rest}, 0')}")
    writer.branch_if(writer.value(f"and i1 {turn}, {early}"), look, go_on)
    writer.start(look)
    raised = ask(writer, watch, clock)
    writer.branch_if(writer.value(f"icmp eq i32 {raised}, 0"), go_on, refuse)
    writer.start(refuse)
    writer.line(f"store atomic i64 1, ptr {place} monotonic, align 8")
    writer.branch(skip)
    writer.start(skip)
    writer.line("ret void")
    writer.start(go_on)


def _skipped(writer: Emitter, watch: str) -> tuple[str, str]:
    """The address of the flag, and its value."""
    place = writer.value(f"getelementptr i64, ptr {watch}, i64 {WatchState.SKIPPED}")
    return place, writer.value(f"load atomic i64, ptr {place} monotonic, align 8")
