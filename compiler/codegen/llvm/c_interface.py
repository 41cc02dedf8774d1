"""Functions that a C program calls around steps: they fill the table of a step, call it, and keep its state.

Such a function is `i32 (ptr self, ptr p0, ptr p1, ...)`. Behind `self` is the state, a struct of C that
begins with a number which says that it was initialised, and ends with a workspace; `p0, p1, ...` are what the
step reads and what it writes for the caller. A linker sees these functions, those that prepare a state and a
thread pool, and nothing else of the module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from staticgraph.compiler.codegen.llvm.text import Code, Emitter, module
from staticgraph.compiler.codegen.native import layouts
from staticgraph.compiler.codegen.native.layouts import WatchState
from staticgraph.compiler.codegen.native.pool import PoolCode
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.kernel.stmt import ALIGNMENT
from staticgraph.compiler.support.dataclass import dataclass

# What a function returns if it does nothing.
NO_POINTER, NOT_READY, WRONG_WEIGHTS, NO_NUMBER, OUT_OF_RANGE = 1, 2, 3, 4, 5
STATE, WORKSPACE, WEIGHTS, POOL, NOTHING = "%self", "%workspace", "%weights", "%pool", "null"
QUIET_WATCH = "@quiet_watch"  # tells no step to stop
_SERIAL_POOL = "@serial_pool"  # has no threads


@dataclass(frozen=True, slots=True)
class Place:
    """Memory: so many bytes after a base, one of the above, a parameter `%p0`, or a symbol `@data`."""

    base: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class StateCopy:
    """`size` bytes from one place to another."""

    target: Place
    source: Place
    size: AnySize


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A function of the interface: what is in each slot of the table, and what is done after the step.

    `needed` are the parameters that must not be null. `advances` are counters of 64 bits, and what is added.
    `checked`: the step may refuse what it is given, and the function returns OUT_OF_RANGE then.
    """

    name: str
    parameters: int
    needed: tuple[int, ...]
    step: Code
    slots: tuple[Place, ...]
    copies: tuple[StateCopy, ...]
    advances: tuple[tuple[Place, AnySize], ...]
    checked: bool = False


@dataclass(frozen=True, slots=True)
class CState:
    """Layout of a state.

    The first word is `ready` once the state is initialised. `weights` is the offset of the address of memory
    that no function changes. `pool` is the offset of the address of a thread pool, which may be null; None if
    there can be no pool. The `workspace` has a few bytes more than it needs, so that it can be aligned.
    """

    ready: int
    weights: int
    pool: int | None
    workspace: int
    initial: StateCopy  # from what follows the weights


@dataclass(frozen=True, slots=True)
class SharedPool:
    """A thread pool in memory of the caller's: at most so many helpers, each with scratch memory in it."""

    helpers: int
    private: int  # bytes

    @property
    def size(self) -> int:
        """Bytes; the scratch memory is aligned."""
        return layouts.POOL_BYTES + ALIGNMENT - 1 + self.helpers * self.private


def entry(function: EntryPoint, state: CState) -> Code:
    """The definition of a function of the interface."""
    writer = Emitter()
    refuse_null(writer, ["%self", *(f"%p{n}" for n in function.needed)])
    enter_state(writer, state, Place(STATE, state.workspace), NOT_READY)
    call_step(writer, function)
    parameters = ", ".join(["ptr %self", *(f"ptr %p{n}" for n in range(function.parameters))])
    return definition(writer, function.name, parameters)


def enter_state(writer: Emitter, state: CState, workspace: Place, not_ready: int) -> None:
    """Find the weights, the pool and the workspace of `%self`, or return `not_ready`."""
    ready = writer.value("load i64, ptr %self, align 8")
    return_if(writer, writer.value(f"icmp ne i64 {ready}, {state.ready}"), not_ready)
    writer.line(f"%weights = load ptr, ptr {address(writer, Place(STATE, state.weights))}, align 8")
    if state.pool is None:
        writer.line(f"%pool = getelementptr i8, ptr {_SERIAL_POOL}, i64 0")
    else:
        chosen = writer.value(f"load ptr, ptr {address(writer, Place(STATE, state.pool))}, align 8")
        alone = writer.value(f"icmp eq ptr {chosen}, null")
        writer.line(f"%pool = select i1 {alone}, ptr {_SERIAL_POOL}, ptr {chosen}")
    writer.line(f"%workspace = inttoptr i64 {aligned(writer, workspace)} to ptr")


def call_step(writer: Emitter, function: EntryPoint, number: Callable[[AnySize], str] = str) -> None:
    """Fill the table, call the step, and keep what it leaves. `number` gives a size as an operand."""
    for slot, place in enumerate(function.slots):
        target = address(writer, Place(WORKSPACE, 8 * slot))
        writer.line(f"store ptr {address(writer, place)}, ptr {target}, align 8")
    status = writer.value(f"call i32 @{function.step.name}(ptr %workspace)")
    if function.checked:
        return_if(writer, writer.value(f"icmp ne i32 {status}, 0"), OUT_OF_RANGE)
    for copy in function.copies:
        _copy(writer, copy, number)
    for place, steps in function.advances:
        counter = address(writer, place)
        old = writer.value(f"load i64, ptr {counter}, align 8")
        new = writer.value(f"add i64 {old}, {number(steps)}")
        writer.line(f"store i64 {new}, ptr {counter}, align 8")


def init(name: str, state: CState, weights: str) -> Code:
    """`i32 (ptr self)`: makes memory a state. The weights are the data `weights` of the module."""
    writer = Emitter()
    refuse_null(writer, ["%self"])
    writer.line(f"%weights = getelementptr i8, ptr {weights}, i64 0")
    _begin(writer, state)
    return definition(writer, name, "ptr %self")


def init_from(name: str, state: CState, mark: bytes, size: int) -> Code:
    """`i32 (ptr self, ptr file, i64 size)`: makes memory a state whose weights are in a file in memory.

    The file must be of that size, and begin with `mark`.
    """
    writer = Emitter()
    refuse_null(writer, ["%self", "%file"])
    return_if(writer, writer.value(f"icmp ne i64 %size, {size}"), WRONG_WEIGHTS)
    for start in range(0, len(mark), 8):
        word = writer.value(f"load i64, ptr {address(writer, Place('%file', start))}, align 1")
        wanted = int.from_bytes(mark[start : start + 8], "little")
        return_if(writer, writer.value(f"icmp ne i64 {word}, {wanted}"), WRONG_WEIGHTS)
    writer.line(f"%weights = getelementptr i8, ptr %file, i64 {len(mark)}")
    _begin(writer, state)
    return definition(writer, name, "ptr %self, ptr %file, i64 %size")


def pool_functions(name: str, pool: SharedPool, code: PoolCode) -> list[Code]:
    """Return the functions with which a C program manages a thread pool; the threads are its own.

    `i32 open(ptr pool, i32 helpers)` makes memory a pool. `i32 help(ptr pool, i32 number)` returns when the
    pool is closed; `i32 close(ptr pool)` closes it.
    """
    opening, helping, closing = Emitter(), Emitter(), Emitter()
    for writer in (opening, helping, closing):
        refuse_null(writer, [POOL])
    return_if(opening, opening.value(f"icmp ugt i32 %helpers, {pool.helpers}"), NO_NUMBER)
    opening.clear(POOL, layouts.POOL_BYTES)
    opening.line(f"store ptr @{code.run.name}, ptr {_word(opening, layouts.RUN)}, align 8")
    scratch = aligned(opening, Place(POOL, layouts.POOL_BYTES))
    for number in range(pool.helpers):
        address = opening.value(f"add i64 {scratch}, {number * pool.private}")
        opening.line(f"store i64 {address}, ptr {_word(opening, layouts.PRIVATE + number)}, align 8")
    helpers = opening.value("zext i32 %helpers to i64")
    opening.line(f"store i64 {helpers}, ptr {_word(opening, layouts.LIMIT)}, align 8")
    opening.line(f"call void @{code.start.name}(ptr %pool)")
    return_if(helping, helping.value(f"icmp uge i32 %number, {pool.helpers}"), NO_NUMBER)
    wide = helping.value("zext i32 %number to i64")
    helping.line(f"call void @{code.worker.name}(ptr %pool, i64 {wide})")
    closing.line(f"store atomic i64 0, ptr {_word(closing, layouts.LIMIT)} monotonic, align 8")
    closing.line(f"call void @{code.wake.name}(ptr %pool)")
    return [
        definition(opening, f"{name}_pool_open", "ptr %pool, i32 %helpers"),
        definition(helping, f"{name}_pool_help", "ptr %pool, i32 %number"),
        definition(closing, f"{name}_pool_close", "ptr %pool"),
    ]


def data(symbol: str, content: bytes) -> str:
    """Bytes that never change, at an aligned address."""
    text = re.sub("..", r"\\\g<0>", content.hex())
    return f'{symbol} = internal constant [{len(content)} x i8] c"{text}", align {ALIGNMENT}\n'


def surroundings(serial: Code) -> str:
    """Define the symbols that steps need in a process without Python and without other threads."""
    words = {_SERIAL_POOL: [f"@{serial.name}"], QUIET_WATCH: ["null"] * len(WatchState)}
    tables = [
        f"{symbol} = internal constant [{len(all)} x ptr] [{', '.join(f'ptr {each}' for each in all)}]\n"
        for symbol, all in words.items()
    ]
    return "".join(tables)


def linked_module(
    inside: Sequence[Code], exported: Sequence[Code], definitions: Iterable[str], target: CpuTarget
) -> str:
    """The text of a module, of whose functions a linker sees those in `exported` only."""
    visible = {code.name for code in exported}

    def head(found: re.Match[str]) -> str:
        return found[0] if found[2] in visible else f"define internal {found[1]} @{found[2]}("

    text = module([*inside, *exported], target)
    return "\n".join([re.sub(r"^define (\w+) @(\w+)\(", head, text, flags=re.MULTILINE), *definitions])


def _begin(writer: Emitter, state: CState) -> None:
    """Fill a new state, whose weights are known."""
    writer.line(f"store ptr %weights, ptr {address(writer, Place(STATE, state.weights))}, align 8")
    if state.pool is not None:
        writer.line(f"store ptr null, ptr {address(writer, Place(STATE, state.pool))}, align 8")
    _copy(writer, state.initial)
    writer.line(f"store i64 {state.ready}, ptr %self, align 8")


def refuse_null(writer: Emitter, pointers: Iterable[str]) -> None:
    """Return NO_POINTER if one of these is null."""
    for pointer in pointers:
        return_if(writer, writer.value(f"icmp eq ptr {pointer}, null"), NO_POINTER)


def return_if(writer: Emitter, condition: str, status: int) -> None:
    """Return a status if a condition holds."""
    refused, following = writer.label(), writer.label()
    writer.branch_if(condition, refused, following, unlikely=True)
    writer.start(refused)
    writer.line(f"ret i32 {status}")
    writer.start(following)


def address(writer: Emitter, place: Place) -> str:
    """The address of a place."""
    if not place.offset:
        return place.base
    return writer.value(f"getelementptr i8, ptr {place.base}, i64 {place.offset}")


def aligned(writer: Emitter, place: Place) -> str:
    """The first aligned address from there on, as a number."""
    number = writer.value(f"ptrtoint ptr {address(writer, place)} to i64")
    beyond = writer.value(f"add i64 {number}, {ALIGNMENT - 1}")
    return writer.value(f"and i64 {beyond}, {-ALIGNMENT}")


def _word(writer: Emitter, number: int) -> str:
    """The address of a word of a pool."""
    return address(writer, Place(POOL, 8 * number))


def _copy(writer: Emitter, copy: StateCopy, number: Callable[[AnySize], str] = str) -> None:
    size = number(copy.size)
    if size != "0":
        writer.copy(address(writer, copy.target), address(writer, copy.source), size)


def definition(writer: Emitter, name: str, parameters: str) -> Code:
    """The function whose body is written, and which then returns 0."""
    body = "\n".join(writer.lines)
    text = f"define i32 @{name}({parameters}) nounwind {{\nentry:\n{body}\n  ret i32 0\n}}\n"
    return Code(name, text, tuple(writer.needs))
