"""Machine code that `Session.run` calls first: it finds the callable of a run, and calls it.

A training script passes the same objects each time: tensors, operations, or a list of them, and a dict whose
keys are the same placeholders. So previous runs are looked up by identity, by the fetches and the keys of the
feeds in their order. The callable then gets the values of the feeds. If no run matches, or if the graph has
grown since the last look at it, the code returns NotImplemented, and Python takes the slow path.
"""

from __future__ import annotations

import hashlib

from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.codegen.native.dispatch_layout import (
    DATA,
    ITEMS,
    SIZE,
    TYPE,
    Host,
    Known,
    Run,
    field,
    word,
)
from staticgraph.compiler.codegen.native.results import DROP

_SAME = """
; Whether so many words are the same.
define internal i1 @same(ptr %one, ptr %other, i64 %count) nounwind {
entry:
  br label %word
word:
  %i = phi i64 [ 0, %entry ], [ %i.next, %equal ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %yes, label %compare
compare:
  %one.at = getelementptr i64, ptr %one, i64 %i
  %left = load i64, ptr %one.at
  %other.at = getelementptr i64, ptr %other, i64 %i
  %right = load i64, ptr %other.at
  %equals = icmp eq i64 %left, %right
  br i1 %equals, label %equal, label %no
equal:
  %i.next = add i64 %i, 1
  br label %word
yes:
  ret i1 true
no:
  ret i1 false
}
"""

_FETCHED = f"""
; Whether a run is of these fetches: one object, or a list or tuple of the same ones.
define internal i1 @fetched(ptr %host, ptr %run, ptr %fetches) nounwind {{
entry:
  {word("what", "run", Run.FETCHES)}
  {word("count", "run", Run.FETCH_COUNT, "i64")}
  {word("kind", "run", Run.KIND)}
  {word("list", "host", Host.LIST)}
  %single = icmp eq ptr %kind, null
  br i1 %single, label %one, label %several
one:
  %wanted = load ptr, ptr %what
  %same.object = icmp eq ptr %fetches, %wanted
  ret i1 %same.object
several:
  {field("type", "fetches", TYPE)}
  %same.type = icmp eq ptr %type, %kind
  br i1 %same.type, label %size, label %no
size:
  {field("length", "fetches", SIZE, "i64")}
  %same.length = icmp eq i64 %length, %count
  br i1 %same.length, label %find, label %no
find:
  %is.list = icmp eq ptr %kind, %list
  {field("behind", "fetches", ITEMS)}
  %items = select i1 %is.list, ptr %behind, ptr %behind.at
  %same.items = call i1 @same(ptr %items, ptr %what, i64 %count)
  ret i1 %same.items
no:
  ret i1 false
}}
"""

_FED = f"""
; Whether the keys of a dict are those of a run. Its values are then in `values`, as references to be given
; up; otherwise `taken` tells how many are there.
define internal i1 @fed(ptr %host, ptr %run, ptr %dict, ptr %values, ptr %taken) nounwind {{
entry:
  %place = alloca i64
  %key = alloca ptr
  %value = alloca ptr
  {word("keys", "run", Run.KEYS)}
  {word("count", "run", Run.KEY_COUNT, "i64")}
  {word("next", "host", Host.NEXT_OF_DICT)}
  {word("incref", "host", Host.INCREF)}
  store i64 0, ptr %place
  store i64 0, ptr %taken
  br label %item
item:
  %i = phi i64 [ 0, %entry ], [ %i.next, %take ]
  %more = call i32 %next(ptr %dict, ptr %place, ptr %key, ptr %value)
  %over = icmp eq i32 %more, 0
  %complete = icmp eq i64 %i, %count
  br i1 %over, label %end, label %compare
compare:
  br i1 %complete, label %no, label %look
look:
  %wanted.at = getelementptr ptr, ptr %keys, i64 %i
  %wanted = load ptr, ptr %wanted.at
  %found = load ptr, ptr %key
  %same.key = icmp eq ptr %found, %wanted
  br i1 %same.key, label %take, label %no
take:
  %object = load ptr, ptr %value
  call void %incref(ptr %object)
  %value.at = getelementptr ptr, ptr %values, i64 %i
  store ptr %object, ptr %value.at
  %i.next = add i64 %i, 1
  store i64 %i.next, ptr %taken
  br label %item
end:
  ret i1 %complete
no:
  ret i1 false
}}
"""

_FIND = f"""
; The function itself. Its arguments are the fetches, and the feeds or None.
define ptr @find(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {{
entry:
  %taken = alloca i64
  {field("record", "self", DATA)}
  {word("host", "record", Known.HOST)}
  {word("recorded", "record", Known.RECORDED)}
  {word("size", "record", Known.SIZE, "i64")}
  {word("most", "record", Known.MOST_KEYS, "i64")}
  {word("first", "record", Known.FIRST)}
  {word("dict", "host", Host.DICT)}
  {word("none", "host", Host.NONE)}
  {word("vectorcall", "host", Host.VECTORCALL)}
  {word("incref", "host", Host.INCREF)}
  %room = add i64 %most, 1
  %values = alloca ptr, i64 %room
  {field("operations", "recorded", SIZE, "i64")}
  %as.ever = icmp eq i64 %operations, %size
  %two = icmp eq i64 %nargs, 2
  %plain = icmp eq ptr %kwnames, null
  %called = and i1 %two, %plain
  %may = and i1 %called, %as.ever
  br i1 %may, label %arguments, label %unknown
arguments:
  %fetches = load ptr, ptr %args
  %feeds.at = getelementptr ptr, ptr %args, i64 1
  %feeds = load ptr, ptr %feeds.at
  %no.feeds = icmp eq ptr %feeds, %none
  {field("type", "feeds", TYPE)}
  %is.dict = icmp eq ptr %type, %dict
  %readable = or i1 %no.feeds, %is.dict
  br i1 %readable, label %find, label %unknown
find:
  %run = phi ptr [ %first, %arguments ], [ %following, %next ]
  %end = icmp eq ptr %run, null
  br i1 %end, label %unknown, label %check
check:
  {word("count", "run", Run.KEY_COUNT, "i64")}
  {word("call", "run", Run.CALL)}
  %same.fetches = call i1 @fetched(ptr %host, ptr %run, ptr %fetches)
  br i1 %same.fetches, label %check.feeds, label %next
check.feeds:
  %none.wanted = icmp eq i64 %count, 0
  br i1 %no.feeds, label %without, label %with
without:
  br i1 %none.wanted, label %go, label %next
with:
  %same.keys = call i1 @fed(ptr %host, ptr %run, ptr %feeds, ptr %values, ptr %taken)
  br i1 %same.keys, label %go, label %give.up
give.up:
  %some = load i64, ptr %taken
  call void @drop(ptr %host, ptr %values, i64 %some)
  br label %next
next:
  {word("following", "run", Run.NEXT)}
  br label %find
go:
  call void %incref(ptr %call)
  %after = getelementptr ptr, ptr %values, i64 %count
  store ptr %call, ptr %after
  %made = call ptr %vectorcall(ptr %call, ptr %values, i64 %count, ptr null)
  %held = add i64 %count, 1
  call void @drop(ptr %host, ptr %values, i64 %held)
  ret ptr %made
unknown:
  {word("not.implemented", "host", Host.NOT_IMPLEMENTED)}
  call void %incref(ptr %not.implemented)
  ret ptr %not.implemented
}}
"""

_HELPERS = (DROP, _SAME, _FETCHED, _FED)


def find() -> Code:
    """The function. It is the same for every session, process and machine."""
    digest = hashlib.blake2b("".join((*_HELPERS, _FIND)).encode(), digest_size=12).hexdigest()
    name = f"find{digest}"
    return Code(name, _FIND.replace("@find(", f"@{name}(", 1), _HELPERS)
