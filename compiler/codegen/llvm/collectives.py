"""Collectives of a step: calls that begin one, and calls that wait for its end."""

from __future__ import annotations

from staticgraph.compiler.codegen.abi import CollectiveSegment
from staticgraph.compiler.codegen.llvm.control_flow import Address, Number
from staticgraph.compiler.codegen.llvm.step_function import return_unless
from staticgraph.compiler.codegen.llvm.text import Emitter
from staticgraph.compiler.codegen.native import collective as functions
from staticgraph.compiler.codegen.native.builder import NativeFunction
from staticgraph.compiler.codegen.native.layouts import COMBINERS, ELEMENTS


def begin(writer: Emitter, segment: CollectiveSegment, watch: str, address: Address, number: Number) -> None:
    """Begin a collective, and end the step if MPI refuses it."""
    count = f"i64 {number(segment.count)}"
    target = f"ptr {address(segment.target)}"
    arguments = [f"ptr {address(segment.source)}", target, count]
    if segment.name in ("all_reduce", "reduce_scatter"):
        arguments += [f"i64 {ELEMENTS.index(segment.element)}", f"i64 {COMBINERS.index(segment.combine)}"]
    elif segment.name == "broadcast":
        arguments = [target, count, f"i64 {segment.root}"]
    function = _needed(writer, functions.BEGINS[segment.name])
    told = ", ".join([f"ptr {watch}", f"i64 {segment.number}", *arguments])
    status = writer.value(f"call i32 @{function}({told})")
    return_unless(writer, writer.value(f"icmp eq i32 {status}, 0"))


def complete(writer: Emitter, segment: CollectiveSegment, watch: str, host: str) -> None:
    """Wait for the end of a collective, and end the step if there will be none."""
    function = _needed(writer, functions.complete)
    told = f"ptr {watch}, i64 {segment.number}, ptr {host}, i32 {segment.index}, ptr %table"
    status = writer.value(f"call i32 @{function}({told})")
    return_unless(writer, writer.value(f"icmp eq i32 {status}, 0"))


def _needed(writer: Emitter, function: NativeFunction) -> str:
    code = function.code()
    for need in (*code.needs, code.text):
        writer.need(need)
    return code.name
