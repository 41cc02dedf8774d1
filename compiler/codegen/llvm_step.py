"""The function of a whole step: it calls the kernels of a program one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.codegen.abi import BufferRef, Copy, HostCall, Instruction, Launch
from staticgraph.compiler.codegen.llvm_text import Code, Emitter


def step(instructions: Sequence[Instruction], shared: BufferRef, private: BufferRef) -> Code:
    """The function `void (ptr table)` that carries out `instructions`. Its kernels must be loaded with it.

    `shared` and `private` are the scratch memory of kernels.

    >>> kernel = KernelCode((Phase(Code("kernel", "")),))
    >>> code = step([Launch(kernel, (BufferRef(0, 64),))], BufferRef(1), BufferRef(2))
    >>> print(code.text.partition("entry:")[2].strip())
    %v1 = load ptr, ptr %table, align 8
      %v2 = getelementptr i8, ptr %v1, i64 64
      %v3 = getelementptr ptr, ptr %table, i64 1
      %v4 = load ptr, ptr %v3, align 8
      %v5 = getelementptr ptr, ptr %table, i64 2
      %v6 = load ptr, ptr %v5, align 8
      call void @kernel(ptr %v2, ptr %v4, ptr %v6, i64 0)
      ret void
    }
    """
    emitter = Emitter()
    blocks: dict[int, str] = {}

    def block(slot: int) -> str:
        if slot not in blocks:
            place = emitter.value(f"getelementptr ptr, ptr %table, i64 {slot}") if slot else "%table"
            blocks[slot] = emitter.value(f"load ptr, ptr {place}, align 8")
        return blocks[slot]

    def pointer(ref: BufferRef) -> str:
        base = block(ref.slot)
        return emitter.value(f"getelementptr i8, ptr {base}, i64 {ref.offset}") if ref.offset else base

    for instruction in instructions:
        match instruction:
            case Launch(kernel, args):
                pointers = [("ptr", pointer(a)) for a in (*args, shared, private)]
                for phase in kernel.phases:
                    if phase.chunks == 1:
                        emitter.call("void", phase.code.name, *pointers, ("i64", "0"))
                        continue
                    with emitter.loop(0, phase.chunks) as values:
                        emitter.call("void", phase.code.name, *pointers, ("i64", values.index))
            case Copy(target, source, size):
                operands = (
                    ("ptr", pointer(target)),
                    ("ptr", pointer(source)),
                    ("i64", str(size)),
                    ("i1", "false"),
                )
                emitter.call("void", "llvm.memcpy.p0.p0.i64", *operands)
            case HostCall(slot, index):
                emitter.line(f"call void {block(slot)}(i32 {index})")
    return emitter.finish(["ptr %table"])
