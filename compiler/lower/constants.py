"""The pool of constants of a program: pieces that are copied once, to where the program runs."""

from __future__ import annotations

import numpy as np

from staticgraph.compiler.kernel.stmt import padded
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Constants:
    r"""`size` bytes, most of them in `pieces`: each with the offset of its first byte. All others are zero.

    >>> pool = ConstantPool()
    >>> [pool.keep(Constants.of(data)) for data in (b"some", b"more")]
    [0, 64]
    >>> bytes(pool.constants())[60:70]
    b'\x00\x00\x00\x00more\x00\x00'
    """

    pieces: tuple[tuple[int, memoryview], ...] = ()
    size: int = 0

    @staticmethod
    def of(data: bytes | memoryview) -> Constants:
        """One piece."""
        piece = memoryview(data)
        return Constants(((0, piece),), len(piece))

    def __len__(self) -> int:
        return self.size

    def __bytes__(self) -> bytes:
        memory = np.empty(self.size, np.uint8)
        self.write(memory)
        return memory.tobytes()

    def write(self, memory: np.ndarray) -> None:
        """Fill `memory`, of `size` bytes."""
        end = 0
        for offset, piece in self.pieces:
            memory[end:offset] = 0
            end = offset + len(piece)
            memory[offset:end] = np.frombuffer(piece, np.uint8)
        memory[end:] = 0


class ConstantPool:
    """Constants that are being collected."""

    def __init__(self) -> None:
        self._pieces: list[tuple[int, memoryview]] = []
        self._size = 0

    def keep(self, constants: Constants) -> int:
        """The offset at which they will be, at an aligned address. They are not copied."""
        start = self._size
        self._pieces += [(start + offset, piece) for offset, piece in constants.pieces]
        self._size += padded(max(len(constants), 1))
        return start

    def constants(self) -> Constants:
        """All that was kept."""
        return Constants(tuple(self._pieces), self._size)
