"""LLVM text to object code, several modules in one call.

A thread that comes back from LLVM asks for Python's lock, and waits for a turn of the thread that has it. So
short functions, two calls each, leave a core idle for a fifth of the time. Here a native function parses and
compiles one module after the other, and asks for the lock once at the end.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm

from staticgraph.runtime.cpu.llvm.objects import LONG, SHORT, ObjectWriter, content

# For each text: a context, a module in it, its object code in a buffer. Where a text is not valid, the buffer
# is null. The functions of llvmlite are arguments, so that the code refers to nothing outside.
_TEXT = """
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
        builder = llvm.JITLibraryBuilder().add_object_img(writer.write(_TEXT)).export_symbol("write_all")
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
