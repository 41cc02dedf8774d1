"""The clock that timed code reads, and where it writes what it has read.

A table of times has an entry for each chunk of each call, so that threads never write to the same one:

    total   ticks, over all calls
    calls   how many
    start, end, thread    of the last call; a thread is the address of its scratch memory
"""

from __future__ import annotations

from staticgraph.compiler.codegen.llvm.text import NAME, Code, Emitter, function
from staticgraph.compiler.support.dataclass import dataclass

TOTAL, CALLS, START, END, THREAD = range(5)
ENTRY_WORDS = 8  # a cache line: what other threads write is in other ones


@dataclass(frozen=True, slots=True)
class Clock:
    """The instruction that reads a counter of constant rate, and what it needs.

    `moment`: ticks of some milliseconds, as far as the rate is known.
    """

    read: str
    needs: str = ""
    moment: int = 4_000_000


def clock_of(triple: str) -> Clock:
    """The fastest clock of a processor.

    >>> clock_of("x86_64-unknown-linux-gnu").read
    'call i64 @llvm.readcyclecounter()'
    """
    match triple.partition("-")[0]:
        case "x86_64":
            read = "@llvm.readcyclecounter()"
            return Clock(f"call i64 {read}", f"declare i64 {read}", 10_000_000)
        case "aarch64" | "arm64":
            read = "@llvm.read_volatile_register.i64"
            call = f'call i64 {read}(metadata !{{!"cntvct_el0"}})'
            return Clock(call, f"declare i64 {read}(metadata)", 500_000)  # of 24 to 1000 million in a second
    return Clock("call i64 @nanoseconds()", _NANOSECONDS)


def clock_code(clock: Clock) -> Code:
    """A function `i64 ()` that reads the clock."""
    text = f"define i64 {NAME}() nounwind {{\nentry:\n  %now = {clock.read}\n  ret i64 %now\n}}\n"
    return function(text, (clock.needs,) if clock.needs else ())


def read(writer: Emitter, clock: Clock) -> str:
    """The time now."""
    if clock.needs:
        writer.need(clock.needs)
    return writer.value(clock.read)


def record(writer: Emitter, entry: str, begin: str, end: str, thread: str) -> None:
    """Add a call to an entry, whose address is given."""
    taken = writer.value(f"sub i64 {end}, {begin}")
    identity = writer.value(f"ptrtoint ptr {thread} to i64")
    for word, more in ((TOTAL, taken), (CALLS, "1")):
        place = _word(writer, entry, word)
        before = writer.value(f"load i64, ptr {place}, align 8")
        writer.line(f"store i64 {writer.value(f'add i64 {before}, {more}')}, ptr {place}, align 8")
    for word, value in ((START, begin), (END, end), (THREAD, identity)):
        writer.line(f"store i64 {value}, ptr {_word(writer, entry, word)}, align 8")


def _word(writer: Emitter, entry: str, word: int) -> str:
    return writer.value(f"getelementptr i64, ptr {entry}, i64 {word}")


_NANOSECONDS = """\
declare i32 @clock_gettime(i32, ptr)
define internal i64 @nanoseconds() nounwind {
entry:
  %time = alloca [2 x i64], align 8
  %failed = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}
"""

PORTABLE = clock_of("")  # of any POSIX system
