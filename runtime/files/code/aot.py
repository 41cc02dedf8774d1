"""The functions of a graph that is saved, compiled for the processors that will load it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from staticgraph.compiler.capture.all_sizes import AllSizes, OpenMade, for_all_sizes
from staticgraph.compiler.capture.open_shapes import OpenShapes, Specializer, open_shapes
from staticgraph.compiler.capture.segments import needs_segments
from staticgraph.compiler.capture.step import Needs, NeedsFeeds, Step
from staticgraph.compiler.codegen.native.dispatch import dispatch
from staticgraph.compiler.codegen.native.pool import pool_code
from staticgraph.compiler.codegen.native.watch import guarded
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.compile import Compiled, compile
from staticgraph.compiler.gpu.compile_open import compile_gpu_open
from staticgraph.compiler.gpu.step_open import OpenGpuCompiled
from staticgraph.compiler.graph.errors import SaveError, layout, misuse
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import compatible
from staticgraph.compiler.graph.sizes import AnySize, is_open, symbol
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.target import target_of
from staticgraph.runtime.feeds import in_order
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.files.code import GPU_TARGETS
from staticgraph.runtime.files.code import cpu as kernels
from staticgraph.runtime.files.code import gpu as gpu_kernels
from staticgraph.runtime.files.code.staged_aot import MOST_PROGRAMS, loops_as_they_are, stages_of
from staticgraph.runtime.files.code.stages import captured_record, name_of, run_record
from staticgraph.runtime.files.signature import BoundFunction, InputShapes
from staticgraph.runtime.reports.asked_sizes import asked

MOST_TARGETS = 8


@dataclass(frozen=True, slots=True)
class _Task:
    """A step to be compiled: the signature, its feeds with their names, and their shapes."""

    name: str
    bound: BoundFunction
    feeds: tuple[Tensor, ...]
    labels: tuple[str, ...]
    shapes: OpenShapes

    @property
    def is_open(self) -> bool:
        return self.shapes.count > 0

    def captured(self, shapes: OpenShapes) -> Step | Needs | None:
        """The step for these shapes, or what it needs; None if a part of it can only be done in a run."""
        fetches = Fetches(self.bound.graph, self.bound.fetches)
        if needs_segments(fetches.tensors, fetches.targets, self.feeds):
            return None
        return kernels.captured(self.bound, self.feeds, shapes.shapes, shapes.contents_of(self.feeds))

    def step(self, shapes: OpenShapes) -> Step | None:
        """The step for these shapes, None if a part of it can only be known or done when it is run."""
        made = self.captured(shapes)
        return made if isinstance(made, Step) else None

    def taking(self, needed: Sequence[Tensor]) -> _Task | None:
        """The task with a symbol for each element of these feeds, whose values are sizes; None if they cannot
        be.
        """
        shapes = self.shapes.taking(self.feeds, needed)
        return None if shapes is None else replace(self, shapes=shapes)


def compile_for(
    signatures: Mapping[str, BoundFunction], targets: Sequence[str], shapes: Sequence[InputShapes]
) -> dict[str, list[Any]]:
    """The pieces of machine code by target; see `kernels`.

    A function with operations that Python does has the code of its stages. If they are in loops or branches,
    or if it is other code for different values, it is left out, and compiled when it is run.

    Args:
        signatures: The functions of the file.
        targets: "native", or a triple and perhaps a processor, as in "x86_64-linux-gnu:haswell", or an
            architecture of GPUs, as in "sm_90".
        shapes: By input, shapes that the graph does not tell; one program is made for each. Sizes that are
            left open here, too, are open in the program.

    Raises:
        SaveError: If a size that is left open must be known.
    """
    if len(targets) > MOST_TARGETS:
        raise misuse(SaveError, f"a file holds machine code for at most {MOST_TARGETS} targets")
    processors = [_target(text) for text in targets if not gpu_kernels.is_card(text)]
    cards = [text for text in targets if gpu_kernels.is_card(text)]
    tasks = [
        _task(name, bound, sizes)
        for name, bound in signatures.items()
        for sizes in _sizes(name, bound, shapes)
    ]
    tasks = [_with_sizes(task) for task in tasks] if processors else tasks
    steps = [(task, task.step(task.shapes)) for task in tasks if not task.is_open]
    closed = [(task.name, task.labels, step) for task, step in steps if step is not None]
    if cards and (opened := next((t for t in tasks if t.is_open), None)) is not None:
        number = next(n for n, shape in enumerate(opened.shapes.shapes) if is_open(shape))
        raise _unknown(opened.name, opened.labels[number], opened.feeds[number])
    rest = [task for task, step in steps if step is None]
    found = {
        f"{target.triple}-{target.cpu}": _for_processor(target, closed, [t for t in tasks if t.is_open], rest)
        for target in processors
    }
    if not cards:
        return found
    for_cards = [(task.name, task.labels, step, _opened(task)) for task, step in steps if step is not None]
    return found | {f"{GPU_TARGETS}{card}": gpu_kernels.write(card, for_cards) for card in cards}


def _with_sizes(task: _Task) -> _Task:
    """A task with closed shapes that takes sizes as values of feeds, as one with open sizes."""
    made = task.captured(task.shapes) if not task.is_open else None
    return (isinstance(made, NeedsFeeds) and task.taking(made.feeds)) or task


def _opened(task: _Task) -> gpu_kernels.Opened | None:
    """The step of a closed task as sessions with open sizes compile it, and the values of these."""
    given = task.shapes.shapes
    start = open_shapes(task.feeds, given)
    if start is None:
        return None

    def make(shapes: OpenShapes) -> OpenGpuCompiled | None:
        step = task.step(shapes)
        return None if step is None else compile_gpu_open(step)

    found = Specializer().search(start, given, make)
    values = None if found is None else found[0].values(given)
    return None if found is None or values is None else (found[1], values)


def _for_processor(
    target: CpuTarget,
    closed: Sequence[tuple[str, Sequence[str], Step]],
    opened: Sequence[_Task],
    rest: Sequence[_Task],
) -> list[Any]:
    """The pieces of machine code for a processor.

    Args:
        target: The processor.
        closed: Steps whose sizes are known, each with its signature and the names of its feeds.
        opened: What is to be compiled for all sizes.
        rest: What no single step can do.
    """
    programs: list[tuple[dict[str, Any], bytes]] = []
    codes = [dispatch.code(), guarded.code(), *pool_code(target).codes]

    def add(name: str, labels: Sequence[str], made: OpenMade[Compiled], **stage: Any) -> None:
        shapes = made.shapes if made.shapes.count else None
        constants = bytes(made.made.program.constants)
        programs.append(({**kernels.record(name, labels, made.made, shapes), **stage}, constants))
        codes.extend(made.made.codes)

    for name, labels, step in closed:
        made = OpenMade(OpenShapes(()), compile(step, target))
        if not made.made.program.host_calls:
            add(name, labels, made)
    staged = [*rest]
    for task in opened:
        found = _for_all_sizes(task, target)
        if found is None:
            staged.append(task)
        for each in found or ():
            if not each.made.program.host_calls:
                add(task.name, task.labels, each)
    runs: list[dict[str, Any]] = []
    for task in staged:
        planned = stages_of(task.bound, task.feeds, task.shapes, target)
        if planned is not None:
            forced, stages = planned
            for number, stage in enumerate(stages):
                names = [*map(name_of, stage.key.feeds)]
                for each in stage.programs:
                    captured = captured_record(each.made.step)
                    add(task.name, names, each, stage=[len(runs), number], captured=captured)
            runs.append(run_record(task.name, task.labels, forced, stages))
    return kernels.write(target, programs, runs, cpu_jit.objects(codes, target))


def _for_all_sizes(task: _Task, target: CpuTarget) -> list[OpenMade[Compiled]] | None:
    """The programs for all values of the sizes that are open; None if one step cannot do the whole.

    Raises:
        SaveError: If a size must be known.
    """
    staged = False

    def make(shapes: OpenShapes) -> Compiled | NeedsFeeds | None:
        nonlocal staged
        match task.captured(shapes):
            case Step() as step:
                return compile(step, target)
            case NeedsFeeds() as needs:
                return needs
        staged = True
        return None

    with loops_as_they_are(task.bound.graph):
        found = for_all_sizes(task.shapes, task.feeds, make, MOST_PROGRAMS)
    match found:
        case AllSizes(_, programs):
            return programs
        case NeedsFeeds():
            return []
    if staged or found.start.sized:
        return None if staged else []
    why, lines = asked(found.cause, task.labels, found.start)
    label, sizes = next(
        (label, [n if isinstance(n, int) else 1 for n in shape])
        for label, shape in zip(task.labels, found.start.shapes, strict=True)
        if is_open(shape)
    )
    text = f"cannot compile {task.name} for all sizes: {why}"
    hint = f"say for which sizes it is to be compiled: shapes={{{label!r}: {sizes}}}"
    raise SaveError(layout(text, user_frame(), lines, hint))


def _target(text: str) -> CpuTarget:
    if text == "native":
        return cpu_jit.host()
    triple, _, cpu = text.partition(":")
    return target_of(triple, cpu or None)


def _task(name: str, bound: BoundFunction, sizes: Mapping[str, tuple[int | None, ...]]) -> _Task:
    by_feed = {bound.inputs[label]: label for label in sizes}
    feeds = in_order(bound.inputs[label] for label in sizes)
    count = 0
    shapes: list[tuple[AnySize, ...]] = []
    for feed in feeds:
        shape: list[AnySize] = []
        for n in sizes[by_feed[feed]]:
            shape.append(symbol(f"n{count}") if n is None else n)
            count += n is None
        shapes.append(tuple(shape))
    return _Task(name, bound, feeds, tuple(by_feed[t] for t in feeds), OpenShapes(tuple(shapes)))


def _sizes(
    name: str, bound: BoundFunction, shapes: Sequence[InputShapes]
) -> list[dict[str, tuple[int | None, ...]]]:
    """The shapes of the inputs that a call must give, for each program, each combination once."""
    found = []
    for given in shapes or [{}]:
        sizes = {n: _size(name, n, bound.inputs[n], given.get(n)) for n in bound.required}
        if sizes not in found:
            found.append(sizes)
    return found


def _size(
    name: str, label: str, tensor: Tensor, given: Sequence[int | None] | None
) -> tuple[int | None, ...]:
    """The shape of an input, None for sizes that are open."""
    type = tensor.type
    shape = type.shape if given is None else tuple(None if n is None else int(n) for n in given)
    if given is not None and not compatible(shape, type.shape):
        raise _unknown(name, label, tensor, given)
    if shape is None:
        raise _unknown(name, label, tensor)
    declared = type.shape or shape
    return tuple(n if m is None else m for n, m in zip(shape, declared, strict=True))


def _unknown(name: str, label: str, tensor: Tensor, given: Sequence[int | None] | None = None) -> SaveError:
    """The error for an input whose sizes must be known, or whose shape is not that of the graph."""
    what = "its sizes are not all known" if given is None else f"{list(given)} does not fit"
    text = f"cannot compile {name}: its input {label!r} is {tensor.type}, and {what}"
    sizes = [n or 1 for n in tensor.type.shape or ()]
    return SaveError(layout(text, user_frame(), hint=f"shapes={{{label!r}: {sizes}}}"), tensor.op)
