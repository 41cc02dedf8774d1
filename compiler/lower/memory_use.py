"""Memory use of a step, known before the step runs for the first time."""

from __future__ import annotations

from collections.abc import Iterable

from staticgraph.compiler.graph.errors import ResourceExhaustedError, layout
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.lower.program import Program
from staticgraph.compiler.support.dataclass import dataclass

ADDRESSABLE = 1 << 47  # bytes: more than that no processor can address
_SHOWN = 8  # values listed


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes that a step holds while it runs. `fullest` are the values in the arena when most of it is in use.

    Printed, it is a table; `peak` is the sum.

    >>> print(MemoryUse(4096, 0, 1536, 0, 0, 4, 0, ()))
    5.5 KB at most
       4.0 KB  arena: values that live only during a run
       1.5 KB  feeds
          4 B  fetches
    """

    arena: int
    constants: int
    feeds: int
    variables: int
    new_values: int  # of variables that cannot be overwritten while they are read
    fetches: int
    scratch: int  # of kernels; with threads, each has some more
    fullest: tuple[Value, ...]

    @property
    def peak(self) -> int:
        """Sum of all parts."""
        parts = (self.arena, self.constants, self.feeds, self.variables, self.new_values, self.fetches)
        return sum(parts) + self.scratch

    @property
    def largest(self) -> tuple[Value, ...]:
        """`fullest`, the largest first."""
        return tuple(sorted(self.fullest, key=lambda v: (-bytes_of(v.type), v.node.serial)))

    def __str__(self) -> str:
        rows = {
            "arena: values that live only during a run": self.arena,
            "constants": self.constants,
            "feeds": self.feeds,
            "variables": self.variables,
            "new values of variables, beside the old ones": self.new_values,
            "fetches": self.fetches,
            "scratch memory of kernels": self.scratch,
        }
        lines = [f"{size_text(self.peak)} at most"]
        lines += [f"{size_text(size):>9}  {what}" for what, size in rows.items() if size]
        if self.fullest:
            lines.append("the largest in the arena when it is fullest:")
            lines += [f"{size_text(bytes_of(v.type)):>9}  {described(v)}" for v in self.largest[:_SHOWN]]
        return "\n".join(lines)


def memory_use(program: Program, feeds: int, scratch: int) -> MemoryUse:
    """Return the memory use of `program`. The first `feeds` of its arguments are fed."""
    fetches, values = program.results[: program.fetches], program.results[program.fetches :]
    return MemoryUse(
        program.arena,
        len(program.constants),
        _total(program.arguments[:feeds]),
        _total(program.arguments[feeds:]),
        _total(values) - _total(program.arguments[a] for a in program.in_place),
        _total(fetches),
        scratch,
        program.fullest,
    )


def does_not_fit(use: MemoryUse, limit: int | None = None) -> ResourceExhaustedError:
    """Return the error for a step that needs more than there is.

    Args:
        use: What the step needs.
        limit: The bytes that the session allows; None if it is the system that has no more.
    """
    has = ", which is more than the system gives" if limit is None else f" and may have {size_text(limit)}"
    cure = "run it on a smaller batch" if limit is None else _SMALLER
    text = layout(
        f"the step needs {size_text(use.peak)} of memory{has}",
        user_frame(),
        [(f"{v.type} of {v.op.name}", v.node.where) for v in use.largest[:3]],
        hint=f"{cure}:\n{use}",
    )
    return ResourceExhaustedError(text)


_SMALLER = "run it on a smaller batch, or raise the memory_limit of the session"


def bytes_of(type: TensorType) -> int:
    """The size of a value of this type."""
    return type.size * type.dtype.size


def _total(types: Iterable[TensorType]) -> int:
    return sum(map(bytes_of, types))


def described(value: Value) -> str:
    """A value as a message names it: `float32[64, 24] of relu, net.py:12`."""
    where = value.node.where
    return f"{value.type} of {value.op.name}" + (f", {where.short}" if where is not None else "")


def size_text(size: int) -> str:
    """A number of bytes to read: `1.5 KB`."""
    amount, unit = float(size), "B"
    for unit in ("B", "KB", "MB", "GB", "TB", "PB", "EB"):
        if amount < 1000 or unit == "EB":
            break
        amount /= 1024
    if unit == "B":
        return f"{size} B"
    return f"{amount:.1f} {unit}" if amount < 1e6 else f"{amount:.1e} {unit}"
