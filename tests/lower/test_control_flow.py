"""Programs inside loops and branches: where what they carry lies, and what runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.compile import compile, optimize
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.fusion.group import Fusion
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Function, Value
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.opdef import OPS, by_meaning, recording
from staticgraph.compiler.kernel.stmt import padded
from staticgraph.compiler.lower import parallel_schedule as phases
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.program import ARENA, ARGUMENTS, Branch, LoopInstruction, Program
from staticgraph.compiler.passes.map_rows import RowLoops
from staticgraph.runtime.cpu.executable import evaluate
from staticgraph.runtime.cpu.jit import host
from tests.graph.inner import branched, looped

LINE = 16  # floats of a cache line


@pytest.fixture
def build() -> Builder:
    return Builder()


def program_of(function: Function) -> Program:
    return lower(optimize(function), len(function.results), {})


def loop_of(function: Function) -> LoopInstruction:
    (found,) = [i for i in program_of(function).instructions if isinstance(i, LoopInstruction)]
    return found


def check(function: Function, *arrays: np.ndarray) -> None:
    """Compiled equals interpreted."""
    wanted = interpret(function, dict(zip(function.params, arrays, strict=True)))
    for found, value in zip(evaluate(function, arrays), wanted, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-6)


def repeated(
    build: Builder, body: Callable[..., Value], x: Value, *captures: Value, rounds: int = 5
) -> Value:
    node = looped(
        build,
        lambda i, *_: i < rounds,
        lambda i, a, *more: [i + 1, body(a, *more)],
        [build.constant(0, "int32"), x],
        captures,
        bound=rounds,
        exact=True,
    )
    return node.outputs[1]


def carried_tensor(loop: LoopInstruction, size: int):
    (found,) = [c for c in loop.carried if c.size == size]
    return found


def test_what_each_element_only_needs_itself_for_is_overwritten(build: Builder):
    x = build.parameter("x", "float32", (3, LINE))
    function = Function((x,), (repeated(build, lambda a: ops.sin(a) * 2.0, x),))
    carried = carried_tensor(loop_of(function), 3 * LINE * 4)
    assert carried.other is None
    assert carried.final.slot == ARGUMENTS + 1  # the fetch itself
    check(function, np.linspace(0, 1, 3 * LINE, dtype=np.float32).reshape(3, LINE))


def test_what_is_read_elsewhere_is_written_by_turns(build: Builder):
    x = build.parameter("x", "float32", (LINE, LINE))
    function = Function((x,), (repeated(build, lambda a: ops.tanh(ops.matmul(a, a)), x),))
    carried = carried_tensor(loop_of(function), LINE * LINE * 4)
    assert carried.other is not None and carried.other != carried.final
    check(function, np.linspace(-1, 1, LINE * LINE, dtype=np.float32).reshape(LINE, LINE))


def test_captures_are_where_they_are(build: Builder):
    x, w = build.parameter("x", "float32", (2, LINE)), build.parameter("w", "float32", (LINE, LINE))
    function = Function((x, w), (repeated(build, lambda a, w: ops.matmul(a, w), x, w),))
    loop = loop_of(function)
    assert [ref.slot for ref in loop.captures] == [ARGUMENTS + 1]
    rng = np.random.default_rng(1)
    check(
        function,
        rng.normal(size=(2, LINE)).astype(np.float32),
        rng.normal(size=(LINE, LINE)).astype(np.float32),
    )


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_weights_are_packed_once_before_all_rounds(
    build: Builder, monkeypatch: pytest.MonkeyPatch, rounds: int, frozen: bool
):
    """Weights of a recurrent net, captured or constant, have the same bits as if each round packed them."""
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(64, 64)).astype(np.float32) / 8
    x, w, n = (
        build.parameter("x", "float32", (512, 64)),
        build.parameter("w", "float32", (64, 64)),
        build.parameter("n", "int32", ()),
    )

    def body(i: Value, a: Value, n: Value, w: Value | None = None) -> list[Value]:
        w = build.constant(weights, "float32") if w is None else w
        return [i + 1, ops.tanh(ops.matmul(a, w, transpose_b=True))]

    given = [] if frozen else [w]
    node = looped(build, lambda i, a, n, *_: i < n, body, [build.constant(0, "int32"), x], [n, *given])
    function = Function((x, n, *given), (node.outputs[1],))
    step = Step(function, (), (), (), (), 1, ())
    (inner,) = compile(step, host()).written.inner
    product = max(inner.kernels, key=lambda kernel: len(kernel.phases))
    packing, multiplying = (phase.code.name for phase in product.phases)
    assert inner.before is not None
    assert packing in inner.before.text and packing not in inner.entry.text
    assert multiplying in "".join((inner.entry.text, *inner.entry.needs))
    arrays = [rng.normal(size=(512, 64)).astype(np.float32), np.array(rounds, np.int32)]
    arrays += [] if frozen else [weights]
    check(function, *arrays)
    (found,) = evaluate(function, arrays)
    monkeypatch.setattr(phases, "_KEPT_BYTES", -1)
    (inner,) = compile(step, host()).written.inner
    assert inner.before is None
    np.testing.assert_array_equal(found, evaluate(function, arrays)[0])


def test_captures_are_packed_in_every_round_beside_what_needs_scratch_memory_too(build: Builder):
    x, w = build.parameter("x", "float32", (512, 64)), build.parameter("w", "float32", (64, 64))

    def body(a: Value, w: Value) -> Value:
        product = ops.tanh(ops.matmul(a, w, transpose_b=True))
        return repeated(build, lambda a, w: ops.tanh(ops.matmul(a, w, transpose_b=True)), product, w)

    function = Function((x, w), (repeated(build, body, x, w),))
    (outer,) = compile(Step(function, (), (), (), (), 1, ()), host()).written.inner
    assert outer.before is None and outer.inner[0].before is not None
    rng = np.random.default_rng(1)
    check(
        function,
        rng.normal(size=(512, 64)).astype(np.float32),
        rng.normal(size=(64, 64)).astype(np.float32) / 8,
    )


@pytest.mark.parametrize("rounds", [0, 1, 2, 3])
def test_values_that_change_places_each_round(build: Builder, rounds: int):
    x, y, n = (
        build.parameter("x", "float32", (5,)),
        build.parameter("y", "float32", (5,)),
        build.parameter("n", "int32", ()),
    )
    node = looped(
        build,
        lambda i, a, b, n: i < n,
        lambda i, a, b, n: [i + 1, b, a * 2.0],
        [build.constant(0, "int32"), x, y],
        [n],
    )
    function = Function((x, y, n), tuple(node.outputs[1:]))
    check(function, np.arange(5, dtype=np.float32), np.ones(5, np.float32), np.array(rounds, np.int32))


def test_an_inner_program_has_its_memory_in_the_arena_of_the_outer(build: Builder):
    x = build.parameter("x", "float32", (LINE, LINE))
    program = program_of(Function((x,), (repeated(build, lambda a: ops.matmul(ops.matmul(a, a), a), x),)))
    (loop,) = [i for i in program.instructions if isinstance(i, LoopInstruction)]
    inner = loop.body.program
    assert loop.body.table.slot == loop.body.arena.slot == ARENA
    assert loop.body.arena.offset == loop.body.table.offset + padded(8 * inner.slots)
    assert loop.body.pred.offset == loop.body.arena.offset + padded(inner.arena)
    assert loop.body.pred.offset < program.arena
    assert program.may_stop and not inner.may_stop
    assert program.inner == [inner]


@pytest.mark.parametrize("index", [-5, 0, 1, 2, 9])
def test_branches_take_turns_in_one_memory(build: Builder, index: int):
    i, x = build.parameter("i", "int32", ()), build.parameter("x", "float32", (LINE, LINE))
    product = ops.matmul
    functions: Sequence[Callable] = [
        lambda a: [product(product(a, a), a)],
        lambda a: [a],
        lambda a: [ops.exp(product(a, a)) - a],
    ]
    function = Function((i, x), branched(build, i, functions, [x]).outputs)
    program = program_of(function)
    (branch,) = [each for each in program.instructions if isinstance(each, Branch)]
    assert len({inner.table for inner in branch.branches}) == 1
    arenas = [
        padded(inner.program.arena) + padded(8 * inner.program.slots) + padded(1) for inner in branch.branches
    ]
    assert program.arena == max(arenas) < sum(arenas)
    check(
        function,
        np.array(index, np.int32),
        np.linspace(-0.1, 0.1, LINE * LINE, dtype=np.float32).reshape(LINE, LINE),
    )


def test_what_is_not_set_has_no_first_value(build: Builder):
    """An array that a loop fills row by row is not cleared before."""
    x = build.parameter("x", "float32", (LINE,))
    with recording(build):
        empty = ops.unset(dtype=x.dtype, shape=(4, LINE))
    node = looped(
        build,
        lambda i, a, s: i < 4,
        lambda i, a, s: [i + 1, a + 1.0, ops.row_update(s, i, a)],
        [build.constant(0, "int32"), x, empty],
        bound=4,
        exact=True,
    )
    function = Function((x,), (node.outputs[2],))
    (whole,) = loop_of(function).whole
    assert whole.init is None
    (found,) = evaluate(function, [np.zeros(LINE, np.float32)])
    np.testing.assert_array_equal(found, np.arange(4)[:, None] * np.ones(LINE))


def test_what_a_step_holds_is_told_of_loops_and_branches_too(build: Builder):
    """The largest value is a product inside the loop, and inside the branch that needs more."""
    i, x = build.parameter("i", "int32", ()), build.parameter("x", "float32", (LINE, 2))

    def inside(a: Value) -> Value:
        return ops.matmul(ops.exp(ops.matmul(a, a, transpose_b=True)), a)

    looping = program_of(Function((x,), (repeated(build, inside, x),)))
    branching = program_of(
        Function((i, x), branched(build, i, [lambda a: [a], lambda a: [inside(a)]], [x]).outputs)
    )
    for program in (looping, branching):
        largest = max(program.fullest, key=lambda v: v.size)
        assert largest.shape == (LINE, LINE)


@pytest.fixture
def twice(build: Builder) -> Function:
    """Two loops with one body, each over rows of its own."""

    def scaled(factor: float, row: Value) -> Value:
        return ops.exp(row) * factor

    loops, (x, y) = RowLoops(), (build.parameter(name, "float32", (3, LINE)) for name in "xy")
    with recording(build):
        made = [loops.map(scaled, 2.0, [rows]) for rows in (x, y)]
    return Function((x, y), (made[0] + made[1],))


def test_a_body_that_loops_share_is_planned_once_and_told_apart(twice: Function):
    """Two launches that are one object would have their times added up."""
    seen: list[Function] = []

    def fused(function: Function) -> Fusion:
        seen.append(function)
        return fuse(function)

    program = lower(fuse(twice), 1, {}, fuse=fused)
    assert len(seen) == 1
    first, second = (i.body.program for i in program.instructions if isinstance(i, LoopInstruction))
    assert first == second
    assert not {id(i) for i in first.instructions} & {id(i) for i in second.instructions}
    rng = np.random.default_rng(1)
    check(twice, *(rng.normal(size=(3, LINE)).astype(np.float32) for _ in range(2)))


def test_a_run_cannot_end_in_a_brief_loop(twice: Function):
    assert not lower(fuse(twice), 1, {}).may_stop


def test_a_run_can_end_in_what_is_inside_of_a_brief_loop(build: Builder):
    x = build.parameter("x", "float32", (LINE,))

    by_numpy = by_meaning(OPS["sin"])

    def outer(inside: Callable[[Value], Value]) -> Function:
        node = looped(
            build,
            lambda i, a: i < 3,
            lambda i, a: [i + 1, inside(a)],
            [build.constant(0, "int32"), x],
            bound=3,
            exact=True,
            brief=True,
        )
        return Function((x,), (node.outputs[1],))

    assert not program_of(outer(ops.sin)).may_stop
    assert program_of(outer(lambda a: repeated(build, ops.sin, a))).may_stop
    assert program_of(outer(by_numpy)).may_stop


def test_a_run_can_end_in_a_branch_only_if_that_can(build: Builder):
    i, x = build.parameter("i", "int32", ()), build.parameter("x", "float32", (LINE,))
    kernels = branched(build, i, [lambda a: [ops.sin(a)], lambda a: [a]], [x])
    looping = branched(build, i, [lambda a: [repeated(build, ops.sin, a)], lambda a: [a]], [x])
    assert not program_of(Function((i, x), kernels.outputs)).may_stop
    assert program_of(Function((i, x), looping.outputs)).may_stop
