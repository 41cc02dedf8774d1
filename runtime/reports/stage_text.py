"""Text of what a stage of the compiler made. `compiler/stages.py` lists the forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from staticgraph.compiler.codegen.abi import KernelCode
from staticgraph.compiler.codegen.cuda.function import KernelWork
from staticgraph.compiler.emit_step import Written
from staticgraph.compiler.fusion.group import Fusion, Group
from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.printer import function_text
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.kernel.lower_reductions import Nest
from staticgraph.compiler.kernel.printer import kernel_text, statement_text
from staticgraph.compiler.kernel.stmt import Kernel
from staticgraph.compiler.lower.control_flow import ControlPlan
from staticgraph.compiler.lower.parallel_schedule import Schedule
from staticgraph.compiler.lower.program import HostCall, Launch, Loops, Program, Ref, lines_of, walk


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
