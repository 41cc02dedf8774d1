"""The calling convention of compiled code, which code generators and the runtime share.

A kernel is one or more functions `void (ptr buffer0, ptr buffer1, ..., ptr shared, ptr private, i64 chunk)`,
its phases. Each is called once per chunk, in any order and at the same time; the next phase begins when all
chunks of the one before are done. How many chunks there are, and what each does, depends on shapes and target
only, never on the number of threads: so results do not either.

A step is `void (ptr table)`: the table holds the addresses of the memory blocks that kernels work in (slots
such as feeds, variables, arena), and those of host functions.
"""

from __future__ import annotations

from dataclasses import dataclass

from staticgraph.compiler.codegen.llvm_text import Code

SCRATCH_PARAMETERS = ("ptr %shared", "ptr %private", "i64 %chunk")  # those of a kernel after its buffers


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a kernel's work: `chunks` calls of a function, independent of each other."""

    code: Code
    chunks: int = 1


@dataclass(frozen=True, slots=True)
class KernelCode:
    """A kernel, ready to be called.

    `shared_bytes` of scratch memory are seen by all calls of one launch; `private_bytes` belong to one call
    while it runs. `cost` estimates the time of all calls on one core, in nanoseconds.
    """

    phases: tuple[Phase, ...]
    shared_bytes: int = 0
    private_bytes: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class BufferRef:
    """The bytes from `offset` in the block whose address is in `slot` of the table."""

    slot: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """Run all phases of a kernel over its buffers, in the order of its parameters."""

    kernel: KernelCode
    args: tuple[BufferRef, ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy `size` bytes; source and target do not overlap."""

    target: BufferRef
    source: BufferRef
    size: int


@dataclass(frozen=True, slots=True)
class HostCall:
    """Call back into the host: the function `void (i32)` whose address is in `slot`, with `index`."""

    slot: int
    index: int


Instruction = Launch | Copy | HostCall
