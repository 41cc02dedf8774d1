"""The calling convention of compiled code, which code generators and the runtime share.

A kernel is `void (ptr buffer0, ptr buffer1, ..., ptr scratch)`. A step is `void
(ptr table)`: the table holds the addresses of the memory blocks that kernels
work in (slots such as feeds, variables, arena), and those of host functions.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BufferRef:
    """The bytes from `offset` in the block whose address is in `slot` of the table."""

    slot: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """Call the kernel `symbol`. `args` are its buffers and
    its scratch memory, in the order of its parameters.
    """

    symbol: str
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
