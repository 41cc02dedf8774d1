"""The functions of a graph that is saved, compiled for the processors that will load it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen.native.dispatch import dispatch
from staticgraph.compiler.codegen.native.pool import pool_code
from staticgraph.compiler.codegen.native.watch import guarded
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.compile import compile
from staticgraph.compiler.graph.errors import SaveError, layout, misuse
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import compatible
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.target import target_of
from staticgraph.runtime.feeds import in_order
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.files.code import GPU_TARGETS
from staticgraph.runtime.files.code import cpu as kernels
from staticgraph.runtime.files.code import gpu as gpu_kernels
from staticgraph.runtime.files.signature import BoundFunction, InputShapes
from staticgraph.runtime.host_ops.segmented_run import needs_segments

MOST_TARGETS = 8


def compile_for(
    signatures: Mapping[str, BoundFunction], targets: Sequence[str], shapes: Sequence[InputShapes]
) -> dict[str, list[Any]]:
    """The pieces of machine code by target; see `kernels`. SaveError where the size of an input is not known.

    `targets`: "native", or a triple and perhaps a processor, as in "x86_64-linux-gnu:haswell", or an
    architecture of cards, as in "sm_90". `shapes`: by input, those that the graph does not tell; one program
    is made for each. What needs Python, or is other code for different values, is left out: it is compiled
    when it is run.
    """
    if len(targets) > MOST_TARGETS:
        raise misuse(SaveError, f"a file holds machine code for at most {MOST_TARGETS} targets")
    processors = [_target(text) for text in targets if not gpu_kernels.is_card(text)]
    steps = [
        (name, [names[t] for t in step.feeds], step)
        for name, bound in signatures.items()
        for names in [{tensor: label for label, tensor in bound.inputs.items()}]
        for sizes in _sizes(name, bound, shapes)
        if (step := _step(bound, sizes)) is not None
    ]
    found = {f"{target.triple}-{target.cpu}": _for_processor(target, steps) for target in processors}
    cards = [text for text in targets if gpu_kernels.is_card(text)]
    return found | {f"{GPU_TARGETS}{card}": gpu_kernels.write(card, steps) for card in cards}


def _for_processor(target: CpuTarget, steps: Sequence[tuple[str, list[str], Step]]) -> list[Any]:
    programs, codes = [], [dispatch.code(), guarded.code(), *pool_code(target).codes]
    for name, feeds, step in steps:
        compiled = compile(step, target)
        if not compiled.program.host_calls:
            programs.append((kernels.record(name, feeds, compiled), bytes(compiled.program.constants)))
            codes += compiled.codes
    return kernels.write(target, programs, cpu_jit.objects(codes, target))


def _target(text: str) -> CpuTarget:
    if text == "native":
        return cpu_jit.host()
    triple, _, cpu = text.partition(":")
    return target_of(triple, cpu or None)


def _sizes(
    name: str, bound: BoundFunction, shapes: Sequence[InputShapes]
) -> list[dict[str, tuple[int, ...]]]:
    """The shapes of the inputs that a call must give, for each program, each combination once."""
    found = []
    for given in shapes or [{}]:
        sizes = {n: _size(name, n, bound.inputs[n], given.get(n)) for n in bound.required}
        if sizes not in found:
            found.append(sizes)
    return found


def _size(name: str, label: str, tensor: Tensor, given: Sequence[int] | None) -> tuple[int, ...]:
    type = tensor.type
    if given is None and type.is_static:
        return type.static_shape
    if given is None or not compatible(tuple(given), type.shape):
        what = "its sizes are not all known" if given is None else f"{list(given)} does not fit"
        text = f"cannot compile {name}: its input {label!r} is {type}, and {what}"
        sizes = [n or 1 for n in type.shape or ()]
        raise SaveError(layout(text, user_frame(), hint=f"shapes={{{label!r}: {sizes}}}"), tensor.op)
    return tuple(int(n) for n in given)


def _step(bound: BoundFunction, sizes: Mapping[str, tuple[int, ...]]) -> Step | None:
    """The step of a signature, None where a part of it can only be known or done when it is run."""
    feeds = in_order(bound.inputs[n] for n in sizes)
    if needs_segments(Fetches(bound.graph, bound.fetches), feeds):
        return None
    by_tensor = {bound.inputs[n]: np.zeros(size, bound.inputs[n].dtype.numpy) for n, size in sizes.items()}
    made = kernels.captured(bound, feeds, [by_tensor[t] for t in feeds])
    return made if isinstance(made, Step) else None
