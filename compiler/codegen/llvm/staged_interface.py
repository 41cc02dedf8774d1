"""Functions that a C program calls, of several stages: the data decide sizes between them.

    i32 (ptr self, i64 s0, ..., ptr p0, ..., [ptr result, i64 room, ptr shape], ..., ptr space, ptr bytes)

Each stage is a pair of functions that `open_interface` writes: one tells the sizes of what it computes, the
other one computes it. Between two of them, numbers that a stage has counted say how much of its results there
is. All that stages compute lies in the memory that the caller gives, one after the other, and behind it the
workspace of the stage at hand. Results are copied to the caller last.

What a caller cannot know before is told: if the memory, or the room for a result, is too small, the function
says how much it takes, and nothing but that is written. The stage that changes variables is the last one, and
runs only if there is room for all results that are known by then.
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.codegen.llvm.c_interface import (
    NO_POINTER,
    OUT_OF_RANGE,
    Place,
    address,
    aligned,
    definition,
    refuse_null,
    return_if,
)
from staticgraph.compiler.codegen.llvm.open_interface import (
    CONDITION,
    OTHER_SIZES,
    SMALL_WORKSPACE,
    TOO_LARGE,
    OpenEntryPoint,
    SizeValues,
)
from staticgraph.compiler.codegen.llvm.text import Code, Emitter
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import AnySize, Size
from staticgraph.compiler.kernel.stmt import ALIGNMENT
from staticgraph.compiler.support.dataclass import dataclass

SMALL_RESULT = 11  # what a function returns if there is no room for a result, beside the codes of others
Shape = tuple[int | None, ...]  # None for a size that a run tells


@dataclass(frozen=True, slots=True)
class StageCall:
    """Call of a stage.

    Attributes:
        entry: Its functions.
        feeds: The numbers of the values that it takes, each with the shape that it takes.
        results: The shape and the dtype of each value that it makes.
        is_last: If it changes variables, so that nothing may be refused behind it.
    """

    entry: OpenEntryPoint
    feeds: tuple[tuple[int, Shape], ...]
    results: tuple[tuple[Shape, DType], ...]
    is_last: bool


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows of a value. `start` and `count` are sizes of the symbols of a `RowCut`; None for all rows."""

    value: int
    start: AnySize
    count: AnySize | None


@dataclass(frozen=True, slots=True)
class RowCut:
    """Parts of values, as many rows of them as numbers say that a stage has counted.

    Attributes:
        numbers: For each symbol a value, and the place of the number in it.
        conditions: Sizes, and how each is compared with 0; without them the function refuses its data.
        parts: The parts, each of which is a new value.
    """

    numbers: dict[str, tuple[int, int]]
    conditions: tuple[tuple[Size, str], ...]
    parts: tuple[RowRange, ...]


@dataclass(frozen=True, slots=True)
class StagedOutput:
    """A result for the caller: the value, and if the caller asks for its shape, which only a run tells."""

    value: int
    is_told: bool


@dataclass(frozen=True, slots=True)
class StagedEntryPoint:
    """A function of the interface that runs several stages.

    Attributes:
        name: Its symbol.
        inputs: The shape and the dtype of each input. The sizes of None are parameters.
        steps: What it does, in order. Values are numbered: the inputs, then what each step makes.
        outputs: The results.
    """

    name: str
    inputs: tuple[tuple[Shape, DType], ...]
    steps: tuple[StageCall | RowCut, ...]
    outputs: tuple[StagedOutput, ...]

    @property
    def stages(self) -> list[StageCall]:
        return [step for step in self.steps if isinstance(step, StageCall)]

    @property
    def checked(self) -> bool:
        """True if the function may refuse what it is given as out of range."""
        cuts = any(isinstance(step, RowCut) and step.conditions for step in self.steps)
        return cuts or any(stage.entry.checked for stage in self.stages)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value in the code of a function: its address, its shape as operands, and the type of an element."""

    pointer: str
    shape: tuple[str, ...]
    dtype: DType


def staged_function(function: StagedEntryPoint) -> Code:
    """Return the definition of a function of several stages."""
    return _Writer(function).code()


class _Writer:
    def __init__(self, function: StagedEntryPoint) -> None:
        self._function = function
        self._writer = Emitter()
        self._parameters = ["ptr %self"]
        self._values: list[_Value] = []
        self._used = "0"  # bytes of the memory that values take
        sizes = 0
        for number, (shape, dtype) in enumerate(function.inputs):
            names = tuple(f"%s{sizes + n}" for n in range(shape.count(None)))
            sizes += len(names)
            left = iter(names)
            dims = tuple(next(left) if n is None else str(n) for n in shape)
            self._values.append(_Value(f"%p{number}", dims, dtype))
        self._parameters += [f"i64 %s{n}" for n in range(sizes)]
        self._parameters += [f"ptr %p{n}" for n in range(len(function.inputs))]
        for n, output in enumerate(function.outputs):
            self._parameters += [f"ptr %o{n}", *([f"i64 %r{n}", f"ptr %d{n}"] if output.is_told else [])]

    def code(self) -> Code:
        """Return the function."""
        writer, function = self._writer, self._function
        told = [f"%d{n}" for n, output in enumerate(function.outputs) if output.is_told]
        refuse_null(writer, ["%self", "%bytes", *told])
        writer.line(f"%workspace = inttoptr i64 {aligned(writer, Place('%space'))} to ptr")
        writer.line("%limit = load i64, ptr %bytes, align 8")
        for step in function.steps:
            self._call(step) if isinstance(step, StageCall) else self._cut(step)
        self._make_room(self._known())
        for n, output in enumerate(function.outputs):
            value = self._values[output.value]
            writer.copy(f"%o{n}", value.pointer, self._bytes(value))
        return definition(writer, function.name, ", ".join([*self._parameters, "ptr %space", "ptr %bytes"]))

    def _call(self, stage: StageCall) -> None:
        """Ask for the sizes of a stage, find memory for its results, and run it."""
        writer, entry = self._writer, stage.entry
        fed = [self._values[number] for number, _ in stage.feeds]
        sizes = []
        for value, (_, shape) in zip(fed, stage.feeds, strict=True):
            for dim, n in zip(value.shape, shape, strict=True):
                if n is None:
                    sizes.append(f"i64 {dim}")
                elif dim != str(n):
                    return_if(writer, writer.value(f"icmp ne i64 {dim}, {n}"), OTHER_SIZES)
        told = [
            writer.value(f"alloca [{len(shape)} x i64], align 8")
            for shape, _ in stage.results
            if None in shape
        ]
        own = writer.value("alloca i64, align 8")
        asked = [*sizes, *(f"ptr {fed[n].pointer}" for n in entry.sized), *(f"ptr {t}" for t in (*told, own))]
        self._run(entry.sizes_name, asked)
        left, made = iter(told), list[_Value]()
        for shape, dtype in stage.results:
            found = next(left) if None in shape else ""
            dims = tuple(
                writer.value(f"load i64, ptr {address(writer, Place(found, 8 * axis))}, align 8")
                if n is None
                else str(n)
                for axis, n in enumerate(shape)
            )
            start = self._aligned()
            value = _Value(writer.value(f"getelementptr i8, ptr %workspace, i64 {start}"), dims, dtype)
            self._used = self._sum(start, self._bytes(value))
            made.append(value)
        start = self._aligned()
        self._need(self._sum(start, writer.value(f"load i64, ptr {own}, align 8")))
        self._values += made
        if stage.is_last:
            self._make_room(self._known())
        space = writer.value(f"getelementptr i8, ptr %workspace, i64 {start}")
        rest = writer.value(f"sub i64 %limit, {start}")
        pointers = [f"ptr {value.pointer}" for value in (*fed, *made)]
        self._run(entry.name, ["ptr %self", *sizes, *pointers, f"ptr {space}", f"i64 {rest}"])

    def _cut(self, cut: RowCut) -> None:
        """Read what was counted, and take so many rows."""
        writer, symbols = self._writer, dict[str, str]()
        for name, (number, place) in cut.numbers.items():
            value = self._values[number]
            kind = f"i{8 * value.dtype.size}"
            at = address(writer, Place(value.pointer, place * value.dtype.size))
            found = writer.value(f"load {kind}, ptr {at}, align {value.dtype.size}")
            symbols[name] = found if kind == "i64" else writer.value(f"sext {kind} {found} to i64")
        sizes = SizeValues(writer, symbols)
        for size, relation in cut.conditions:
            wrong = writer.value(f"icmp {CONDITION[relation]} i64 {sizes.value(size)}, 0")
            return_if(writer, wrong, OUT_OF_RANGE)
        for part in cut.parts:
            whole = self._values[part.value]
            if part.count is None:
                self._values.append(whole)
                continue
            row = self._bytes(_Value(whole.pointer, whole.shape[1:], whole.dtype))
            start = writer.value(f"mul i64 {row}, {sizes.value(part.start)}")
            pointer = writer.value(f"getelementptr i8, ptr {whole.pointer}, i64 {start}")
            self._values.append(_Value(pointer, (sizes.value(part.count), *whole.shape[1:]), whole.dtype))

    def _known(self) -> list[int]:
        """The numbers of the outputs that are known so far."""
        outputs = enumerate(self._function.outputs)
        return [n for n, output in outputs if output.value < len(self._values)]

    def _make_room(self, outputs: Sequence[int]) -> None:
        """Tell the shapes of outputs. Return SMALL_RESULT if one of them has too little room."""
        writer, small = self._writer, "false"
        for n in outputs:
            value = self._values[self._function.outputs[n].value]
            if self._function.outputs[n].is_told:
                for axis, dim in enumerate(value.shape):
                    place = address(writer, Place(f"%d{n}", 8 * axis))
                    writer.line(f"store i64 {dim}, ptr {place}, align 8")
                lacks = writer.value(f"icmp ult i64 %r{n}, {self._elements(value)}")
                small = writer.value(f"or i1 {small}, {lacks}")
        if small != "false":
            return_if(writer, small, SMALL_RESULT)
        for n in outputs:
            value = self._values[self._function.outputs[n].value]
            missing = writer.value(f"icmp eq ptr %o{n}, null")
            used = writer.value(f"icmp ne i64 {self._bytes(value)}, 0")
            return_if(writer, writer.value(f"and i1 {missing}, {used}"), NO_POINTER)

    def _need(self, bytes: str) -> None:
        """Tell how much memory it takes and return SMALL_WORKSPACE, if there is less."""
        writer = self._writer
        wanted = self._sum(bytes, str(ALIGNMENT - 1))
        enough, small = writer.label(), writer.label()
        writer.branch_if(writer.value(f"icmp ult i64 %limit, {wanted}"), small, enough, unlikely=True)
        writer.start(small)
        writer.line(f"store i64 {wanted}, ptr %bytes, align 8")
        writer.line(f"ret i32 {SMALL_WORKSPACE}")
        writer.start(enough)
        refuse_null(writer, ["%space"])

    def _run(self, name: str, arguments: Sequence[str]) -> None:
        """Call a function of a stage, and return what it returns unless that is 0."""
        writer = self._writer
        status = writer.value(f"call i32 @{name}({', '.join(arguments)})")
        done, refused = writer.label(), writer.label()
        writer.branch_if(writer.value(f"icmp eq i32 {status}, 0"), done, refused)
        writer.start(refused)
        writer.line(f"ret i32 {status}")
        writer.start(done)

    def _elements(self, value: _Value) -> str:
        """The number of elements of a value, which is known to fit into 64 bits."""
        count = "1"
        for dim in value.shape:
            count = dim if count == "1" else self._writer.value(f"mul i64 {count}, {dim}")
        return count

    def _bytes(self, value: _Value) -> str:
        return self._writer.value(f"mul i64 {self._elements(value)}, {value.dtype.size}")

    def _aligned(self) -> str:
        """The first aligned offset behind the values so far."""
        beyond = self._sum(self._used, str(ALIGNMENT - 1))
        return self._writer.value(f"and i64 {beyond}, {-ALIGNMENT}")

    def _sum(self, a: str, b: str) -> str:
        """The sum of two numbers of bytes. Returns TOO_LARGE if it does not fit into 64 bits."""
        sizes = SizeValues(self._writer, {})
        found = sizes.sum(a, b)
        if sizes.overflow is not None:
            return_if(self._writer, sizes.overflow, TOO_LARGE)
        return found
