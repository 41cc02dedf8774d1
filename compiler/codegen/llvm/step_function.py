"""Functions of a step: their code reads addresses from the table of the step, open sizes, and the time.

A step may end before its last instruction. To stop a region, its chunks look at a flag, and do nothing from
then on. Threads claim chunks as ever, so that the thread pool needs to know nothing of it, and the step
returns after the region. From the first phase on that overwrites a variable, the step can only go on to its
end: then only what was skipped before counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from staticgraph.compiler.codegen.abi import BufferRef, CopyCall, KernelCall, Work
from staticgraph.compiler.codegen.llvm.clock import ENTRY_WORDS, Clock, read, record
from staticgraph.compiler.codegen.llvm.text import Emitter
from staticgraph.compiler.graph.sizes import AnySize, AtLeastOne, AtMost, Quotient, Size, bounds, made, same
from staticgraph.compiler.support.dataclass import dataclass

LOOK = 4e6  # ns of work of one thread between looks at the watch
STOPPABLE = 2.5e7  # ns of work of one thread that are done without a look: nobody notices them


class OpenNumbers:
    """Open sizes that code asks for, in order. A slot of its table has the address of their values.

    Who calls the step puts the values there, except for the `computed` ones: the step itself computes these,
    as it begins, from the others, for all of its functions.
    """

    def __init__(
        self, slot: int, sizes: dict[Size, int] | None = None, computed: dict[Size, None] | None = None
    ) -> None:
        self.slot = slot
        self.sizes = {} if sizes is None else sizes
        self.computed = {} if computed is None else computed

    def index(self, size: Size) -> int:
        """The place of a size among the values."""
        return self.sizes.setdefault(size, len(self.sizes))

    def compute(self, size: Size) -> int:
        """The place of a size that the step is to compute as it begins."""
        self.computed[size] = None
        return self.index(size)

    def inside(self, slot: int) -> OpenNumbers:
        """The same for an inner step, whose table has the address in this slot."""
        return OpenNumbers(slot, self.sizes, self.computed)


@dataclass(frozen=True, slots=True)
class Timer:
    """Operands of timing code: a clock, and the watch that holds the address of the table of times."""

    clock: Clock
    watch: BufferRef


class StepFunction(Emitter):
    """The text of a function with the parameter %table, whose addresses it loads once.

    `computes`: it computes sizes of others. Otherwise it is one of many functions of a step, which has done
    so by then: LLVM takes longer for the same arithmetic in each of them than the step takes to run it.
    """

    def __init__(
        self, timer: Timer | None = None, numbers: OpenNumbers | None = None, computes: bool = False
    ) -> None:
        super().__init__()
        self.timer = timer
        self.computes = computes
        self.steps: dict[int, int] | None = None  # see `Rounds`: of a function with the parameter %round
        self.numbers = OpenNumbers(0) if numbers is None else numbers
        self._bases: dict[int, str] = {}
        self._read: dict[Size, str] = {}  # open sizes
        self._times = ""  # the address of the table of times

    def base(self, slot: int) -> str:
        """The address in a slot of the table."""
        if slot not in self._bases:
            place = self.first_value(f"getelementptr ptr, ptr %table, i64 {slot}") if slot else "%table"
            self._bases[slot] = self.first_value(f"load ptr, ptr {place}, align 8")
        return self._bases[slot]

    def number(self, size: AnySize) -> str:
        """A size as an operand: one that is open is read from where the table says."""
        if not isinstance(size, Size):
            return str(size)
        found = self._read.get(size)
        if found is None:
            found = self._computed_here(size) if self.computes else None
            found = self._read[size] = self._loaded(size) if found is None else found
        return found

    def compute(self) -> None:
        """Compute the sizes that functions of the step take for computed, and put them where these look."""
        for size in [*self.numbers.computed]:
            self.line(f"store i64 {self.number(size)}, ptr {self._place(self.numbers.index(size))}, align 8")

    def _loaded(self, size: Size) -> str:
        """A size whose value is in memory."""
        numbers = self.numbers
        index = numbers.index(size) if self.computes or not is_computed(size) else numbers.compute(size)
        return self.first_value(f"load i64, ptr {self._place(index)}, align 8")

    def _place(self, index: int) -> str:
        base = self.base(self.numbers.slot)
        return self.first_value(f"getelementptr i64, ptr {base}, i64 {index}") if index else base

    def _computed_here(self, size: Size) -> str | None:
        with self.at(0):
            return self._computed(size)

    def _computed(self, size: Size) -> str | None:
        """A size that is computed of others here, which takes less than to look for its value in Python as
        the sizes become known; None if it is no such.
        """
        (monomial, factor), *others = size.terms.items()
        if others:
            atoms = [m for m in size.terms if len(m) == 1 and not isinstance(m[0], str)]
            parts = [made({m: f}) for m, f in size.terms.items() if m in atoms]
            rest = made({m: f for m, f in size.terms.items() if m not in atoms})
            if parts:
                total, *terms = map(self.number, [*parts, *([] if same(rest, 0) else [rest])])
                for term in terms:
                    total = self.value(f"add i64 {total}, {term}")
                return total
        elif len(monomial) == 1 and factor != 1 and not isinstance(monomial[0], str):
            return self.value(f"mul i64 {self.number(made({monomial: 1}))}, {factor}")
        elif len(monomial) == 1 and factor == 1:
            match monomial[0]:
                case Quotient(dividend=dividend, divisor=divisor) if bounds(dividend)[0] >= 0:
                    return self.value(f"udiv i64 {self.number(dividend)}, {divisor}")
                case AtLeastOne(size=inner):
                    return self.call("i64", "llvm.smax.i64", ("i64", self.number(inner)), ("i64", "1"))
                case AtMost(size=inner, most=most):
                    return self.call("i64", "llvm.smin.i64", ("i64", self.number(inner)), ("i64", str(most)))
        return None

    def pointer(self, ref: BufferRef) -> str:
        """The address of a buffer."""
        base = self.base(ref.slot)
        if isinstance(ref.offset, Size) or ref.offset:
            return self.value(f"getelementptr i8, ptr {base}, i64 {self.number(ref.offset)}")
        return base

    @contextmanager
    def timed(self, entry: int | None, private: Callable[[], str], chunk: str = "0") -> Iterator[None]:
        """Time the code that is written inside. The time goes to table entry `entry` + `chunk`.

        Nothing is timed if `entry` is None or if the function has no timer.
        """
        if entry is None or self.timer is None:
            yield
            return
        begin = read(self, self.timer.clock)
        yield
        end = read(self, self.timer.clock)
        if not self._times:
            from staticgraph.compiler.codegen.native.layouts import WatchState  # of timed code

            watch = self.base(self.timer.watch.slot)
            with self.at(0):
                place = self.value(f"getelementptr ptr, ptr {watch}, i64 {WatchState.TIMES}")
                self._times = self.value(f"load ptr, ptr {place}, align 8")
        number = chunk if not entry else self.value(f"add i64 {chunk}, {entry}")
        words = self.value(f"mul i64 {number}, {ENTRY_WORDS}")
        record(self, self.value(f"getelementptr i64, ptr {self._times}, i64 {words}"), begin, end, private())

    def work(self, work: Work, private: str) -> None:
        """All chunks of a call, or a copy."""
        if self.timer is None:
            self._work(work, private)
            return
        with self.timed(work.times, lambda: private):
            self._work(work, private)

    def _work(self, work: Work, private: str) -> None:
        match work:
            case KernelCall(phase):
                if isinstance(phase.chunks, Size) and bounds(phase.chunks)[0] < 1 < phase.most:
                    self._chunks_if_any(work, private)
                    return
                operands = self.operands(work, private)
                first = self.first(work)
                if phase.most == 1:
                    self.call("void", phase.code.name, *operands, ("i64", first))
                    return
                with self.loop(first, self.after(work)) as values:
                    self.call("void", phase.code.name, *operands, ("i64", values.index))
            case CopyCall(target, source, size):
                self.copy(self.pointer(target), self.pointer(source), self.number(size))

    def _chunks_if_any(self, call: KernelCall, private: str) -> None:
        """All chunks of a call that may turn out to have none: then its operands are not loaded either."""
        function, taken, given = self.inside()
        operands = function.operands(call, "%private")
        with function.loop(function.first(call), function.after(call)) as values:
            function.call("void", call.phase.code.name, *operands, ("i64", values.index))
        symbol = self.define(function, f"ptr %table, ptr %private{taken}")
        some, done = self.label(), self.label()
        with self.scope(guarded=True):
            self.branch_if(self.value(f"icmp sgt i64 {self.number(call.phase.chunks)}, 0"), some, done)
            self.start(some)
            self.line(f"call void @{symbol}(ptr %table, ptr {private}{given})")
            self.branch(done)
            self.start(done)

    def first(self, call: KernelCall) -> str:
        """The number of the first chunk of a call: in a round, it depends on that."""
        step = self.steps.get(id(call), 0) if self.steps else 0
        if not step:
            return str(call.phase.first)
        return self.value(f"add i64 {self.value(f'mul i64 %round, {step}')}, {call.phase.first}")

    def after(self, call: KernelCall) -> str:
        """The number after that of the last chunk of a call."""
        first = self.first(call)
        if not first.startswith("%"):
            return self.number(call.phase.first + call.phase.chunks)
        return self.value(f"add i64 {first}, {self.number(call.phase.chunks)}")

    def inside(self) -> tuple[StepFunction, str, str]:
        """A function that this one is to call, and what it takes and is given besides if it is of a round."""
        function = StepFunction(self.timer, self.numbers)
        function.steps = self.steps
        return (function, "", "") if self.steps is None else (function, ", i64 %round", ", i64 %round")

    def operands(self, call: KernelCall, private: str) -> list[tuple[str, str]]:
        """Return the arguments of a kernel, except the number of the chunk."""
        buffers = [("ptr", self.pointer(ref)) for ref in call.args]
        sizes = [("i64", self.number(size)) for size in call.sizes]
        return [*buffers, *sizes, ("ptr", self.pointer(call.shared)), ("ptr", private)]

    def define(self, function: StepFunction, parameters: str, result: str = "void") -> str:
        """Make `function`, which returns nothing or `result`, a helper of this one; its symbol."""
        body = "\n".join(function.lines)
        symbol = f"part_{hashlib.blake2b(body.encode(), digest_size=12).hexdigest()}"
        for need in function.needs:
            self.need(need)
        self.calls |= function.calls
        head = f"define internal {result.split()[0]} @{symbol}({parameters}) nounwind"
        self.need(f"{head} {{\nentry:\n{body}\n  ret {result}\n}}")
        return symbol


def is_computed(size: Size) -> bool:
    """Return True if a size is computed of others by code: it is made of what is no polynomial."""
    (monomial, _), *others = size.terms.items()
    if others:
        return any(len(m) == 1 and not isinstance(m[0], str) for m in size.terms)
    if len(monomial) != 1 or isinstance(monomial[0], str):
        return False
    return not isinstance(monomial[0], Quotient) or bounds(monomial[0].dividend)[0] >= 0


def ask(writer: Emitter, watch: str, clock: Clock) -> str:
    """Ask a watch whether to stop: an i32 that is not 0 if so."""
    from staticgraph.compiler.codegen.native.watch import watch as watch_function  # short steps do not ask

    code = watch_function(clock).code()
    for need in (*code.needs, code.text):
        writer.need(need)
    return writer.value(f"call i32 @{code.name}(ptr {watch})")


def return_unless(writer: Emitter, condition: str, status: int | str = 1) -> None:
    """Return `status` from a step that ends early, unless a condition holds."""
    stopped, following = writer.label(), writer.label()
    writer.branch_if(condition, following, stopped)
    writer.start(stopped)
    writer.line(f"ret i32 {status}")
    writer.start(following)


def stop_unless(writer: Emitter, call: str) -> None:
    """Make a call, and return from the step where it does not give 0."""
    return_unless(writer, writer.value(f"icmp eq i32 {writer.value(call)}, 0"))


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
    from staticgraph.compiler.codegen.native.layouts import WatchState  # short steps do not ask

    place = writer.value(f"getelementptr i64, ptr {watch}, i64 {WatchState.SKIPPED}")
    return place, writer.value(f"load atomic i64, ptr {place} monotonic, align 8")
