"""Functions of native code, written line by line as they would be in C.

    @function(VOID, HOST, pointer(OBJECT), INT64)
    def drop(w, host, values, count):
        with w.each(values, count) as value:
            host.decref(value)

The body runs once, to write the text of the function. Blocks and phis follow from `if_`, `else_`, `loop`,
`while_`, `range` and `each`. No pass of LLVM runs on the text, so variables that change are not in memory but
in `locals`, which knows the value of each in the block that is being written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from staticgraph.compiler.codegen.llvm.text import NAME, Code, Emitter
from staticgraph.compiler.codegen.llvm.text import function as with_symbol
from staticgraph.compiler.codegen.native.c_types import BOOL, INT64, VOID, TypeKind, pointer
from staticgraph.compiler.codegen.native.values import Operand, Register, operand
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.support.dataclass import dataclass

Body = Callable[..., None]


class Locals:
    """Variables that change: `at.run = at.run.next`."""

    def __init__(self, writer: Writer, initial: dict[str, Register]) -> None:
        self.__dict__["_writer"] = writer
        for name, value in initial.items():
            writer.present[self, name] = value

    def __getattr__(self, name: str) -> Register:
        return self._writer.present[self, name]

    def __setattr__(self, name: str, value: Operand) -> None:
        kind = self._writer.present[self, name]._kind
        self._writer.present[self, name] = Register(self._writer, kind, operand(kind, value))


Present = dict[tuple[Locals, str], Register]


@dataclass(slots=True)
class _Branch:
    """The state at the end of the body of an `if_`, for an `else_` to go back to."""

    length: int  # of the text
    block: str
    reachable: bool
    present: Present
    otherwise: _Label
    end: int = 0  # of the text after the `if_`


class Writer:
    """The text of a function that is being written, for a processor or for any."""

    def __init__(self, result: TypeKind, target: CpuTarget | None) -> None:
        self.target = target
        self.present: Present = {}
        self._result = result
        self._emitter = Emitter()
        self._stack: list[str] = []
        self._reachable = True
        self._loops: list[tuple[_Label, _Label]] = []  # the next iteration, and the code after the loop
        self._last: _Branch | None = None

    # Values.

    def line(self, text: str) -> None:
        """Append an instruction without a result, unless a return is before it."""
        if self._reachable:
            self._emitter.line(text)

    def value(self, kind: TypeKind, text: str) -> Register:
        """Append an instruction with a result."""
        name = self._emitter.reserve()
        self.line(f"{name} = {text}")
        return Register(self, kind, name)

    def constant(self, kind: TypeKind, value: Operand) -> Register:
        """Return a constant of a type."""
        return Register(self, kind, operand(kind, value))

    def locals(self, **initial: Register) -> Locals:
        """Variables that change, with their first values."""
        return Locals(self, initial)

    def stack(self, kind: TypeKind, count: Operand = 1) -> Register:
        """Memory for `count` elements until the function returns."""
        if isinstance(count, Register):
            return self.value(pointer(kind), f"alloca {kind.llvm}, i64 {operand(INT64, count)}, align 8")
        name = self._emitter.reserve()
        self._stack.append(f"  {name} = alloca [{count} x {kind.llvm}], align 8")
        return Register(self, pointer(kind), name)

    def select(self, condition: Register, one: Register, other: Operand) -> Register:
        """`condition ? one : other`, after both were computed."""
        kind = one._kind
        text = f"{kind.llvm} {one._text}, {kind.llvm} {operand(kind, other)}"
        return self.value(kind, f"select i1 {operand(BOOL, condition)}, {text}")

    def call(
        self, result: TypeKind, parameters: Sequence[TypeKind], function: str, arguments: Sequence[Operand]
    ) -> Register:
        """Call a function by its address or symbol."""
        pairs = zip(parameters, arguments, strict=True)
        told = ", ".join([f"{kind.llvm} {operand(kind, value)}" for kind, value in pairs])
        if result != VOID:
            return self.value(result, f"call {result.llvm} {function}({told})")
        self.line(f"call void {function}({told})")
        return Register(self, VOID, "")

    def copy(self, target: Register, source: Register, size: int) -> None:
        """Copy `size` bytes between addresses that do not overlap."""
        self._emitter.copy(target._text, source._text, size)

    def need(self, *texts: str) -> None:
        """The module must hold these declarations and definitions."""
        for text in texts:
            self._emitter.need(text)

    # Control flow.

    def return_(self, value: Operand | None = None) -> None:
        """Return from the function."""
        result = self._result
        self.line("ret void" if value is None else f"ret {result.llvm} {operand(result, value)}")
        self._reachable = False

    @contextmanager
    def if_(self, condition: Register) -> Iterator[None]:
        """Run the body if `condition` is true."""
        inside, after = _Label(self), _Label(self)
        self._fork(condition, inside, after)
        self._begin(inside)
        yield
        lines = self._emitter.lines
        branch = _Branch(len(lines), self._emitter.block, self._reachable, self.present, after)
        self._jump(after)
        self._begin(after)
        branch.end = len(lines)
        self._last = branch

    @contextmanager
    def else_(self) -> Iterator[None]:
        """Run the body if the condition of the `if_` just before is false."""
        branch, lines = self._last, self._emitter.lines
        if branch is None or branch.end != len(lines):
            raise ValueError("else_ must follow if_")
        del lines[branch.length :]
        self._emitter.scopes[-1].block = branch.block
        self._reachable, self.present = branch.reachable, branch.present
        done = _Label(self)
        self._jump(done)
        del branch.otherwise.edges[1:]  # of the end of `if_`
        self._begin(branch.otherwise)
        yield
        self._jump(done)
        self._begin(done)

    @contextmanager
    def loop(self) -> Iterator[None]:
        """Repeat the body until `break_` or a return."""
        with self._repeat():
            yield

    @contextmanager
    def while_(self, condition: Callable[[], Register]) -> Iterator[None]:
        """Repeat the body as long as `condition`, which is computed before each iteration, is true."""
        with self._repeat(condition):
            yield

    @contextmanager
    def range(self, count: Register, start: Operand = 0) -> Iterator[Register]:
        """Run the body for each number from `start` to `count - 1`."""
        at = self.locals(i=self.constant(count._kind, start))

        def advance() -> None:
            at.i += 1

        with self._repeat(lambda: at.i < count, advance):
            yield at.i
        del self.present[at, "i"]

    @contextmanager
    def each(self, array: Register, count: Operand) -> Iterator[Any]:
        """Run the body for each element of an array."""
        with self.range(self.constant(INT64, count)) as i:
            yield array[i]

    def break_(self) -> None:
        """Leave the innermost loop."""
        self._jump(self._loops[-1][1])
        self._reachable = False

    def continue_(self) -> None:
        """Go on with the next iteration of the innermost loop."""
        self._jump(self._loops[-1][0])
        self._reachable = False

    def finish(self, head: str) -> str:
        """The definition of the function that `head` begins."""
        if self._reachable:
            if self._result != VOID:
                raise ValueError("the function ends without a return")
            self.return_()
        return "\n".join([f"{head} nounwind {{\nentry:", *self._stack, *self._emitter.lines, "}\n"])

    @property
    def needs(self) -> tuple[str, ...]:
        """The declarations and definitions that the function needs."""
        return tuple(self._emitter.needs)

    def label(self) -> str:
        """A fresh name of a block."""
        return self._emitter.label()

    def _jump(self, label: _Label) -> None:
        """End the block: `label` is next."""
        if self._reachable:
            self._emitter.branch(label.name)
            label.edges.append((self._emitter.block, dict(self.present)))

    def _fork(self, condition: Register, one: _Label, other: _Label) -> None:
        """End the block: `one` is next if `condition` is true, else `other`."""
        if self._reachable:
            self._emitter.branch_if(operand(BOOL, condition), one.name, other.name)
            for label in (one, other):
                label.edges.append((self._emitter.block, dict(self.present)))

    def _begin(self, label: _Label) -> None:
        """Begin a block: locals that have different values on the ways to it get phis."""
        self._reachable = bool(label.edges)
        if not label.edges:
            return
        self._emitter.start(label.name)
        (_, first), *others = label.edges
        self.present = {
            name: self._merged(name, value, label)
            for name, value in first.items()
            if all(name in present for _, present in others)
        }

    def _merged(self, name: tuple[Locals, str], value: Register, label: _Label) -> Register:
        if all(present[name]._text == value._text for _, present in label.edges):
            return value
        return self.value(value._kind, _phi(name, value._kind, label))

    @contextmanager
    def _repeat(
        self, condition: Callable[[], Register] | None = None, advance: Callable[[], None] | None = None
    ) -> Iterator[None]:
        """A loop; `advance` is done between iterations."""
        head, inside, following, after = (_Label(self) for _ in range(4))
        self._jump(head)
        self._emitter.start(head.name)
        start = len(self._emitter.lines)
        names = {name: self._emitter.reserve() for name in self.present}
        self.present = {name: Register(self, v._kind, names[name]) for name, v in self.present.items()}
        phis = dict(self.present)
        if condition is not None:
            self._fork(condition(), inside, after)
            self._begin(inside)
        self._loops.append((following, after))
        yield
        self._loops.pop()
        if following.edges:
            self._jump(following)
            self._begin(following)
        if advance is not None:
            advance()
        self._jump(head)
        self._emitter.lines[start:start] = [
            f"  {value._text} = {_phi(name, value._kind, head)}" for name, value in phis.items()
        ]
        self._begin(after)


class _Label:
    """A block that begins later, and the blocks before it with the values of locals at their ends."""

    def __init__(self, writer: Writer) -> None:
        self.name = writer.label()
        self.edges: list[tuple[str, Present]] = []


def _phi(name: tuple[Locals, str], kind: TypeKind, label: _Label) -> str:
    ways = ", ".join(f"[ {present[name]._text}, %{block} ]" for block, present in label.edges)
    return f"phi {kind.llvm} {ways}"


class NativeFunction:
    """A function of native code: called with a writer, it writes a call."""

    def __init__(
        self, body: Body, result: TypeKind, parameters: tuple[TypeKind, ...], exported: bool
    ) -> None:
        self.name, self._body = body.__name__, body
        self._result, self._parameters, self._exported = result, parameters, exported
        self._codes: dict[CpuTarget | None, Code] = {}

    def __call__(self, w: Writer, *arguments: Operand) -> Register:
        """Call the function."""
        code = self.code(w.target)
        if self._exported:
            told = ", ".join(kind.llvm for kind in self._parameters)
            w.need(f"declare {self._result.llvm} @{code.name}({told})")
        else:
            w.need(*code.needs, code.text)
        return w.call(self._result, self._parameters, f"@{code.name}", arguments)

    def code(self, target: CpuTarget | None = None) -> Code:
        """The function for a processor; by default for any."""
        if target not in self._codes:
            self._codes[target] = self._written(target)
        return self._codes[target]

    def _written(self, target: CpuTarget | None) -> Code:
        w = Writer(self._result, target)
        names = self._body.__code__.co_varnames[1:]
        pairs = [*zip(names, self._parameters, strict=False)]
        self._body(w, *(Register(w, kind, f"%{name}") for name, kind in pairs))
        told = ", ".join(f"{kind.llvm} %{name}" for name, kind in pairs)
        if self._exported:
            return with_symbol(w.finish(f"define {self._result.llvm} {NAME}({told})"), w.needs)
        head = f"define internal {self._result.llvm} @{self.name}({told})"
        return Code(self.name, w.finish(head), w.needs)


def function(result: TypeKind, *parameters: TypeKind) -> Callable[[Body], NativeFunction]:
    """Declare the types of a function that others of its module call."""
    return lambda body: NativeFunction(body, result, parameters, exported=False)


def exported(result: TypeKind, *parameters: TypeKind) -> Callable[[Body], NativeFunction]:
    """Declare the types of a function that is compiled for itself; its symbol is a hash of its text."""
    return lambda body: NativeFunction(body, result, parameters, exported=True)


@dataclass(frozen=True, slots=True)
class External:
    """A function of the system or an intrinsic of LLVM."""

    name: str
    result: TypeKind
    parameters: tuple[TypeKind, ...] = ()

    def __call__(self, w: Writer, *arguments: Operand) -> Register:
        """Call the function."""
        told = ", ".join(kind.llvm for kind in self.parameters)
        w.need(f"declare {self.result.llvm} @{self.name}({told})")
        return w.call(self.result, self.parameters, f"@{self.name}", arguments)


def external(name: str, result: TypeKind, *parameters: TypeKind) -> External:
    """Declare a function that is not ours."""
    return External(name, result, parameters)
