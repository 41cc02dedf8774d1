"""Dump of a compile as text files: the graph after each stage that changed it, the kernels, their code.

dump/001-loss/00-graph.txt        the step as it was captured, before all passes
              stages.txt          the stages in the order in which they ran, with their files, or "unchanged"
              01-prune.txt        the operations of the user's graph that the fetches need
              08-expand.txt       what a stage made, under its number in `compiler/stages.py`
              25-row_schedule.txt the same for each kernel, if one of them changed
              kernels.txt         each kernel as loops, or as the product that it is
              code.ll             LLVM's text of all functions; of those for a GPU code.cu, in CUDA C
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from staticgraph.compiler.codegen.abi import KernelCode
from staticgraph.compiler.codegen.cuda.function import KernelWork
from staticgraph.compiler.compiled_step import CompiledStep
from staticgraph.compiler.emit_step import Written
from staticgraph.compiler.fusion.group import Fusion, Group
from staticgraph.compiler.graph.errors import SaveError, misuse
from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.printer import function_text
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.printer import kernel_text, statement_text
from staticgraph.compiler.kernel.schedule_cpu.row_schedule import place_rows
from staticgraph.compiler.kernel.stmt import Kernel
from staticgraph.compiler.lower.control_flow import ControlPlan
from staticgraph.compiler.lower.parallel_schedule import Schedule
from staticgraph.compiler.lower.program import HostCall, Launch, Loops, Program, Ref, lines_of, walk
from staticgraph.compiler.stages import NAMES, NUMBERS, unchanged

_LONGEST = 40  # letters of a folder's name
_numbers = itertools.count(1)


class Dump:
    """The folder of one compile, made in `folder`. SaveError if that cannot be."""

    def __init__(self, folder: str, what: str) -> None:
        name = re.sub(r"[^\w.-]+", "_", what).strip("_")[:_LONGEST]
        self._folder = Path(folder) / f"{next(_numbers):03}-{name}"
        self._times: Counter[str] = Counter()
        self._kernels = 1
        self._compiling = False  # True once the capture is over
        self._files: dict[str, str] = {}  # of stages that have changed something
        self._waiting: dict[str, str] = {}  # headings without a text, for a file that is not there yet
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for old in self._folder.glob("[0-9][0-9]-*.txt"):  # of an earlier program
                old.unlink()
        except OSError as error:
            text = f"cannot dump to {folder}: {error.strerror}"
            raise misuse(SaveError, text, "dump, or SG_DUMP, names a folder") from None

    def after_stage(self, name: str, before: Any, after: Any) -> None:
        """Write what a stage made."""
        if not self._compiling and NAMES[name].part != "capture":
            self._compiling = True
            self._write("00-graph.txt", function_text(before))
        self._times[name] += 1
        heading = self._heading(name)
        text = "" if unchanged(before, after) else stage_text(after)
        if not text or (heading and text == stage_text(before)):
            self._waiting[name] = f"{self._waiting.get(name, '')}{heading or '#'} unchanged\n"
        else:
            self._append(name, f"{heading}\n{text}" if heading else text)
        self._write("stages.txt", "".join(map(self._line, self._times)))

    def _heading(self, name: str) -> str:
        """The heading of a text where a stage has several."""
        if NAMES[name].part != "kernel" or name == "build_kernel":
            times = self._times[name]
            return f"# {times}" if times > 1 or name == "build_kernel" else ""
        heading = f"# kernel {self._kernels}"
        self._kernels += name.startswith("print_")
        return heading

    def _append(self, name: str, text: str) -> None:
        file = self._files.setdefault(name, f"{NUMBERS[name]:02}-{name}.txt")
        with (self._folder / file).open("a", encoding="utf-8") as opened:
            opened.write(self._waiting.pop(name, "") + text)

    def _line(self, name: str) -> str:
        stage = NAMES[name]
        file = self._files.get(name, "unchanged")
        return f"{name:24}{file:32}{stage.takes} -> {stage.makes}: {stage.about}\n"

    def finish(self, made: CompiledStep, language: str, code: str) -> None:
        """Write what came after the stages; `code` is in the language of files that end so."""
        found = ((i, outer) for i, _, outer in made.walk() if isinstance(i, Launch))
        texts = (
            _kernel(number, launch, None if outer is None else outer.node)
            for number, (launch, outer) in enumerate(found, 1)
        )
        self._write("kernels.txt", "\n".join(texts))
        self._write(f"code.{language}", code)

    def _write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text, encoding="utf-8")


def _kernel(number: int, launch: Launch, outer: Node | None) -> str:
    """A kernel as text, under a line that says what it computes."""
    ops = " ".join(node.op.name for node in launch.nodes if node.op.name != "constant")
    lines = ", ".join(where.short for where in lines_of(launch.nodes, outer))
    return f"# {number}: {ops}   {lines}\n{kernel_text(as_kernel(launch.work))}"


def as_kernel(work: Loops | Kernel) -> Kernel:
    """Return the work of a launch as a kernel of loops."""
    if isinstance(work, Kernel):
        return work
    return place_rows("loops", dict(work.buffers), work.rows, work.nests, work.sums)


def stage_text(made: Any) -> str:
    """Return what a stage made as text that ends with a newline."""
    return "".join(f"{line}\n" for line in _lines(made))


def _lines(made: Any) -> Iterator[str]:
    match made:
        case Function():
            yield from function_text(made).splitlines()
        case Fusion():
            yield from _lines(made.groups)
        case Group():
            yield _named(made.nodes)
        case Operation():
            yield f"{made.name} = {made.type}({', '.join(t.name for t in made.tensors)})"
        case Value():
            yield f"{made.node.op.name} #{made.node.serial}: {made.type}"
        case Loops():
            for number, nest in enumerate((*made.nests, *made.sums)):
                yield from _nest(number, nest, sums=number >= len(made.nests))
        case Kernel():
            yield from kernel_text(made).splitlines()
        case Contraction():
            for name in ("a", "b", "rows", "lanes", "outer", "k"):
                yield f"{name} = {getattr(made, name)}"
            yield from (line for store in made.stores for line in statement_text(store).splitlines())
        case KernelCode():
            for number, phase in enumerate(made.phases):
                yield f"phase {number}: {phase.chunks!r} chunks"
                yield from phase.code.text.splitlines()
        case KernelWork():
            for listing in made.listings:
                yield from (listing.name, *listing.text.splitlines())
        case ControlPlan():
            yield from (line for program in made.programs for line in ("", *_program(program)))
        case Program():
            yield from _program(made)
        case Schedule():
            for number, parts in enumerate((*made.before, *made.phases)):
                yield f"phase {number}{' once' if number < len(made.before) else ''}"
                yield from (f"  {part.chunks} chunks of {[*part.units]}" for part in parts)
        case Written():
            yield from made.entry.text.splitlines()
        case Mapping():
            for key, value in made.items():
                first, *others = _lines(value)
                yield f"{_short(key)}: {first}"
                yield from others
        case frozenset():
            yield from (f"result {number}" for number in sorted(made))
        case Ref():
            yield f"slot {made.slot} + {made.offset}"
        case tuple() | list():
            for number, each in enumerate(made, 1):
                first, *others = [*_lines(each)] or [""]
                yield f"{number}: {first}"
                yield from others
        case _:
            yield str(made)


def _short(made: Any) -> str:
    """Return an entry of a table on one line."""
    if isinstance(made, tuple) and type(made) is tuple:
        return " ".join(map(_short, made))
    return " ".join(_lines(made)) if isinstance(made, Group | Value) else str(made)


def _named(nodes: Iterable[Node]) -> str:
    """The ops of nodes, and the lines of the user's program."""
    found = [node for node in nodes if node.op.name != "constant"]
    lines = ", ".join(where.short for where in lines_of(found, None))
    return f"{' '.join(node.op.name for node in found)}   {lines}".rstrip()


def _nest(number: int, nest: Nest, sums: bool) -> Iterator[str]:
    domain = ", ".join(f"{index.name} in 0..{index.extent}" for index in nest.domain)
    yield f"{'sums' if sums else 'nest'} {number} for {domain}".rstrip()
    yield from (f"  {line}" for store in nest.stores for line in statement_text(store).splitlines())


def _program(program: Program) -> Iterator[str]:
    """Instructions, with slot and offset of what they work on."""
    yield f"arena of {program.arena} bytes; variables overwritten in place: {sorted(program.in_place)}"
    for instruction, outer in walk(program):
        match instruction:
            case Launch():
                places = [f"{arg.slot}+{arg.offset}" for arg in instruction.args]
                text = f"launch {_named(instruction.nodes)} on {' '.join(places)}"
            case HostCall():
                text = f"call {instruction.node.op.name}"
            case _:
                text = type(instruction).__name__.removesuffix("Instruction").lower()
        yield text if outer is None else f"  {text}"
