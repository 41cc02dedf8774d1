"""LLVM text to object code, by several threads at once, or several modules in one call.

llvmlite guards every call into LLVM with one lock, so its own functions compile one module at a time. Modules
with contexts and target machines of their own share nothing, and LLVM compiles them side by side: here its C
functions are called without that lock.

A thread that comes back from LLVM asks for Python's lock, and waits for a turn of the thread that has it. So
short functions, two calls each, leave a core idle for a fifth of the time. For them, a native function parses
and compiles one module after the other, and asks for the lock once at the end.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

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
