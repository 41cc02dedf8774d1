"""Machine code in a saved graph: programs that were compiled when it was saved, for one kind of processor.

A member is a safetensors file of bytes: `programs.json` tells the target and what each program works on, the
other entries are the object code of functions, by symbol, and the constants of programs, by number. Whoever
loads machine code trusts the file as much as a program. It is taken where this processor can run it and this
version lays out memory the same way; otherwise code is generated from the graph, as without it.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph import compiler
from staticgraph.compiler.capture.open_shapes import OpenShapes
from staticgraph.compiler.capture.step import Needs, Step
from staticgraph.compiler.codegen.target import CpuTarget, vector_bytes
from staticgraph.compiler.graph.dtypes import uint8
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.open_sizes import to_data
from staticgraph.compiler.graph.sizes import AnySize, Size, is_open, same_shape
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.runtime.cpu import backend
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.backend import CpuBackend
from staticgraph.runtime.cpu.disk.loaded_program import (
    NO_FUNCTION,
    LoadedProgram,
    LoadedStep,
    layout_of,
    prepared,
)
from staticgraph.runtime.cpu.executable import CpuExecutable
from staticgraph.runtime.failures.checked_step import CheckedStep
from staticgraph.runtime.feeds import in_order
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.files import graph_json
from staticgraph.runtime.files.arrays import safetensors
from staticgraph.runtime.files.attributes import Kinds, check, dump, fields, items, parse
from staticgraph.runtime.files.code.coherence import require_coherent, require_type
from staticgraph.runtime.files.code.open_record import OpenRecord, encode_open_type, open_record
from staticgraph.runtime.files.signature import BoundFunction
from staticgraph.runtime.program_cache import ProgramCache
from staticgraph.runtime.session import Session
from staticgraph.runtime.state.variables import VariableStore
from staticgraph.runtime.step_compiler import StepCompiler

if TYPE_CHECKING:
    from staticgraph.runtime.files.code.stages import StagedRun

_PROGRAMS = "programs.json"
_DECIDING = (
    "emit_region.py",
    "emit_step.py",
    "lower/program.py",
    "codegen/abi.py",
    "codegen/llvm/step.py",
    "codegen/llvm/step_function.py",
    "codegen/native/pool.py",
    "codegen/native/layouts.py",
    "codegen/llvm/control_flow.py",
    "codegen/native/dispatch_layout.py",
    "codegen/native/dispatch.py",
    "codegen/native/watch.py",
)
# What all processors of a family can do; other names stand for one model of a processor.
_V2 = {"+sse3", "+ssse3", "+sse4.1", "+sse4.2", "+popcnt", "+cx16"}
_V3 = _V2 | {"+avx", "+avx2", "+bmi", "+bmi2", "+f16c", "+fma", "+lzcnt", "+movbe"}
_V4 = _V3 | {"+avx512f", "+avx512bw", "+avx512cd", "+avx512dq", "+avx512vl"}
_FAMILIES: Mapping[str, set[str]] = {
    "x86-64": set(),
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "haswell": _V3,
    "x86-64-v4": _V4,
    "generic": set(),
}

_HEAD: Kinds = {"layout": (str,), "target": (dict,), "programs": (list,)}
_IF_STAGED: Kinds = {"runs": (list,)}  # of functions with host ops, which are compiled in stages
_TARGET: Kinds = {
    "triple": (str,),
    "data_layout": (str,),
    "cpu": (str,),
    "features": (str,),
    "fast_math": (bool,),
}
# fmt: off
_PROGRAM: Kinds = {
    "signature": (str,), "feeds": (list,), "arguments": (list,), "results": (list,), "fetches": (int,),
    "in_place": (list,), "arena": (int, list), "shared": (int,), "private": (int,), "cost": (float,),
    "parallel": (bool,), "stops": (bool,), "reads": (list,), "needed": (list,), "counters": (list,),
    "advances": (list,), "writes": (list,), "draws": (list,), "may_overwrite": (bool,), "codes": (list,),
    "checked": (bool,),
}  # fmt: skip
_IF_ANY: Kinds = {
    "open": (dict,), "sizes": (list,), "regions": (list,),  # of a program with open sizes
    "stage": (list,), "captured": (list,),  # of a stage: its place, what it computes for host ops
}  # fmt: skip
_MOST_BYTES = 1 << 48
NO_VALUES: Mapping[Tensor, np.ndarray] = MappingProxyType({})


def write(
    target: CpuTarget,
    programs: Sequence[tuple[dict[str, Any], bytes]],
    runs: Sequence[dict[str, Any]],
    objects: Mapping[str, bytes],
) -> list[Any]:
    """The pieces of a member.

    Args:
        target: The processor.
        programs: Programs as `record` tells them, and their constants.
        runs: Runs in stages, as `run_record` tells them.
        objects: The functions of the programs.
    """
    told = {"triple": target.triple, "data_layout": target.data_layout, "cpu": target.cpu}
    head: dict[str, Any] = {
        "layout": layout_version(),
        "target": {**told, "features": target.features, "fast_math": target.fast_math},
        "programs": [record for record, _ in programs],
    }
    if runs:
        head["runs"] = [*runs]
    entries = {_PROGRAMS: dump(head).encode(), **objects}
    entries |= {str(number): constants for number, (_, constants) in enumerate(programs)}
    return packed(entries)


def packed(entries: Mapping[str, bytes]) -> list[Any]:
    """The pieces of a member that holds bytes by name."""
    return safetensors.write({name: (uint8, np.frombuffer(data, np.uint8)) for name, data in entries.items()})


def unpacked(member: memoryview) -> dict[str, bytes]:
    """Return the entries of a member as bytes, by name."""
    return {name: array.tobytes() for name, (_, array) in safetensors.read(member, "its code").items()}


def record(
    name: str, feeds: Sequence[str], compiled: Any, shapes: OpenShapes | None = None
) -> dict[str, Any]:
    """Describe a compiled step of the signature `name` for a file, without its code and constants.

    `shapes` are those of its feeds if sizes are open.
    """
    step, program = compiled.step, compiled.program
    opened = {} if shapes is None else {"open": open_record(shapes, step.open_blocks)}
    return {
        **opened,
        "signature": name,
        "feeds": list(feeds),
        "arguments": [encode_open_type(t) for t in program.arguments],
        "results": [encode_open_type(t) for t in program.results],
        "fetches": program.fetches,
        **layout_of(compiled),
        "reads": _names(step.reads),
        "needed": _names(step.needed),
        "counters": _names(step.counters),
        "advances": [*map(to_data, step.advances)],
        "writes": _names(step.writes),
        "draws": _names(step.draws),
        "may_overwrite": step.may_overwrite,
        "checked": step.checked,
    }


def _names(operations: Iterable[Operation]) -> list[str]:
    return [op.name for op in operations]


def described(member: memoryview) -> tuple[str, list[dict[str, Any]]]:
    """Return a member's description: the features of its target, and signature and feeds of each program."""
    head, _ = _parts(member)
    told = [fields(program, "a program", _PROGRAM, _IF_ANY) for program in head["programs"]]
    return _target(head).features, [{"signature": p["signature"], "feeds": feeds(p)} for p in told]


def feeds(told: dict[str, Any]) -> dict[str, str]:
    """The inputs of a program, as its record tells them, with their types."""
    names, opened = items(told["feeds"], "the feeds of a program", str), OpenRecord(told.get("open"))
    types = zip(names, told["arguments"], strict=False)
    return {n: str(opened.type(t, f"the type of {n!r}")) for n, t in types}


def adopt(members: Iterable[bytes], signatures: Mapping[str, BoundFunction], session: Session) -> None:
    """Let `session` run the programs of those members that suit this process best, without compiling them."""
    fitting = []
    for data in members:
        head, entries = _parts(memoryview(data))
        target = _target(head)
        if head["layout"] == layout_version() and fits(target, cpu_jit.host()):
            fitting.append((target.cpu == cpu_jit.host().cpu, target.vector_bytes, head, entries))
    if not fitting:
        return
    *_, head, entries = max(fitting, key=lambda each: each[:2])
    cpu_jit.provide({name: data for name, data in entries.items() if not name.isdigit()})
    runs = [_run(signatures, told) for told in head.get("runs", ())]
    for number, told in enumerate(head["programs"]):
        told = fields(told, "a program", _PROGRAM, _IF_ANY)
        bound = _bound(signatures, told)
        if str(number) not in entries or not told["codes"]:
            raise InvalidFileError(f"it has no code for the signature {told['signature']!r}")
        try:
            if told["stage"] is None:
                _adopt(session, bound, told, entries[str(number)])
            else:
                _add_stage(runs, bound.graph, told, entries[str(number)])
        except cpu_jit.MissingCode as missing:
            raise InvalidFileError(f"it has no code for the function {missing}") from None
    for run, bound in runs:
        run.adopt(bound.fetches, in_order(_input(bound, label) for label in run.labels), session)


def _bound(signatures: Mapping[str, BoundFunction], told: Any) -> BoundFunction:
    """Return the signature that a record tells of."""
    name = check(told, "a record", dict).get("signature")
    if not isinstance(name, str) or name not in signatures:
        raise InvalidFileError(f"it has no signature {name!r}")
    return signatures[name]


def _run(signatures: Mapping[str, BoundFunction], told: Any) -> tuple[StagedRun, BoundFunction]:
    from staticgraph.runtime.files.code.stages import StagedRun  # few files have some

    bound = _bound(signatures, told)
    return StagedRun(bound.graph, told), bound


def _adopt(session: Session, bound: BoundFunction, told: dict[str, Any], constants: bytes) -> None:
    """Let `session` run a program that is the whole of a function."""
    feeds = tuple(_input(bound, name) for name in items(told["feeds"], "the feeds of a program", str))
    opened = OpenRecord(told["open"])
    prepared = _prepared(bound.graph, feeds, told, opened, constants)
    fetched = Fetches(bound.graph, bound.fetches).tensors
    if len(fetched) != prepared.step.fetches:
        raise InvalidFileError(
            f"a program returns {prepared.step.fetches} values, and its signature {len(fetched)}"
        )
    for tensor, type in zip(fetched, prepared.program.results, strict=False):
        require_type(tensor, type)
    run, limit = session.run_for(bound.fetches, feeds, [prepared.step]), session.settings.memory_limit
    if told["open"] is not None:
        shapes, blocks = _open_sizes(prepared, opened)
        if run is not None:
            made = backend.bound(prepared, limit=limit)
            run.programs.adopt_open(shapes, blocks, prepared.step, made)
        return
    again = functools.partial(_step, bound, prepared)
    checks = CheckedStep(bound.graph, again) if prepared.step.checked else None
    program = CpuExecutable(prepared, checks=checks)
    if run is not None and (limit is None or prepared.memory.peak <= limit):
        run.programs.adopt(program)


def _add_stage(
    runs: Sequence[tuple[StagedRun, BoundFunction]], graph: Graph, told: dict[str, Any], constants: bytes
) -> None:
    """Give a program to the stage that it is for."""
    place = items(told["stage"], "the place of a stage", int)
    if len(place) != 2 or not 0 <= place[0] < len(runs):
        raise InvalidFileError("a program is for a stage of no run")
    run, number = runs[place[0]][0], place[1]
    captured = run.captured(number, told["captured"])
    opened = OpenRecord(told["open"])
    prepared = _prepared(graph, run.stage(number).feeds, told, opened, constants, captured)
    shapes, blocks = (None, ()) if told["open"] is None else _open_sizes(prepared, opened)
    cpu_jit.load(prepared.codes)
    run.add(number, prepared, shapes, blocks)


def _open_sizes(prepared: LoadedProgram, opened: OpenRecord) -> tuple[OpenShapes, tuple[AnySize, ...]]:
    """Return the shapes of the feeds of a program for all sizes, and the bytes of its blocks of memory."""
    step, program = prepared.step, prepared.program
    shapes = opened.shapes(step.feeds)
    given = zip(step.feeds, shapes.shapes, program.arguments, strict=False)
    if any(type.dtype is not t.dtype or not same_shape(type.static_shape, s) for t, s, type in given):
        raise InvalidFileError("a program takes other feeds than it says")
    cpu_jit.load(prepared.codes)  # that each function is there is told now
    types = (*program.arguments, *program.results)
    memory = [t.size * t.dtype.size for t in types if is_open(t.static_shape)]
    return shapes, tuple(dict.fromkeys((*opened.blocks(), *memory, program.arena)))


def fits(target: CpuTarget, here: CpuTarget) -> bool:
    """Return True if code for `target` runs on the processor `here`.

    >>> from dataclasses import replace
    >>> old = CpuTarget("x86_64-unknown-linux-gnu", "", "x86-64-v3", "+avx2,+f16c", 32)
    >>> new = replace(old, cpu="znver4", features=",".join([*_V4, "+sha"]), vector_bytes=64)
    >>> fits(old, new), fits(new, old), fits(replace(old, triple="aarch64-unknown-linux-gnu"), new)
    (True, False, False)
    """
    asked, has = ({f for f in t.features.split(",") if f.startswith("+")} for t in (target, here))
    known = target.cpu == here.cpu or target.cpu in _FAMILIES
    needs = asked | (set() if target.cpu == here.cpu else _FAMILIES.get(target.cpu, set()))
    same_calls = target.calls_for_half == here.calls_for_half
    same_system = target.triple.split("-")[::2] == here.triple.split("-")[::2]  # whatever the vendors
    return known and needs <= has and same_system and same_calls and target.fast_math == here.fast_math


@functools.cache
def layout_version() -> str:
    """A hash of the sources that decide how machine code and the runtime meet; "" without sources."""
    found = hashlib.blake2b(digest_size=8)
    folder = Path(compiler.__file__).parent
    try:
        for name in _DECIDING:
            found.update((folder / name).read_bytes())
    except OSError:
        return ""
    return found.hexdigest()


def _parts(member: memoryview) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the header of a member, and its other entries by name. Raises InvalidFileError."""
    entries = unpacked(member)
    if _PROGRAMS not in entries:
        raise InvalidFileError(f"its code has no {_PROGRAMS}")
    head = fields(parse(entries.pop(_PROGRAMS), _PROGRAMS), _PROGRAMS, _HEAD, _IF_STAGED)
    return {key: value for key, value in head.items() if value is not None}, entries


def _target(head: dict[str, Any]) -> CpuTarget:
    told = fields(head["target"], "a target", _TARGET)
    return CpuTarget(**told, vector_bytes=vector_bytes(told["features"]))


def _step(bound: BoundFunction, prepared: LoadedProgram) -> Step:
    """The step of a program once more, from the graph: for a run that is refused."""
    step, types = prepared.step, prepared.program.arguments
    made = captured(bound, step.feeds, [t.static_shape for t in types[: len(step.feeds)]])
    assert isinstance(made, Step), made  # as when the file was made
    return made


def captured(
    bound: BoundFunction,
    feeds: tuple[Tensor, ...],
    shapes: Sequence[tuple[AnySize, ...]],
    static: Mapping[Tensor, np.ndarray] = NO_VALUES,
) -> Step | Needs:
    """Capture the step of a signature for feeds of these shapes, with the default switches.

    `static` are the values of feeds on which shapes depend.
    """
    compiler = StepCompiler(CpuBackend())
    fetches = Fetches(bound.graph, bound.fetches)
    cache = ProgramCache(bound.graph, fetches, feeds, compiler, VariableStore())
    return cache.step(shapes, static, {})


def _input(bound: BoundFunction, name: str) -> Tensor:
    if name not in bound.inputs:
        raise InvalidFileError(f"a program has an input {name!r}, which its signature has not")
    return bound.inputs[name]


def _prepared(
    graph: Graph,
    feeds: tuple[Tensor, ...],
    told: dict[str, Any],
    opened: OpenRecord,
    constants: bytes,
    captured: tuple[tuple[Operation, Tensor | int], ...] = (),
) -> LoadedProgram:
    """The program that a record tells of, after all that it says was looked at."""

    def operations(field: str) -> tuple[Operation, ...]:
        names = items(told[field], f"the {field} of a program", str)
        return tuple(graph_json.operation(graph, name) for name in names)

    arguments, results = (
        tuple(opened.type(t, f"one of the {field} of a program") for t in told[field])
        for field in ("arguments", "results")
    )
    for field in ("shared", "private", "fetches"):
        if not 0 <= told[field] <= _MOST_BYTES:
            raise InvalidFileError(f"the {field!r} of a program is {told[field]}")
    arena = opened.size(told["arena"], "the arena of a program")
    if not isinstance(arena, Size) and not 0 <= arena <= _MOST_BYTES:
        raise InvalidFileError(f"the arena of a program has {arena} bytes")
    told = {name: value for name, value in told.items() if value is not None}
    for field in ("sizes", "regions"):
        for size in told.get(field, ()):
            opened.size(size, f"one of the {field} of a program")
    advances = tuple(opened.size(n, "the numbers that a program draws") for n in told["advances"])
    if len(advances) != len(told["counters"]):
        raise InvalidFileError("the numbers of a program do not fit together")
    step = LoadedStep(
        NO_FUNCTION, feeds, operations("reads"), operations("counters"), advances,
        told["fetches"], operations("writes"), operations("draws"), captured,
        told["may_overwrite"],
        checked=told["checked"], needed=[*operations("needed")],
    )  # fmt: skip
    in_place = items(told["in_place"], "the arguments in place of a program", int)
    require_coherent(step, arguments, results, in_place)
    if not all(name.isascii() for name in items(told["codes"], "the functions of a program", str)):
        raise InvalidFileError("a function of a program has an impossible name")
    return prepared(step, arguments, results, told, constants)
