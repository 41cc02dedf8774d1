"""The function that Python calls to run a step: it checks what is fed, runs native code, makes results.

One function serves all callables of a process. It has the calling convention of built-in functions, `ptr (ptr
self, ptr args, i64 nargs, ptr kwnames)`, and finds everything else in the records of `dispatch_layout`: no
address is a part of its text. It runs the first binding whose feeds fit. Where none does, nothing has
happened yet, and the head's fallback, a Python function, is called with the same arguments.
"""

from __future__ import annotations

import hashlib

from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.codegen.native.dispatch_layout import (
    DATA,
    TYPE,
    UNSOUND,
    Binding,
    Cell,
    Feed,
    Head,
    Host,
    Result,
    State,
    field,
    word,
)
from staticgraph.compiler.codegen.native.feeds import FEEDS
from staticgraph.compiler.codegen.native.results import RESULTS

_ACCEPTS = f"""
; Whether a binding can run now with these arguments. The table then leads to them.
define internal i1 @accepts(ptr %host, ptr %binding, ptr %args, i64 %nargs, i1 %locked) nounwind {{
entry:
  {word("state", "binding", Binding.STATE)}
  {word("version", "state", State.VERSION, "i64")}
  {word("holders", "state", State.HOLDERS, "i64")}
  {word("good.for", "binding", Binding.VERSION, "i64")}
  {word("long", "binding", Binding.LONG, "i64")}
  {word("feeds", "binding", Binding.FEEDS)}
  {word("count", "binding", Binding.FEED_COUNT, "i64")}
  {word("ndarray", "host", Host.NDARRAY)}
  %current = icmp eq i64 %version, %good.for
  %obstacles = or i64 %holders, %long
  %quiet = icmp eq i64 %obstacles, 0
  %may = or i1 %quiet, %locked
  %complete = icmp eq i64 %nargs, %count
  %whole = and i1 %current, %complete
  %ready = and i1 %whole, %may
  br i1 %ready, label %feed, label %no
feed:
  %i = phi i64 [ 0, %entry ], [ %i.next, %read ]
  %read.all = icmp eq i64 %i, %count
  br i1 %read.all, label %start, label %look
look:
  %offset = mul i64 %i, {len(Feed)}
  %record = getelementptr i64, ptr %feeds, i64 %offset
  %value.at = getelementptr ptr, ptr %args, i64 %i
  %value = load ptr, ptr %value.at
  {field("type", "value", TYPE)}
  %is.array = icmp eq ptr %type, %ndarray
  br i1 %is.array, label %array, label %scalar
array:
  %array.fits = call i1 @read_array(ptr %record, ptr %value)
  br i1 %array.fits, label %expect, label %no
scalar:
  %scalar.fits = call i1 @read_scalar(ptr %host, ptr %record, ptr %value, ptr %type)
  br i1 %scalar.fits, label %expect, label %no
expect:
  %good = call i1 @is_expected(ptr %record)
  br i1 %good, label %read, label %no
read:
  %i.next = add i64 %i, 1
  br label %feed
start:
  {word("results", "binding", Binding.RESULTS)}
  {word("result.count", "binding", Binding.RESULT_COUNT, "i64")}
  br label %result
result:
  %j = phi i64 [ 0, %start ], [ %j.next, %placed ]
  %all.placed = icmp eq i64 %j, %result.count
  br i1 %all.placed, label %yes, label %place
place:
  %result.offset = mul i64 %j, {len(Result)}
  %made = getelementptr i64, ptr %results, i64 %result.offset
  {word("blocks", "made", Result.BLOCKS)}
  %small = icmp eq ptr %blocks, null
  br i1 %small, label %placed, label %large
large:
  %block = call ptr @free_block(ptr %made, ptr %blocks)
  %none = icmp eq ptr %block, null
  br i1 %none, label %no, label %placed
placed:
  %j.next = add i64 %j, 1
  br label %result
yes:
  ret i1 true
no:
  ret i1 false
}}
"""

_PLACE_VARIABLES = f"""
; Put the present addresses of variables into the table.
define internal void @place_variables(ptr %binding) nounwind {{
entry:
  {word("pairs", "binding", Binding.VARIABLES)}
  {word("count", "binding", Binding.VARIABLE_COUNT, "i64")}
  br label %variable
variable:
  %i = phi i64 [ 0, %entry ], [ %i.next, %place ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %out, label %place
place:
  %offset = mul i64 %i, 2
  %pair = getelementptr i64, ptr %pairs, i64 %offset
  {word("slot", "pair", 0)}
  {word("holder", "pair", 1)}
  %address = load ptr, ptr %holder
  store ptr %address, ptr %slot
  %i.next = add i64 %i, 1
  br label %variable
out:
  ret void
}}
"""

_COMMIT = f"""
; What has changed when a step is done: variables that were not overwritten, and states of random ops.
define internal void @commit(ptr %binding) nounwind {{
entry:
  {word("flips", "binding", Binding.FLIPS)}
  {word("flip.count", "binding", Binding.FLIP_COUNT, "i64")}
  {word("counters", "binding", Binding.COUNTERS)}
  {word("counter.count", "binding", Binding.COUNTER_COUNT, "i64")}
  br label %flip
flip:
  %i = phi i64 [ 0, %entry ], [ %i.next, %exchange ]
  %flipped = icmp eq i64 %i, %flip.count
  br i1 %flipped, label %counter, label %exchange
exchange:
  %cell.at = getelementptr ptr, ptr %flips, i64 %i
  %cell = load ptr, ptr %cell.at
  {word("front", "cell", Cell.FRONT)}
  {word("back", "cell", Cell.BACK)}
  store ptr %back, ptr %front.at
  store ptr %front, ptr %back.at
  %i.next = add i64 %i, 1
  br label %flip
counter:
  %j = phi i64 [ 0, %flip ], [ %j.next, %advance ]
  %advanced = icmp eq i64 %j, %counter.count
  br i1 %advanced, label %out, label %advance
advance:
  %offset = mul i64 %j, 2
  %pair = getelementptr i64, ptr %counters, i64 %offset
  {word("place", "pair", 0)}
  {word("step", "pair", 1, "i64")}
  %before = load i64, ptr %place
  %after = add i64 %before, %step
  store i64 %after, ptr %place
  %j.next = add i64 %j, 1
  br label %counter
out:
  ret void
}}
"""

_HOLD = f"""
; Hold the session of a binding, if no other thread does and the thread pool is ready; whether that went well.
define internal i1 @hold(ptr %host, ptr %binding) nounwind {{
entry:
  %argument = alloca ptr
  {word("state", "binding", Binding.STATE)}
  {word("ready", "binding", Binding.READY)}
  {word("acquire", "state", State.ACQUIRE)}
  {word("vectorcall", "host", Host.VECTORCALL)}
  {word("decref", "host", Host.DECREF)}
  {word("true", "host", Host.TRUE)}
  {word("false", "host", Host.FALSE)}
  %alone = icmp eq ptr %ready, null
  br i1 %alone, label %take, label %ask
ask:
  %is.ready = load i64, ptr %ready
  %complete = icmp ne i64 %is.ready, 0
  br i1 %complete, label %take, label %no
take:
  store ptr %false, ptr %argument
  %answer = call ptr %vectorcall(ptr %acquire, ptr %argument, i64 1, ptr null)
  call void %decref(ptr %answer)
  %taken = icmp eq ptr %answer, %true
  br i1 %taken, label %yes, label %no
yes:
  {word("holders", "state", State.HOLDERS, "i64")}
  %more = add i64 %holders, 1
  store i64 %more, ptr %holders.at
  ret i1 true
no:
  ret i1 false
}}
"""

_LET_GO = f"""
; Hold the session no longer. An error that was set stays so.
define internal void @let_go(ptr %host, ptr %state) nounwind {{
entry:
  %kind = alloca ptr
  %error = alloca ptr
  %trace = alloca ptr
  {word("holders", "state", State.HOLDERS, "i64")}
  {word("release", "state", State.RELEASE)}
  {word("vectorcall", "host", Host.VECTORCALL)}
  {word("decref", "host", Host.DECREF)}
  {word("fetch", "host", Host.FETCH_ERROR)}
  {word("restore", "host", Host.RESTORE_ERROR)}
  %fewer = sub i64 %holders, 1
  store i64 %fewer, ptr %holders.at
  call void %fetch(ptr %kind, ptr %error, ptr %trace)
  %answer = call ptr %vectorcall(ptr %release, ptr null, i64 0, ptr null)
  call void %decref(ptr %answer)
  %kind.kept = load ptr, ptr %kind
  %error.kept = load ptr, ptr %error
  %trace.kept = load ptr, ptr %trace
  call void %restore(ptr %kind.kept, ptr %error.kept, ptr %trace.kept)
  ret void
}}
"""

_FALL_BACK = f"""
; What Python makes of these arguments; NotImplemented where nothing is to be asked.
define internal ptr @fall_back(ptr %head, ptr %args, i64 %nargs, ptr %kwnames) nounwind {{
entry:
  {word("host", "head", Head.HOST)}
  {word("fallback", "head", Head.FALLBACK)}
  %refuse = icmp eq ptr %fallback, null
  br i1 %refuse, label %refused, label %python
python:
  {word("vectorcall", "host", Host.VECTORCALL)}
  %answer = call ptr %vectorcall(ptr %fallback, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %answer
refused:
  {word("incref", "host", Host.INCREF)}
  {word("not.implemented", "host", Host.NOT_IMPLEMENTED)}
  call void %incref(ptr %not.implemented)
  ret ptr %not.implemented
}}
"""

_RUN = f"""
; Run a binding that accepts: what the caller gets, or null. If a check of the step fails, nothing has
; happened, and Python is to find out why.
define internal ptr @run(ptr %head, ptr %binding, ptr %args, i64 %nargs) nounwind {{
entry:
  {word("host", "head", Head.HOST)}
  {word("count", "binding", Binding.RESULT_COUNT, "i64")}
  {word("entry.point", "binding", Binding.ENTRY)}
  {word("table", "binding", Binding.TABLE)}
  {word("calls", "binding", Binding.CALLS)}
  {word("long", "binding", Binding.LONG, "i64")}
  %values = alloca ptr, i64 %count
  %placed = call i1 @place_results(ptr %host, ptr %binding, ptr %values, i64 %count)
  br i1 %placed, label %start, label %failed
start:
  call void @place_variables(ptr %binding)
  %before = load i64, ptr %calls
  %after = add i64 %before, 1
  store i64 %after, ptr %calls
  %short = icmp eq i64 %long, 0
  br i1 %short, label %short.run, label %long.run
short.run:
  %short.status = call i32 %entry.point(ptr %table)
  br label %finish
long.run:
  {word("save", "host", Host.SAVE_THREAD)}
  {word("restore", "host", Host.RESTORE_THREAD)}
  %thread = call ptr %save()
  %long.status = call i32 %entry.point(ptr %table)
  call void %restore(ptr %thread)
  br label %finish
finish:
  %status = phi i32 [ %short.status, %short.run ], [ %long.status, %long.run ]
  %good = icmp eq i32 %status, 0
  br i1 %good, label %keep, label %stopped
stopped:
  call void @drop(ptr %host, ptr %values, i64 %count)
  %unsound = icmp eq i32 %status, {UNSOUND}
  br i1 %unsound, label %again, label %failed
again:
  %answer = call ptr @fall_back(ptr %head, ptr %args, i64 %nargs, ptr null)
  ret ptr %answer
keep:
  call void @commit(ptr %binding)
  %made = call i1 @make_scalars(ptr %host, ptr %binding, ptr %values, i64 %count)
  br i1 %made, label %arrange, label %failed
arrange:
  %object = call ptr @arrange(ptr %host, ptr %binding, ptr %values)
  call void @drop(ptr %host, ptr %values, i64 %count)
  ret ptr %object
failed:
  ret ptr null
}}
"""

_DISPATCH = f"""
; The function itself.
define ptr @dispatch(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {{
entry:
  {field("head", "self", DATA)}
  {word("host", "head", Head.HOST)}
  {word("chain", "head", Head.CHAIN)}
  {word("lock", "head", Head.LOCKED, "i64")}
  %caller.holds = icmp ne i64 %lock, 0
  %first = load ptr, ptr %chain
  %positional = icmp eq ptr %kwnames, null
  br i1 %positional, label %find, label %fall.back
find:
  %binding = phi ptr [ %first, %entry ], [ %following, %next ]
  %held = phi i1 [ %caller.holds, %entry ], [ %holds, %next ]
  %mine = phi ptr [ null, %entry ], [ %own, %next ]
  %none = icmp eq ptr %binding, null
  br i1 %none, label %unfit, label %check
check:
  {word("long", "binding", Binding.LONG, "i64")}
  {word("state", "binding", Binding.STATE)}
  {word("following", "binding", Binding.NEXT)}
  %short = icmp eq i64 %long, 0
  %free = or i1 %short, %held
  br i1 %free, label %try, label %hold
hold:
  %taken = call i1 @hold(ptr %host, ptr %binding)
  br i1 %taken, label %try, label %unfit
try:
  %holds = phi i1 [ %held, %check ], [ true, %hold ]
  %own = phi ptr [ %mine, %check ], [ %state, %hold ]
  %fits = call i1 @accepts(ptr %host, ptr %binding, ptr %args, i64 %nargs, i1 %holds)
  br i1 %fits, label %go, label %next
next:
  br label %find
go:
  %made = call ptr @run(ptr %head, ptr %binding, ptr %args, i64 %nargs)
  %was.mine = icmp ne ptr %own, null
  br i1 %was.mine, label %end, label %return
end:
  call void @let_go(ptr %host, ptr %own)
  br label %return
return:
  ret ptr %made
unfit:
  %is.mine = icmp ne ptr %mine, null
  br i1 %is.mine, label %give.up, label %fall.back
give.up:
  call void @let_go(ptr %host, ptr %mine)
  br label %fall.back
fall.back:
  %answer = call ptr @fall_back(ptr %head, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %answer
}}
"""

_HELPERS = (*FEEDS, *RESULTS, _ACCEPTS, _PLACE_VARIABLES, _COMMIT, _HOLD, _LET_GO, _FALL_BACK, _RUN)


def dispatch() -> Code:
    """The dispatching function. It is the same for every program, process and machine."""
    digest = hashlib.blake2b("".join((*_HELPERS, _DISPATCH)).encode(), digest_size=12).hexdigest()
    name = f"dispatch{digest}"
    return Code(name, _DISPATCH.replace("@dispatch(", f"@{name}(", 1), _HELPERS)
