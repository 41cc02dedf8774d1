"""From a saved graph to an object file, its header, and an example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from staticgraph.compiler.codegen.llvm.c_interface import (
    EntryPoint,
    data,
    entry,
    init,
    init_from,
    linked_module,
    pool_functions,
    surroundings,
)
from staticgraph.compiler.codegen.llvm.open_interface import OpenEntryPoint, open_functions
from staticgraph.compiler.codegen.llvm.staged_interface import StagedEntryPoint, staged_function
from staticgraph.compiler.codegen.native.layouts import MOST_WORKERS
from staticgraph.compiler.codegen.native.pool import pool_code, serial_code
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.errors import InvalidArgumentError, NotFoundError, layout
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.aot.example import example
from staticgraph.runtime.aot.functions import AnyFunction
from staticgraph.runtime.aot.header import header
from staticgraph.runtime.aot.interface import Interface, identifier
from staticgraph.runtime.aot.layout import constants_of, interface_of
from staticgraph.runtime.aot.steps import Shapes, compiled_functions
from staticgraph.runtime.cpu import half
from staticgraph.runtime.cpu.objects import ObjectWriter, initialize_all
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.files.loaded import LoadedGraph

_WEIGHTS = "@weights"


@dataclass(frozen=True, slots=True)
class Built:
    """Files of a compiled graph for a C program.

    `weights`: the weights file, or None if the object holds them.
    """

    interface: Interface
    object: bytes
    header: str
    example: str
    weights: bytes | None

    def write(self, path: Path) -> list[Path]:
        """Write the files: `path` with the endings `.o`, `.h` and `.weights`, and `main.c` beside them.

        A `main.c` that is there already is not touched. Returns what was written.
        """
        contents = {f"{path.name}.o": self.object, f"{path.name}.h": self.header.encode()}
        if self.weights is not None:
            contents[f"{path.name}.weights"] = self.weights
        if not path.with_name("main.c").exists():
            contents["main.c"] = self.example.encode()
        for name, content in contents.items():
            write_file(path.with_name(name), [content])
        return [path.with_name(name) for name in contents]


def build(
    net: LoadedGraph,
    name: str,
    target: CpuTarget,
    shapes: Shapes,
    functions: Sequence[str] | None = None,
    separate: bool = False,
    threads: int = 1,
) -> Built:
    """Compile `functions` of a saved graph, all of them by default, for C programs that call it `name`.

    `separate`: the weights go into a file of their own. `threads`: as many can work on one call.

    NotFoundError for a function or an input that there is not; InvalidArgumentError for a shape that is
    missing or does not fit; UnimplementedError for an operation that needs Python.
    """
    if identifier(name) != name:
        hint = f"letters, digits and _ make a name of C: -o {identifier(name)}"
        raise InvalidArgumentError(layout(f"{name!r} cannot be the name of a C type", hint=hint))
    if not 1 <= threads <= MOST_WORKERS:
        raise InvalidArgumentError(layout(f"{threads} threads: 1 to {MOST_WORKERS} are possible"))
    target = replace(target, aligned=False)  # what the caller gives may be anywhere
    chosen = _chosen(net, functions)
    _check_inputs(net, chosen, shapes)
    compiled = compiled_functions(net, chosen, target, shapes)
    with net.session.held() as store:
        interface = interface_of(name, compiled, store, threads - 1)
    initialize_all()
    writer = ObjectWriter(target.triple, target.cpu, target.features, linked=True)
    return Built(
        interface,
        writer.write(_module(interface, compiled, target, separate)),
        header(interface, net.path.name, target, separate),
        example(interface, separate),
        interface.mark + interface.content if separate else None,
    )


def _module(interface: Interface, functions: Sequence[AnyFunction], target: CpuTarget, separate: bool) -> str:
    """The text of the object's module."""
    serial = serial_code()
    stages = [stage for f in functions for stage in f.stages]
    made = [each.made for stage in stages for each in stage.programs]
    inside = dict.fromkeys([serial, *(code for compiled in made for code in compiled.codes)])
    if target.calls_for_half and any("half" in code.text for code in inside):
        inside[half.CODE] = None
    definitions = [surroundings(serial)]
    symbols = [symbol for function in interface.functions for symbol in function.programs]
    for symbol, compiled in zip(symbols, made, strict=True):
        if compiled.program.constants:
            definitions.append(data(constants_of(symbol), bytes(compiled.program.constants)))
    symbol, state = f"{interface.name}_init", interface.state
    if separate:
        first = init_from(symbol, state, interface.mark, len(interface.mark) + len(interface.content))
    else:
        definitions.append(data(_WEIGHTS, interface.content))
        first = init(symbol, state, _WEIGHTS)
    exported = [first]
    for function in interface.functions:
        match function.entry:
            case OpenEntryPoint() as opened:
                shown, called = open_functions(opened, state)
                exported += shown
                inside |= dict.fromkeys(called)
            case StagedEntryPoint() as staged:
                exported.append(staged_function(staged))
                for stage in staged.stages:
                    shown, called = open_functions(stage.entry, state)
                    inside |= dict.fromkeys([*called, *shown])
            case EntryPoint() as plain:
                exported.append(entry(plain, state))
    if interface.pool is not None:
        code = pool_code(target)
        inside |= dict.fromkeys(code.codes)
        exported += pool_functions(interface.name, interface.pool, code)
    return linked_module(list(inside), exported, definitions, target)


def _chosen(net: LoadedGraph, functions: Sequence[str] | None) -> list[str]:
    known = list(net.signatures)
    for name in functions or ():
        if name not in known:
            text = f"{net.path.name} has no function {name!r}"
            raise NotFoundError(layout(text, hint=f"it has {', '.join(known)}"))
    return list(functions or known)


def _check_inputs(net: LoadedGraph, functions: Sequence[str], shapes: Shapes) -> None:
    known = {name for function in functions for name in net.signatures[function].inputs}
    for name in shapes.given:
        if name not in known:
            text = f"{net.path.name} has no input {name!r}"
            raise NotFoundError(layout(text, hint=f"it takes {', '.join(sorted(known))}"))
