"""Reading what is fed, in LLVM: arrays and single numbers in place where they have the right type and layout,
Python numbers after a conversion.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.native.dispatch_layout import (
    ALIGNED,
    CONTIGUOUS,
    DATA,
    DESCR,
    DIMS,
    FLAGS,
    NDIM,
    VALUE,
    Conversion,
    Feed,
    Host,
    field,
    word,
)

_READ_ARRAY = f"""
; Whether an array fits a feed. Its address then is in the table.
define internal i1 @read_array(ptr %feed, ptr %value) nounwind {{
entry:
  {field("descr", "value", DESCR)}
  {word("wanted", "feed", Feed.DESCR)}
  %same.type = icmp eq ptr %descr, %wanted
  {field("flags", "value", FLAGS, "i32")}
  %set = and i32 %flags, {CONTIGUOUS | ALIGNED}
  %plain = icmp eq i32 %set, {CONTIGUOUS | ALIGNED}
  {field("axes", "value", NDIM, "i32")}
  {word("ndim", "feed", Feed.NDIM, "i64")}
  %rank = sext i32 %axes to i64
  %same.rank = icmp eq i64 %rank, %ndim
  %readable = and i1 %same.type, %plain
  %fits = and i1 %readable, %same.rank
  br i1 %fits, label %start, label %no
start:
  {field("sizes", "value", DIMS)}
  {word("dims", "feed", Feed.DIMS)}
  br label %axis
axis:
  %at = phi i64 [ 0, %start ], [ %next, %same ]
  %done = icmp eq i64 %at, %ndim
  br i1 %done, label %take, label %compare
compare:
  %size.at = getelementptr i64, ptr %sizes, i64 %at
  %size = load i64, ptr %size.at
  %dim.at = getelementptr i64, ptr %dims, i64 %at
  %dim = load i64, ptr %dim.at
  %equal = icmp eq i64 %size, %dim
  br i1 %equal, label %same, label %no
same:
  %next = add i64 %at, 1
  br label %axis
take:
  {field("data", "value", DATA)}
  {word("slot", "feed", Feed.SLOT)}
  store ptr %data, ptr %slot
  ret i1 true
no:
  ret i1 false
}}
"""

_READ_SCALAR = f"""
; Whether a number fits a feed. Its address, or that of the number it was converted to, then is in the table.
define internal i1 @read_scalar(ptr %host, ptr %feed, ptr %value, ptr %type) nounwind {{
entry:
  %overflow = alloca i32
  {word("slot", "feed", Feed.SLOT)}
  {word("place", "feed", Feed.VALUE)}
  {word("scalar", "feed", Feed.SCALAR)}
  {word("float", "host", Host.FLOAT)}
  {word("float64", "host", Host.FLOAT64)}
  {word("int", "host", Host.INT)}
  %is.float = icmp eq ptr %type, %float
  %is.float64 = icmp eq ptr %type, %float64
  %is.real = or i1 %is.float, %is.float64
  %is.int = icmp eq ptr %type, %int
  %is.scalar = icmp eq ptr %type, %scalar
  br i1 %is.scalar, label %inside, label %convert
inside:
  %within = getelementptr i8, ptr %value, i64 {VALUE}
  store ptr %within, ptr %slot
  ret i1 true
convert:
  store ptr %place, ptr %slot
  {word("kind", "feed", Feed.CONVERSION, "i64")}
  switch i64 %kind, label %no [
    i64 {Conversion.FLOAT32}, label %to.float32
    i64 {Conversion.FLOAT64}, label %to.float64
    i64 {Conversion.INT32}, label %integer
    i64 {Conversion.INT64}, label %integer
    i64 {Conversion.BOOL}, label %bool
  ]
to.float32:
  br i1 %is.real, label %to.float32.real, label %integer
to.float32.real:
  {field("narrowed", "value", VALUE, "double")}
  %single = fptrunc double %narrowed to float
  store float %single, ptr %place
  ret i1 true
to.float64:
  br i1 %is.real, label %to.float64.real, label %integer
to.float64.real:
  {field("double", "value", VALUE, "double")}
  store double %double, ptr %place
  ret i1 true
integer:
  br i1 %is.int, label %integer.value, label %no
integer.value:
  {word("integer_value", "host", Host.INTEGER_VALUE)}
  %number = call i64 %integer_value(ptr %value, ptr %overflow)
  %over = load i32, ptr %overflow
  %whole = icmp eq i32 %over, 0
  br i1 %whole, label %integer.store, label %no
integer.store:
  switch i64 %kind, label %no [
    i64 {Conversion.FLOAT32}, label %integer.float32
    i64 {Conversion.FLOAT64}, label %integer.float64
    i64 {Conversion.INT32}, label %integer.int32
    i64 {Conversion.INT64}, label %integer.int64
  ]
integer.float32:
  %as.float = sitofp i64 %number to float
  store float %as.float, ptr %place
  ret i1 true
integer.float64:
  %as.double = sitofp i64 %number to double
  store double %as.double, ptr %place
  ret i1 true
integer.int32:
  %low = trunc i64 %number to i32
  %again = sext i32 %low to i64
  %held = icmp eq i64 %again, %number
  store i32 %low, ptr %place
  ret i1 %held
integer.int64:
  store i64 %number, ptr %place
  ret i1 true
bool:
  {word("true", "host", Host.TRUE)}
  {word("false", "host", Host.FALSE)}
  %is.true = icmp eq ptr %value, %true
  %is.false = icmp eq ptr %value, %false
  %bit = zext i1 %is.true to i8
  store i8 %bit, ptr %place
  %is.bool = or i1 %is.true, %is.false
  ret i1 %is.bool
no:
  ret i1 false
}}
"""

_IS_EXPECTED = f"""
; Whether what was read has the value that the program is good for.
define internal i1 @is_expected(ptr %feed) nounwind {{
entry:
  {word("expected", "feed", Feed.EXPECTED)}
  {word("count", "feed", Feed.EXPECTED_BYTES, "i64")}
  {word("slot", "feed", Feed.SLOT)}
  %any = icmp eq ptr %expected, null
  br i1 %any, label %yes, label %start
start:
  %data = load ptr, ptr %slot
  br label %byte
byte:
  %at = phi i64 [ 0, %start ], [ %next, %same ]
  %done = icmp eq i64 %at, %count
  br i1 %done, label %yes, label %compare
compare:
  %one.at = getelementptr i8, ptr %data, i64 %at
  %one = load i8, ptr %one.at
  %other.at = getelementptr i8, ptr %expected, i64 %at
  %other = load i8, ptr %other.at
  %equal = icmp eq i8 %one, %other
  br i1 %equal, label %same, label %no
same:
  %next = add i64 %at, 1
  br label %byte
yes:
  ret i1 true
no:
  ret i1 false
}}
"""

FEEDS = (_READ_ARRAY, _READ_SCALAR, _IS_EXPECTED)
