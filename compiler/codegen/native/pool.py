"""The thread pool as LLVM text: native functions that all steps of a process share.

A region is work in phases, each of so many independent chunks. Who wants to do chunks claims them, by one
atomic change of one word

    claim = ticket (32 bits), low (16 bits), high (16 bits)

which says that of the phase `ticket` the chunks low..high-1 are not yet taken. Every phase of every region
has a ticket of its own. The master, the thread that runs the step, takes chunks from the low end and the
workers take them from the high end, so that a core sees the same part of the data in every phase and run.
Between cores that are far from each other, a claim costs as much as a short chunk. So a claim takes several
of those: a part of what is left for each thread, fewer and fewer towards the end.

Who finishes the last chunk of a phase publishes the next one, keeping some chunks of it. So nobody waits for
a worker that has claimed nothing: if the workers sleep, or the system has given their core to another
program, the master does all chunks itself. A claim succeeds only if the word has not changed since the worker
looked at it, and while a chunk is claimed its region cannot end. So a worker that was stopped for a while
cannot touch the memory of a region that is over.

Only one region at a time uses the workers. A second one, of a session on another thread, is done by its own
master alone, which needs no atomics.

A worker that finds nothing to do looks again for about half a millisecond and then sleeps. The master wakes
sleeping workers for a region that is long enough, or when there have been many shorter ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Template

from staticgraph.compiler.codegen.llvm.text import NAME, Code, function
from staticgraph.compiler.codegen.native.pool_layout import LAYOUT
from staticgraph.compiler.codegen.native.system import system_of
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.support.dataclass import dataclass

_NUMBERS = {
    "share": 2, "shares": 3,  # of an even part of the chunks that are left: what one claim takes
    "worth_waking": 60_000,  # ns of work: about what it takes a sleeping thread to begin
    "many": 1_000_000,  # ns of work in shorter regions, after which more of them are likely
    "looks": 16_384,  # of a worker before it sleeps: about half a millisecond
    "patience": 4_096,  # looks of a waiting thread before it offers its core to others
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PoolCode:
    """The functions of a pool."""

    start: Code  # void (ptr pool): makes zeroed memory a pool
    # void (ptr pool, ptr work, ptr table, ptr counts, i64 phases, ptr private, i64 cost, i64 most): does a
    # region that takes `cost` ns, and of which a thread may take `most` chunks at a time
    run: Code
    worker: Code  # void (ptr pool, i64 number): the life of a worker
    wake: Code  # void (ptr pool): sleeping workers look around
    # i1 (ptr pool, i64 claim, ptr private, i64 mine): a thread that has seen `claim` tries to do chunks, from
    # the low end if `mine` is 0, from the high one if it is 1
    help: Code

    @property
    def codes(self) -> tuple[Code, ...]:
        """All of them."""
        return self.start, self.run, self.worker, self.wake, self.help


def pool_code(target: CpuTarget) -> PoolCode:
    """The pool for a processor and its system."""
    system = system_of(target)
    words = {"name": NAME, **_NUMBERS, **system.words}

    def made(text: str, *more: str, **others: str) -> Code:
        return function(_definition(text, {**words, **others}), (*system.declarations, *more))

    chunks = (*_MIN_MAX, *(_definition(text, words) for text in (_SHARE, _CHUNKS)))
    helpers = [_definition(text, words) for text in system.helpers]
    start, wake, help = made(_START), made(_WAKE), made(_HELP, *chunks)
    helping = f"declare i1 @{help.name}(ptr, i64, ptr, i64)"
    called = (helping, f"declare void @{wake.name}(ptr)")
    run = made(_RUN, *chunks, *helpers, *called, wake=f"@{wake.name}", help=f"@{help.name}", alone=_ALONE)
    worker = made(_WORKER, helping, help=f"@{help.name}")
    return PoolCode(start, run, worker, wake, help)


def serial_code() -> Code:
    """`run` of a pool without workers, which is nothing but the address of this function."""
    return function(_definition(_SERIAL, {"name": NAME, "alone": _ALONE}))


def _definition(text: str, words: Mapping[str, object]) -> str:
    """`text` with its words filled in, and the addresses `%at.word` of the words of the pool in it."""
    text = Template(text).substitute(words)
    used = dict.fromkeys(re.findall(r"%at\.(\w+)", text))
    addresses = [f"  %at.{word} = getelementptr i8, ptr %pool, i64 {LAYOUT[word]}\n" for word in used]
    return text.replace("entry:\n", "entry:\n" + "".join(addresses), 1)


_START = """\
define void $name(ptr %pool) nounwind {
entry:
  $make_mutex
  $make_condition
  ret void
}
"""

_MIN_MAX = tuple(f"declare i64 @llvm.{name}.i64(i64, i64)" for name in ("umin", "umax"))

# How many of the chunks that are left one claim takes.
_SHARE = """\
define internal i64 @share(ptr %pool, i64 %left) nounwind {
entry:
  %workers = load atomic i64, ptr %at.limit monotonic, align 8
  %threads = add i64 %workers, 1
  %dividend = mul i64 %left, $share
  %divisor = mul i64 %threads, $shares
  %part = udiv i64 %dividend, %divisor
  %most = load atomic i64, ptr %at.most monotonic, align 8
  %within = call i64 @llvm.umin.i64(i64 %part, i64 %most)
  %share = call i64 @llvm.umax.i64(i64 %within, i64 1)
  ret i64 %share
}
"""

# Does claimed chunks, `many` from number `from` on, and then some of every phase that this makes the next
# one. `mine` says which end of the chunks is this thread's: 0 the low one, 1 the high one. What describes the
# region stays as it is while a chunk of it is claimed.
_CHUNKS = """\
define internal void @chunks(
  ptr %pool, i32 %claimed, i64 %first.from, i64 %first.many, ptr %private, i64 %mine
) nounwind {
entry:
  %work = load ptr, ptr %at.work
  %table = load ptr, ptr %at.table
  %counts = load ptr, ptr %at.counts
  %first = load i32, ptr %at.first
  %last = load i32, ptr %at.last
  br label %do
do:
  %ticket = phi i32 [ %claimed, %entry ], [ %next, %publish ]
  %from = phi i64 [ %first.from, %entry ], [ %kept, %publish ]
  %many = phi i64 [ %first.many, %entry ], [ %share, %publish ]
  %past = sub i32 %ticket, %first
  %phase = zext i32 %past to i64
  %to = add i64 %from, %many
  br label %one
one:
  %chunk = phi i64 [ %from, %do ], [ %next.chunk, %one ]
  call void %work(ptr %table, i64 %phase, i64 %chunk, ptr %private)
  %next.chunk = add i64 %chunk, 1
  %more = icmp ult i64 %next.chunk, %to
  br i1 %more, label %one, label %finish
finish:
  %before = atomicrmw add ptr %at.done, i64 %many acq_rel
  %finished = add i64 %before, %many
  %count = getelementptr i16, ptr %counts, i64 %phase
  %all16 = load i16, ptr %count
  %all = zext i16 %all16 to i64
  %complete = icmp eq i64 %finished, %all
  br i1 %complete, label %advance, label %return
advance:
  store atomic i64 0, ptr %at.done monotonic, align 8
  %next = add i32 %ticket, 1
  %next64 = zext i32 %next to i64
  %tickets = shl i64 %next64, 32
  %over = icmp eq i32 %next, %last
  br i1 %over, label %end, label %publish
publish:
  %following = getelementptr i16, ptr %count, i64 1
  %new16 = load i16, ptr %following
  %new = zext i16 %new16 to i64
  %share = call i64 @share(ptr %pool, i64 %new)
  %highest = sub i64 %new, %share
  %share.low = shl i64 %share, 16
  %is.worker = icmp ne i64 %mine, 0
  %kept = select i1 %is.worker, i64 %highest, i64 0
  %others.low = select i1 %is.worker, i64 0, i64 %share.low
  %others.high = select i1 %is.worker, i64 %highest, i64 %new
  %others = or i64 %others.low, %others.high
  %claim = or i64 %tickets, %others
  store atomic i64 %claim, ptr %at.claim release, align 8
  br label %do
end:
  store atomic i64 %tickets, ptr %at.claim release, align 8
  ret void
return:
  ret void
}
"""

_RUN = """\
define void $name(
  ptr %pool, ptr %work, ptr %table, ptr %counts, i64 %phases, ptr %private, i64 %cost,
  i64 %most
) nounwind {
entry:
  %workers = load atomic i64, ptr %at.limit monotonic, align 8
  %none = icmp eq i64 %workers, 0
  br i1 %none, label %alone, label %try
try:
  %taken = cmpxchg ptr %at.busy, i64 0, i64 1 acquire monotonic
  %mine = extractvalue { i64, i1 } %taken, 1
  br i1 %mine, label %lead, label %alone
lead:
  store ptr %work, ptr %at.work
  store ptr %table, ptr %at.table
  store ptr %counts, ptr %at.counts
  %first = load i32, ptr %at.last
  %phases32 = trunc i64 %phases to i32
  %last = add i32 %first, %phases32
  store i32 %first, ptr %at.first
  store i32 %last, ptr %at.last
  %count16 = load i16, ptr %counts
  %count = zext i16 %count16 to i64
  %first64 = zext i32 %first to i64
  %tickets = shl i64 %first64, 32
  store atomic i64 %most, ptr %at.most monotonic, align 8
  %many = call i64 @share(ptr %pool, i64 %count)
  %low.mine = shl i64 %many, 16
  %range = or i64 %count, %low.mine
  %claim = or i64 %tickets, %range
  store atomic i64 %claim, ptr %at.claim seq_cst, align 8
  %sleepers = load atomic i64, ptr %at.sleepers seq_cst, align 8
  %asleep = icmp ne i64 %sleepers, 0
  br i1 %asleep, label %weigh, label %begin
weigh:
  %before = load i64, ptr %at.slept
  %slept = add i64 %before, %cost
  store i64 %slept, ptr %at.slept
  %long = icmp sge i64 %cost, $worth_waking
  %often = icmp sge i64 %slept, $many
  %wakes = or i1 %long, %often
  br i1 %wakes, label %rouse, label %begin
rouse:
  store i64 0, ptr %at.slept
  $scatter
  call void $wake(ptr %pool)
  br label %begin
begin:
  call void @chunks(ptr %pool, i32 %first, i64 0, i64 %many, ptr %private, i64 0)
  br label %look
look:
  %waited = phi i64 [ 0, %begin ], [ 0, %try.claim ], [ %longer, %wait ], [ 0, %offer ]
  %seen = load atomic i64, ptr %at.claim acquire, align 8
  %ticket64 = lshr i64 %seen, 32
  %ticket = trunc i64 %ticket64 to i32
  %over = icmp eq i32 %ticket, %last
  br i1 %over, label %end, label %try.claim
try.claim:
  %helped = call i1 $help(ptr %pool, i64 %seen, ptr %private, i64 0)
  br i1 %helped, label %look, label %wait
wait:
  $pause
  %longer = add i64 %waited, 1
  %patient = icmp ult i64 %longer, $patience
  br i1 %patient, label %look, label %offer
offer:
  $offer
  br label %look
end:
  store atomic i64 0, ptr %at.busy release, align 8
  ret void
alone:
$alone"""

# All chunks of all phases in order, and the end of the function.
_ALONE = """\
  br label %phase.loop
phase.loop:
  %phase = phi i64 [ 0, %alone ], [ %next.phase, %phase.done ]
  %size.at = getelementptr i16, ptr %counts, i64 %phase
  %size16 = load i16, ptr %size.at
  %size = zext i16 %size16 to i64
  br label %chunk.loop
chunk.loop:
  %chunk = phi i64 [ 0, %phase.loop ], [ %next.chunk, %chunk.loop ]
  call void %work(ptr %table, i64 %phase, i64 %chunk, ptr %private)
  %next.chunk = add i64 %chunk, 1
  %more.chunks = icmp ult i64 %next.chunk, %size
  br i1 %more.chunks, label %chunk.loop, label %phase.done
phase.done:
  %next.phase = add i64 %phase, 1
  %more.phases = icmp ult i64 %next.phase, %phases
  br i1 %more.phases, label %phase.loop, label %return
return:
  ret void
}
"""

_SERIAL = """\
define void $name(
  ptr %pool, ptr %work, ptr %table, ptr %counts, i64 %phases, ptr %private, i64 %cost,
  i64 %most
) nounwind {
alone:
$alone"""

_HELP = """\
define i1 $name(ptr %pool, i64 %seen, ptr %private, i64 %mine) nounwind {
entry:
  %low.shifted = lshr i64 %seen, 16
  %low = and i64 %low.shifted, 65535
  %high = and i64 %seen, 65535
  %some = icmp ult i64 %low, %high
  br i1 %some, label %claim.some, label %fail
claim.some:
  %left = sub i64 %high, %low
  %many = call i64 @share(ptr %pool, i64 %left)
  %many.low = shl i64 %many, 16
  %above = add i64 %seen, %many.low
  %below = sub i64 %seen, %many
  %is.worker = icmp ne i64 %mine, 0
  %fewer = select i1 %is.worker, i64 %below, i64 %above
  %claimed = cmpxchg ptr %at.claim, i64 %seen, i64 %fewer acq_rel monotonic
  %got = extractvalue { i64, i1 } %claimed, 1
  br i1 %got, label %do, label %fail
do:
  %ticket64 = lshr i64 %seen, 32
  %ticket = trunc i64 %ticket64 to i32
  %highest = sub i64 %high, %many
  %from = select i1 %is.worker, i64 %highest, i64 %low
  call void @chunks(ptr %pool, i32 %ticket, i64 %from, i64 %many, ptr %private, i64 %mine)
  ret i1 true
fail:
  ret i1 false
}
"""

_WORKER = """\
define void $name(ptr %pool, i64 %number) nounwind {
entry:
  %place = getelementptr ptr, ptr %at.private, i64 %number
  br label %look
look:
  %looked = phi i64 [ 0, %entry ], [ 0, %try ], [ %more, %idle ], [ %more, %offer ], [ 0, %awake ]
  %seen = load atomic i64, ptr %at.claim acquire, align 8
  %private = load atomic ptr, ptr %place monotonic, align 8
  br label %try
try:
  %helped = call i1 $help(ptr %pool, i64 %seen, ptr %private, i64 1)
  br i1 %helped, label %look, label %pass
pass:
  %limit = load atomic i64, ptr %at.limit monotonic, align 8
  %stays = icmp ult i64 %number, %limit
  br i1 %stays, label %idle, label %leave
idle:
  $pause
  %more = add i64 %looked, 1
  %phase = urem i64 %more, $patience
  %patient = icmp ne i64 %phase, 0
  br i1 %patient, label %look, label %tired
tired:
  %spent = icmp uge i64 %more, $looks
  br i1 %spent, label %doze, label %offer
offer:
  $offer
  br label %look
doze:
  $lock
  %wakes = load i64, ptr %at.wakes
  %asleep = atomicrmw add ptr %at.sleepers, i64 1 seq_cst
  br label %dozing
dozing:
  %claim = load atomic i64, ptr %at.claim seq_cst, align 8
  %news = icmp ne i64 %claim, %seen
  %wakes.now = load i64, ptr %at.wakes
  %woken = icmp ne i64 %wakes.now, %wakes
  %limit.now = load atomic i64, ptr %at.limit monotonic, align 8
  %leaves = icmp uge i64 %number, %limit.now
  %reason = or i1 %woken, %leaves
  %up = or i1 %reason, %news
  br i1 %up, label %awake, label %sleep
sleep:
  $sleep
  br label %dozing
awake:
  %awoken = atomicrmw sub ptr %at.sleepers, i64 1 seq_cst
  $unlock
  $roam
  br label %look
leave:
  ret void
}
"""

_WAKE = """\
define void $name(ptr %pool) nounwind {
entry:
  $lock
  %wakes = load i64, ptr %at.wakes
  %more = add i64 %wakes, 1
  store i64 %more, ptr %at.wakes
  $unlock
  $wake_all
  ret void
}
"""
