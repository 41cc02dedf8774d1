"""Uses of an op, by its own samples: types before and after, the loops made of it, and its derivative."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from staticgraph.compiler.autodiff.reverse import reached_inputs, vjp
from staticgraph.compiler.compile import optimize
from staticgraph.compiler.graph.function import Function, Value
from staticgraph.compiler.graph.opdef import Effect, OpDef
from staticgraph.compiler.graph.printer import function_text
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.schedule_cpu.row_schedule import place_rows
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.program import Launch, Loops
from tests.ops.harness import Build, Use, dtype_choices, uses

LONGEST = 60  # lines of code that the manual shows of one op


@dataclass(frozen=True, slots=True)
class Shown:
    """The first uses of an op: their types, and of the very first one what the compiler makes."""

    types: tuple[str, ...]
    loops: str  # empty if there are none, or too many
    derivative: str


def shown(op: OpDef) -> Shown | None:
    """Return what the samples of `op` show; None if it has none."""
    if op.samples is None:
        return None
    every = uses(op, next(dtype_choices(op)))
    types = dict.fromkeys(types_of(use) for use in every)
    return Shown(tuple(itertools.islice(types, 3)), loops_of(every[0]), derivative_of(every[0]))


def types_of(use: Use) -> str:
    """`float32[3, 4], axis=1 → float32[3]`."""
    build = Build()
    inputs, results = build.add(use)
    seen = inputs[1:] if use.op.effect is Effect.RANDOM else inputs
    taken = [*map(type_of, seen), *(f"{name}={value!r}" for name, value in use.sample.attrs.items())]
    return f"{', '.join(taken) or 'nothing'} → {', '.join(map(type_of, results))}"


def type_of(value: Value) -> str:
    """`float32[3, 4]`."""
    return f"{value.dtype.name}{list(value.shape)}"


def loops_of(use: Use) -> str:
    """The kernels of an op by itself, as loops."""
    build = Build()
    _, results = build.add(use)
    return short("".join(_kernels(use.op.name, build.function(results))))


def _kernels(name: str, function: Function) -> Iterator[str]:
    fusion = optimize(function)
    for instruction in lower(fusion, len(fusion.function.results), {}).instructions:
        if isinstance(instruction, Launch):
            work = instruction.work
            if isinstance(work, Loops):
                work = place_rows(name, dict(work.buffers), work.rows, work.nests, work.sums)
            yield kernel_text(work)


def derivative_of(use: Use) -> str:
    """The derivative of the sum of the results, weighted by other inputs, as a simplified Function."""
    build = Build()
    inputs, results = build.add(use)
    reached = {value for _, value in reached_inputs(results[0].node)}
    ys = [result for result in results if result.dtype.is_differentiable]
    if not reached or not ys or use.op.effect is Effect.RANDOM:
        return ""
    seeds = [build.builder.parameter(f"g{i}", y.dtype, y.shape) for i, y in enumerate(ys)]
    found = vjp(build.builder, ys, seeds, [value for value in inputs if value in reached])
    return short(_text(build, seeds, [g for g in found if g is not None]))


def _text(build: Build, seeds: Sequence[Value], found: Sequence[Value]) -> str:
    function = Function((*build.params, *seeds), tuple(found))
    return function_text(optimize(function).function)


def short(text: str) -> str:
    """The text, or nothing where it is too long to help."""
    lines = text.splitlines()
    return text if len(lines) <= LONGEST and all(len(line) <= 160 for line in lines) else ""
