"""GPU programs on disk, so that a step which was compiled before, perhaps by another process, is only loaded.

Keys are those of a processor's programs (`runtime/cpu/disk_cache.py`), with the GPU's numbers. An entry has
the launches, the text of their functions, and the calls of libraries; images of functions lie beside it,
under keys of their own. Steps with loops, branches or calls of Python are compiled each time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from enum import Enum
from typing import Any

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.capture.step_digest import MOST_DATA
from staticgraph.compiler.codegen.cuda.function import CudaFunction, FunctionCall, KernelWork
from staticgraph.compiler.compile_gpu import GpuCompiled
from staticgraph.compiler.fusion.group import Fusion
from staticgraph.compiler.graph.dtypes import DTYPES, DType, uint8
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution, Made
from staticgraph.compiler.kernel.schedule_gpu.products.product import Matrix, Precision, Product
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.lower.constants import Constants
from staticgraph.compiler.lower.program import Copy, Launch, Loops, Program, Ref
from staticgraph.runtime.cpu import disk_cache
from staticgraph.runtime.cpu.loaded_program import NO_FUNCTION, LoadedStep
from staticgraph.runtime.disk import object_cache
from staticgraph.runtime.gpu.graphs.recorder import arguments
from staticgraph.runtime.switches.table import Settings

_FORMAT = 1  # of an entry, and part of every key


def key_of(step: Step, settings: Settings, target: GpuTarget) -> str | None:
    """The name of its program on the disk; None where it is to be compiled, whatever is there."""
    refused = target.refused
    of_library = None if refused is None else sorted(convolution.name for convolution in refused)
    return disk_cache.key_of(
        step, settings, ("gpu", _FORMAT, target.precision.value, of_library, target.machine)
    )


def remember(key: str, step: Step, compiled: GpuCompiled) -> None:
    """Keep the program that `step` was compiled to, if it is of that kind."""
    program, function = compiled.program, step.function
    types = (*(p.type for p in function.params), *(r.type for r in function.results))
    plain = all(isinstance(i, Launch | Copy) for i in program.instructions)
    if not plain or types != (*program.arguments, *program.results) or len(program.constants) > MOST_DATA:
        return
    numbers = {f.name: n for n, f in enumerate(compiled.functions)}

    def call(each: FunctionCall | Product | Convolution) -> list[Any]:
        if isinstance(each, FunctionCall):
            return ["function", numbers[each.function.name], _plain((each.arguments, each.written))]
        return [type(each).__name__, *_fields(each)]

    def told(instruction: Launch | Copy) -> list[Any]:
        if isinstance(instruction, Copy):
            return _fields(instruction)
        work = compiled.work(instruction)
        return [
            [*arguments(instruction)],
            _plain(instruction.args),
            _plain(work.scratch),
            [*map(call, work.calls)],
        ]

    entry = {
        "needed": [step.reads.index(op) for op in compiled.step.needed],
        "in_place": sorted(program.in_place),
        "arena": program.arena,
        "room": compiled.room,
        "functions": [_fields(f) for f in compiled.functions],
        "instructions": [told(i) for i in program.instructions if isinstance(i, Launch | Copy)],
    }
    object_cache.write(key, json.dumps(entry).encode() + b"\n" + bytes(program.constants))


def recall(key: str, step: Step) -> GpuCompiled | None:
    """The program of `step`, if the disk has it: all that a run needs, and nothing of the graph."""
    entry = object_cache.read(key)
    if entry is None:
        return None
    head, _, constants = entry.partition(b"\n")
    told = json.loads(head)
    functions = [
        CudaFunction(n, text, tuple(g), tuple(b), meets) for n, text, g, b, meets in told["functions"]
    ]
    works: dict[int, KernelWork] = {}

    def instruction(each: list[Any]) -> Launch | Copy:
        if len(each) == len(fields(Copy)):
            target, source, size = each
            return Copy(Ref(*target), Ref(*source), size)
        buffers, args, scratch, calls = each
        # A run asks for the names and sizes of buffers alone.
        work = Loops((), tuple((name, Buffer(uint8, (size,))) for name, size in buffers))
        launch = Launch(work, tuple(Ref(*ref) for ref in args), (), (), ())
        made = tuple(_CALLS[kind](functions, *rest) for kind, *rest in calls)
        works[id(launch)] = KernelWork(made, _tuples(scratch))
        return launch

    program = Program(
        tuple(map(instruction, told["instructions"])),
        tuple(p.type for p in step.function.params),
        tuple(r.type for r in step.function.results),
        step.fetches,
        frozenset(told["in_place"]),
        told["arena"],
        Constants.of(constants),
        (),
    )
    same = {f.name: getattr(step, f.name) for f in fields(Step) if f.name != "function"}
    alone = LoadedStep(NO_FUNCTION, **same, needed=[step.reads[i] for i in told["needed"]])
    return GpuCompiled(alone, Fusion(NO_FUNCTION, ()), program, works, told["room"])


def _fields(record: Any) -> list[Any]:
    return [_plain(getattr(record, field.name)) for field in fields(record)]


def _plain(value: Any) -> Any:
    """A value as JSON has it; records are lists of their fields."""
    match value:
        case DType():
            return value.name
        case Enum():
            return value.value
        case Matrix() | Ref():
            return _fields(value)
        case tuple():
            return [_plain(each) for each in value]
    return value


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _function(functions: Sequence[CudaFunction], number: int, rest: list[Any]) -> FunctionCall:
    names, written = _tuples(rest)
    return FunctionCall(functions[number], names, written)


def _record(kind: type, told: Sequence[Any]) -> dict[str, Any]:
    """The fields of a call of a library."""
    found = {field.name: _tuples(value) for field, value in zip(fields(kind), told, strict=True)}
    return found | {"dtype": DTYPES[found["dtype"]], "precision": Precision(found["precision"])}


def _product(_: Sequence[CudaFunction], *told: Any) -> Product:
    found = _record(Product, told)
    return Product(**found | {name: Matrix(*found[name]) for name in ("a", "b", "out")})


def _convolution(_: Sequence[CudaFunction], *told: Any) -> Convolution:
    found = _record(Convolution, told)
    return Convolution(**found | {"made": Made(found["made"])})


_CALLS: dict[str, Callable[..., FunctionCall | Product | Convolution]] = {
    "function": _function,
    "Product": _product,
    "Convolution": _convolution,
}
