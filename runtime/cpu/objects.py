"""LLVM text to object code: by several threads, while the program goes on, or several modules in one call.

llvmlite guards every call into LLVM with one lock, so its own functions compile one module at a time. Modules
with contexts and target machines of their own share nothing, and LLVM compiles them side by side: here its C
functions are called without that lock.

A thread that comes back from LLVM asks for Python's lock, and waits for a turn of the thread that has it. So
short functions, two calls each, leave a core idle for a fifth of the time. For them, a native function parses
and compiles one module after the other, and asks for the lock once at the end.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.support import forks

# LLVM's level of code generation. The next one takes a tenth longer, and its code is 0 to 2 % faster, if at
# all: generators have unrolled loops and moved code out of them already.
_EFFORT = 1


def initialize_all() -> None:
    """Let LLVM write code for every processor that it knows, not only for those of this kind."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


class ObjectWriter:
    """Code generation for one processor. For one thread at a time: every thread has its own.

    `linked`: the objects are for a linker, and may then be loaded anywhere; otherwise for this process.
    `plain`: code that is written in a quarter of the time, and is slower.

    >>> from staticgraph.runtime.cpu.jit import host
    >>> target = host()
    >>> writer = ObjectWriter(target.triple, target.cpu, target.features)
    >>> len(writer.write("define void @nothing() { ret void }")) > 100
    True
    """

    def __init__(
        self, triple: str, cpu: str, features: str, linked: bool = False, plain: bool = False
    ) -> None:
        reloc, model = ("pic", "default") if linked else ("static", "jitdefault")
        if plain and not linked and "windows" not in triple:
            # Short calls, which the linker leads to what is far: LLVM's quick way of choosing instructions
            # knows no others, and such code hardly has anything else.
            reloc, model = "pic", "small"
        self.machine = llvm.Target.from_triple(triple).create_target_machine(
            cpu=cpu,
            features=features,
            opt=0 if plain else _EFFORT,
            reloc=reloc,
            codemodel=model,
            jit=not linked,
        )

    @property
    def address(self) -> int:
        """The address of LLVM's target machine."""
        return ctypes.cast(self.machine._as_parameter_, ctypes.c_void_p).value or 0

    def write(self, text: str) -> bytes:
        """The object code of a module. RuntimeError if the text is not valid."""
        context = SHORT.LLVMPY_ContextCreate()
        try:
            module = self._parsed(text, context)
            try:
                return self._emitted(module)
            finally:
                SHORT.LLVMPY_DisposeModule(module)
        finally:
            SHORT.LLVMPY_ContextDispose(context)

    def _parsed(self, text: str, context: int) -> int:
        wrong = ctypes.c_char_p()
        module = LONG.LLVMPY_ParseAssembly(context, text.encode(), ctypes.byref(wrong))
        return _checked(module, "parsing", wrong)

    def _emitted(self, module: int) -> bytes:
        wrong = ctypes.c_char_p()
        emitted = LONG.LLVMPY_TargetMachineEmitToMemory(self.machine, module, 1, ctypes.byref(wrong))
        return content(_checked(emitted, "code generation", wrong))


def content(buffer: int) -> bytes:
    """The bytes of a buffer of LLVM, which is then gone."""
    start, size = SHORT.LLVMPY_GetBufferStart(buffer), SHORT.LLVMPY_GetBufferSize(buffer)
    data = ctypes.string_at(start, size)
    SHORT.LLVMPY_DisposeMemoryBuffer(buffer)
    return data


def _checked(made: int | None, what: str, wrong: ctypes.c_char_p) -> int:
    if made is None:
        raise RuntimeError(f"LLVM {what} failed: {(wrong.value or b'').decode(errors='replace')}")
    return made


def _declared(library: Any, **functions: tuple[Any, ...]) -> Any:
    """`library` with the result and parameter types of its functions declared."""
    for name, (result, *parameters) in functions.items():
        function = getattr(library, f"LLVMPY_{name}")
        function.restype, function.argtypes = result, parameters
    return library


# llvmlite's own lock, which the end of any object of its classes takes: in any thread, at any time.
# A thread that compiles takes it for its first writer, and a fork waits for that thread.
forks.late(ffi.lib._lock._lock)

_POINTER, _TEXT = ctypes.c_void_p, ctypes.c_char_p
_PATH = ffi.lib._name
# Only long calls let other threads have Python meanwhile: a thread that
# gives it away may wait longer to have it back than a short call takes.
LONG = _declared(
    ctypes.CDLL(_PATH),
    ParseAssembly=(_POINTER, _POINTER, _TEXT, ctypes.POINTER(_TEXT)),
    TargetMachineEmitToMemory=(_POINTER, _POINTER, _POINTER, ctypes.c_int, ctypes.POINTER(_TEXT)),
)
SHORT = _declared(
    ctypes.PyDLL(_PATH),
    ContextCreate=(_POINTER,),
    ContextDispose=(None, _POINTER),
    DisposeModule=(None, _POINTER),
    GetBufferStart=(_POINTER, _POINTER),
    GetBufferSize=(ctypes.c_size_t, _POINTER),
    DisposeMemoryBuffer=(None, _POINTER),
)


# For each text: a context, a module in it, its object code in a buffer. Where a text is not valid, the buffer
# is null. The functions of llvmlite are arguments, so that the code refers to nothing outside.
_WRITE_ALL = """
define void @write_all(i64 %count, ptr %texts, ptr %machines, ptr %buffers, ptr %create, ptr %parse,
                       ptr %emit, ptr %drop, ptr %end) nounwind {
entry:
  %wrong = alloca ptr
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %j, %done ]
  %text_at = getelementptr ptr, ptr %texts, i64 %i
  %text = load ptr, ptr %text_at
  %machine_at = getelementptr ptr, ptr %machines, i64 %i
  %machine = load ptr, ptr %machine_at
  %context = call ptr %create()
  %module = call ptr %parse(ptr %context, ptr %text, ptr %wrong)
  %is_valid = icmp ne ptr %module, null
  br i1 %is_valid, label %valid, label %done
valid:
  %made = call ptr %emit(ptr %machine, ptr %module, i32 1, ptr %wrong)
  call void %drop(ptr %module)
  br label %done
done:
  %buffer = phi ptr [ null, %next ], [ %made, %valid ]
  %buffer_at = getelementptr ptr, ptr %buffers, i64 %i
  store ptr %buffer, ptr %buffer_at
  call void %end(ptr %context)
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %count
  br i1 %more, label %next, label %all
all:
  ret void
}
"""


class BatchWriter:
    """Code generation of several modules at once. Any thread may use it, each with writers of its own.

    Args:
        writer: For this process; it compiles the native function.
        linker: Loads the native function, under `name`, which is like no other.
    """

    def __init__(self, writer: ObjectWriter, linker: Any, name: str) -> None:
        builder = llvm.JITLibraryBuilder().add_object_img(writer.write(_WRITE_ALL)).export_symbol("write_all")
        self._library = linker, builder.link(linker, name)
        pointers = (ctypes.c_void_p,) * 8
        self._call = ctypes.CFUNCTYPE(None, ctypes.c_int64, *pointers)(self._library[1]["write_all"])
        names = (
            (SHORT, "ContextCreate"),
            (LONG, "ParseAssembly"),
            (LONG, "TargetMachineEmitToMemory"),
            (SHORT, "DisposeModule"),
            (SHORT, "ContextDispose"),
        )
        self._functions = [
            ctypes.cast(getattr(library, f"LLVMPY_{name}"), ctypes.c_void_p) for library, name in names
        ]

    def write(self, texts: Sequence[str], writers: Sequence[ObjectWriter]) -> list[bytes | None]:
        """The object code of modules, each by the writer at its place; None if a text is not valid."""
        count = len(texts)
        encoded = (ctypes.c_char_p * count)(*(text.encode() for text in texts))
        machines = (ctypes.c_void_p * count)(*(writer.address for writer in writers))
        buffers = (ctypes.c_void_p * count)()
        self._call(count, encoded, machines, buffers, *self._functions)
        return [None if buffer is None else content(buffer) for buffer in buffers]


LARGE = 1 << 15  # characters of a text that takes as long as a batch of usual ones, and is taken by itself
BATCH = 4  # functions that a thread takes at once, at most: the fewer, the more evenly the last are shared
THREADS = max(1, min(4, os.cpu_count() or 1) - 1)  # the caller is busy with the next text meanwhile
TURN = 0.0005  # seconds
_LONG = 10_000  # characters of a text that LLVM takes milliseconds for: no other waits behind it


class _Job:
    """A function that is to be compiled."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.done = threading.Event()
        self.is_long = len(code.text) > _LONG


class CompileThreads:
    """Calls `work(codes)` in threads of its own. What it raises is dropped: a caller does the work again."""

    def __init__(self, work: Callable[[Sequence[Code]], object]) -> None:
        self._work = work
        self._turn = 0.0  # how long turns are otherwise, while they are shorter
        self._forget()
        _ALL.add(self)

    def _forget(self) -> None:
        """Act like new, as in a forked process, which has no threads."""
        self._pending: dict[str, _Job] = {}
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._working: list[threading.Lock] = []  # one per thread, held while it works
        self._end_short_turns()

    def __contains__(self, code: Code) -> bool:
        """Return True if the compile of a function has begun and is not done."""
        return code.name in self._pending

    @property
    def crowded(self) -> bool:
        """True if so many functions wait that a thread takes several at once."""
        return self._jobs.qsize() > BATCH * THREADS

    def begin(self, code: Code) -> bool:
        """Start to compile a function. Return True if so many short ones wait that threads take several."""
        if code not in self:
            if not self._pending and (turn := sys.getswitchinterval()) > TURN:
                self._turn = turn
                sys.setswitchinterval(TURN)
            job = self._pending[code.name] = _Job(code)
            self._jobs.put(job)
            with _STARTS:
                if len(self._working) < min(THREADS, len(self._pending)):
                    self._start_thread()
            return self.crowded and not job.is_long
        return False

    def finish(self, codes: Iterable[Code]) -> None:
        """Wait until what was begun of `codes` is done."""
        waiting = [job for code in codes if (job := self._pending.get(code.name)) is not None]
        if waiting:
            self._put_largest_first()
            with contextlib.suppress(queue.Empty):
                while True:
                    self._do(self._with_more(self._jobs.get_nowait()))
        for job in waiting:
            job.done.wait()

    def _put_largest_first(self) -> None:
        """Sort what waits: a large function that is begun last has all other threads wait for one."""
        jobs: list[_Job] = []
        with contextlib.suppress(queue.Empty):
            while True:
                jobs.append(self._jobs.get_nowait())
        for job in sorted(jobs, key=lambda job: len(job.code.text), reverse=True):
            self._jobs.put(job)

    def _start_thread(self) -> None:
        working = threading.Lock()
        self._working.append(working)
        arguments = (self._jobs, working)
        threading.Thread(target=self._run, args=arguments, name="staticgraph compiler", daemon=True).start()

    def _run(self, jobs: queue.SimpleQueue[_Job], working: threading.Lock) -> None:
        while True:
            job = jobs.get()
            with working:
                self._do(self._with_more(job))

    def _with_more(self, job: _Job) -> list[_Job]:
        """A job, and some of those that wait if there are enough for all threads; none behind a long one."""
        found = [job]
        if len(job.code.text) >= LARGE:
            return found
        with contextlib.suppress(queue.Empty):
            while len(found) < BATCH and not found[-1].is_long and self.crowded:
                found.append(self._jobs.get_nowait())
        return found

    def _do(self, jobs: Sequence[_Job]) -> None:
        try:
            self._work([job.code for job in jobs])
        except Exception as error:
            from staticgraph.compiler.support.signals import from_handler  # only where something failed

            if from_handler(error):
                raise
        finally:
            for job in jobs:
                self._pending.pop(job.code.name, None)
            if not self._pending:
                self._end_short_turns()
            for job in jobs:
                job.done.set()

    def _end_short_turns(self) -> None:
        """Turns are as long as they were."""
        turn, self._turn = self._turn, 0.0
        if turn:
            sys.setswitchinterval(turn)


_ALL: weakref.WeakSet[CompileThreads] = weakref.WeakSet()
_STARTS = threading.RLock()  # of threads; held by a fork, and taken after the patient locks
_paused: list[threading.Lock] = []  # by the fork in progress


def _pause() -> None:
    _STARTS.acquire()
    for ahead in _ALL:
        for working in ahead._working:
            working.acquire()
            _paused.append(working)


def _resume() -> None:
    while _paused:
        _paused.pop().release()
    _STARTS.release()


def _forget() -> None:
    _paused.clear()
    _STARTS._at_fork_reinit()  # type: ignore[attr-defined]
    for ahead in _ALL:
        ahead._forget()


forks.pausing(_pause, _resume)
forks.in_child(_forget)
