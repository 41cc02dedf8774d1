"""Making what a run returns, in LLVM: arrays before it, numbers after it, then the structure of both."""

from __future__ import annotations

from staticgraph.compiler.codegen.native.dispatch_layout import (
    ALIGNED,
    CONTIGUOUS,
    DATA,
    REFERENCES,
    WRITEABLE,
    Binding,
    Block,
    Host,
    Result,
    ResultForm,
    field,
    word,
)

DROP = f"""
; Give up references; some may be null.
define internal void @drop(ptr %host, ptr %values, i64 %count) nounwind {{
entry:
  {word("decref", "host", Host.DECREF)}
  br label %value
value:
  %i = phi i64 [ 0, %entry ], [ %i.next, %release ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %out, label %release
release:
  %value.at = getelementptr ptr, ptr %values, i64 %i
  %object = load ptr, ptr %value.at
  call void %decref(ptr %object)
  %i.next = add i64 %i, 1
  br label %value
out:
  ret void
}}
"""

_FREE_BLOCK = f"""
; A block of the right size that nobody can see any more, or null.
define internal ptr @free_block(ptr %result, ptr %blocks) nounwind {{
entry:
  {word("bytes", "result", Result.BYTES, "i64")}
  br label %look
look:
  %at = phi i64 [ 0, %entry ], [ {len(Block)}, %next ]
  %block = getelementptr i64, ptr %blocks, i64 %at
  {word("object", "block", Block.OWNER)}
  {word("size", "block", Block.BYTES, "i64")}
  %fits = icmp eq i64 %size, %bytes
  br i1 %fits, label %count, label %next
count:
  {field("references", "object", REFERENCES, "i32")}
  %mine = icmp eq i32 %references, 1
  br i1 %mine, label %found, label %next
found:
  ret ptr %block
next:
  %last = icmp ne i64 %at, 0
  br i1 %last, label %none, label %look
none:
  ret ptr null
}}
"""

_PLACE_RESULT = f"""
; A new array for a result, or null: for no axes, where the value has a fixed place, or when memory is out.
define internal ptr @place_result(ptr %host, ptr %result) nounwind {{
entry:
  {word("slot", "result", Result.SLOT)}
  {word("value", "result", Result.VALUE)}
  %is.array = icmp eq ptr %value, null
  br i1 %is.array, label %array, label %scalar
scalar:
  store ptr %value, ptr %slot
  ret ptr null
array:
  {word("incref", "host", Host.INCREF)}
  {word("ndarray", "host", Host.NDARRAY)}
  {word("new_array", "host", Host.NEW_ARRAY)}
  {word("descr", "result", Result.DESCR)}
  {word("rank", "result", Result.NDIM, "i64")}
  {word("dims", "result", Result.DIMS)}
  {word("blocks", "result", Result.BLOCKS)}
  %ndim = trunc i64 %rank to i32
  call void %incref(ptr %descr)
  %small = icmp eq ptr %blocks, null
  br i1 %small, label %fresh, label %recycled
fresh:
  %new = call ptr %new_array(ptr %ndarray, ptr %descr, i32 %ndim, ptr %dims, ptr null, ptr null, i32 0,
                             ptr null)
  br label %made
recycled:
  %block = call ptr @free_block(ptr %result, ptr %blocks)
  {word("memory", "block", Block.DATA)}
  {word("owner", "block", Block.OWNER)}
  %header = call ptr %new_array(ptr %ndarray, ptr %descr, i32 %ndim, ptr %dims, ptr null, ptr %memory,
                                i32 {CONTIGUOUS | ALIGNED | WRITEABLE}, ptr null)
  %no.header = icmp eq ptr %header, null
  br i1 %no.header, label %made, label %own
own:
  {word("set_base", "host", Host.SET_BASE)}
  call void %incref(ptr %owner)
  call i32 %set_base(ptr %header, ptr %owner)
  br label %made
made:
  %made.array = phi ptr [ %new, %fresh ], [ null, %recycled ], [ %header, %own ]
  %failed = icmp eq ptr %made.array, null
  br i1 %failed, label %out, label %fill
fill:
  {field("data", "made.array", DATA)}
  store ptr %data, ptr %slot
  br label %out
out:
  ret ptr %made.array
}}
"""

_PLACE_RESULTS = f"""
; Whether all results have a place. `values` then has the arrays.
define internal i1 @place_results(ptr %host, ptr %binding, ptr %values, i64 %count) nounwind {{
entry:
  {word("results", "binding", Binding.RESULTS)}
  br label %result
result:
  %i = phi i64 [ 0, %entry ], [ %i.next, %placed ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %yes, label %place
place:
  %offset = mul i64 %i, {len(Result)}
  %record = getelementptr i64, ptr %results, i64 %offset
  %array = call ptr @place_result(ptr %host, ptr %record)
  %array.at = getelementptr ptr, ptr %values, i64 %i
  store ptr %array, ptr %array.at
  {word("value", "record", Result.VALUE)}
  %no.array = icmp eq ptr %array, null
  %no.value = icmp eq ptr %value, null
  %failed = and i1 %no.array, %no.value
  br i1 %failed, label %no, label %placed
placed:
  %i.next = add i64 %i, 1
  br label %result
yes:
  ret i1 true
no:
  call void @drop(ptr %host, ptr %values, i64 %i)
  ret i1 false
}}
"""

_MAKE_SCALARS = f"""
; Whether `values` now has the results without axes too.
define internal i1 @make_scalars(ptr %host, ptr %binding, ptr %values, i64 %count) nounwind {{
entry:
  {word("new_scalar", "host", Host.NEW_SCALAR)}
  {word("results", "binding", Binding.RESULTS)}
  br label %result
result:
  %i = phi i64 [ 0, %entry ], [ %i.next, %made ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %yes, label %look
look:
  %offset = mul i64 %i, {len(Result)}
  %record = getelementptr i64, ptr %results, i64 %offset
  {word("value", "record", Result.VALUE)}
  %is.array = icmp eq ptr %value, null
  br i1 %is.array, label %made, label %make
make:
  {word("descr", "record", Result.DESCR)}
  %scalar = call ptr %new_scalar(ptr %value, ptr %descr, ptr null)
  %scalar.at = getelementptr ptr, ptr %values, i64 %i
  store ptr %scalar, ptr %scalar.at
  %failed = icmp eq ptr %scalar, null
  br i1 %failed, label %no, label %made
made:
  %i.next = add i64 %i, 1
  br label %result
yes:
  ret i1 true
no:
  call void @drop(ptr %host, ptr %values, i64 %count)
  ret i1 false
}}
"""

_GATHER = f"""
; New references to the outputs, in their order.
define internal void @gather(ptr %host, ptr %binding, ptr %values, ptr %outputs, i64 %count) nounwind {{
entry:
  {word("none", "host", Host.NONE)}
  {word("incref", "host", Host.INCREF)}
  {word("numbers", "binding", Binding.OUTPUTS)}
  br label %output
output:
  %i = phi i64 [ 0, %entry ], [ %i.next, %put ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %out, label %put
put:
  %number.at = getelementptr i64, ptr %numbers, i64 %i
  %number = load i64, ptr %number.at
  %nothing = icmp slt i64 %number, 0
  %value.at = getelementptr ptr, ptr %values, i64 %number
  %from = select i1 %nothing, ptr %none.at, ptr %value.at
  %object = load ptr, ptr %from
  call void %incref(ptr %object)
  %output.at = getelementptr ptr, ptr %outputs, i64 %i
  store ptr %object, ptr %output.at
  %i.next = add i64 %i, 1
  br label %output
out:
  ret void
}}
"""

_COLLECT = f"""
; A list or tuple that takes over the references in `outputs`, or null.
define internal ptr @collect(ptr %host, ptr %outputs, i64 %count, i1 %tuple) nounwind {{
entry:
  {word("new_list", "host", Host.NEW_LIST)}
  {word("set_list", "host", Host.SET_LIST)}
  {word("new_tuple", "host", Host.NEW_TUPLE)}
  {word("set_tuple", "host", Host.SET_TUPLE)}
  %new = select i1 %tuple, ptr %new_tuple, ptr %new_list
  %set = select i1 %tuple, ptr %set_tuple, ptr %set_list
  %made = call ptr %new(i64 %count)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %give.up, label %item
give.up:
  call void @drop(ptr %host, ptr %outputs, i64 %count)
  ret ptr null
item:
  %i = phi i64 [ 0, %entry ], [ %i.next, %put ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %out, label %put
put:
  %output.at = getelementptr ptr, ptr %outputs, i64 %i
  %object = load ptr, ptr %output.at
  call i32 %set(ptr %made, i64 %i, ptr %object)
  %i.next = add i64 %i, 1
  br label %item
out:
  ret ptr %made
}}
"""

_ARRANGE = f"""
; What the caller gets, or null. To make a list may run Python code, which may drop the binding: from then on
; nothing of it is read.
define internal ptr @arrange(ptr %host, ptr %binding, ptr %values) nounwind {{
entry:
  %pair = alloca ptr, i64 2
  %assemble.at.hand = getelementptr ptr, ptr %pair, i64 1
  {word("form", "binding", Binding.FORM, "i64")}
  {word("assemble", "binding", Binding.ASSEMBLE)}
  {word("count", "binding", Binding.OUTPUT_COUNT, "i64")}
  %outputs = alloca ptr, i64 %count
  call void @gather(ptr %host, ptr %binding, ptr %values, ptr %outputs, i64 %count)
  switch i64 %form, label %list [
    i64 {ResultForm.SINGLE}, label %single
    i64 {ResultForm.TUPLE}, label %tuple
    i64 {ResultForm.OTHER}, label %other
  ]
single:
  %only = load ptr, ptr %outputs
  ret ptr %only
list:
  %made.list = call ptr @collect(ptr %host, ptr %outputs, i64 %count, i1 false)
  ret ptr %made.list
tuple:
  %made.tuple = call ptr @collect(ptr %host, ptr %outputs, i64 %count, i1 true)
  ret ptr %made.tuple
other:
  {word("incref", "host", Host.INCREF)}
  {word("vectorcall", "host", Host.VECTORCALL)}
  call void %incref(ptr %assemble)
  %argument = call ptr @collect(ptr %host, ptr %outputs, i64 %count, i1 false)
  store ptr %argument, ptr %pair
  store ptr %assemble, ptr %assemble.at.hand
  %failed = icmp eq ptr %argument, null
  br i1 %failed, label %out, label %build
build:
  %built = call ptr %vectorcall(ptr %assemble, ptr %pair, i64 1, ptr null)
  br label %out
out:
  %object = phi ptr [ null, %other ], [ %built, %build ]
  call void @drop(ptr %host, ptr %pair, i64 2)
  ret ptr %object
}}
"""

RESULTS = (
    DROP, _FREE_BLOCK, _PLACE_RESULT, _PLACE_RESULTS, _MAKE_SCALARS, _GATHER, _COLLECT, _ARRANGE,
)  # fmt: skip
