"""Padded parts that are added up are put side by side, with the same bits."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Function, Value
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.passes.side_by_side import side_by_side
from staticgraph.runtime.cpu.executable import evaluate

Box = tuple[tuple[int, int], ...]  # from where to where, along each axis


def padded(build: Builder, box: Box, shape: tuple[int, ...], name: str) -> tuple[Value, Value]:
    """A parameter for a part of a tensor, and the tensor with it."""
    part = build.parameter(name, "float32", tuple(stop - start for start, stop in box))
    sides = tuple((start, n - stop) for (start, stop), n in zip(box, shape, strict=True))
    return part, ops.pad(part, paddings=sides)


def summed(terms: Sequence[Value]) -> Value:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def counts(function: Function) -> Counter[str]:
    return Counter(node.op.name for node in function.nodes)


def same_bits(function: Function, rng: np.random.Generator) -> Function:
    """The Function after the pass: interpreted and compiled it gives the same bits as before."""
    changed = side_by_side(function)
    values = [rng.normal(size=p.shape).astype(np.float32) for p in function.params]
    given = dict(zip(function.params, values, strict=True))
    (expected,) = interpret(function, given)
    assert np.array_equal(interpret(changed, given)[0], expected)
    assert np.array_equal(evaluate(changed, values)[0], expected)
    return changed


ROWS = [((i, i + 1), (0, 3)) for i in range(5)]
CELLS: list[Box] = [((r, r + 2), (c, c + 3)) for r in (0, 2, 4) for c in (0, 3, 6)]


@pytest.mark.parametrize(
    ("shape", "boxes", "concats"),
    [
        ((5, 3), ROWS, 1),
        ((5, 3), ROWS[::-2], 1),  # in reverse, with zeros between
        ((8, 3), ROWS[1:3], 1),  # with zeros at both ends
        ((6, 9), CELLS, 4),  # a grid: three rows, and these
        ((6, 9), [CELLS[0], CELLS[4], CELLS[8], CELLS[2]], 4),  # some cells of it
        ((4, 7), [((0, 4), (0, 2)), ((0, 4), (2, 7))], 1),
    ],
)
def test_parts_that_do_not_overlap(
    shape: tuple[int, ...], boxes: list[Box], concats: int, rng: np.random.Generator
) -> None:
    build = Builder()
    made = [padded(build, box, shape, f"p{i}") for i, box in enumerate(boxes)]
    params, terms = zip(*made, strict=True)
    left = counts(same_bits(Function(params, (summed(terms),)), rng))
    assert left["concat"] == concats and not left["add"] and not left["pad"], left


@pytest.mark.parametrize(
    ("boxes", "adds", "concats"),
    [
        ([((0, 3), (0, 3)), ((2, 5), (0, 3))], 1, 0),  # they overlap
        ([((0, 3), (0, 3)), ((2, 5), (0, 3)), ((0, 2), (0, 3)), ((3, 4), (0, 3))], 2, 1),
        ([((0, 5), (0, 1)), ((0, 1), (0, 3))], 1, 0),  # another axis
        ([((0, 2), (0, 1)), ((1, 5), (1, 2))], 1, 0),  # apart along one axis, and no grid
    ],
)
def test_parts_that_make_no_grid_are_added(
    boxes: list[Box], adds: int, concats: int, rng: np.random.Generator
) -> None:
    build = Builder()
    made = [padded(build, box, (5, 3), f"p{i}") for i, box in enumerate(boxes)]
    params, terms = zip(*made, strict=True)
    left = counts(same_bits(Function(params, (summed(terms),)), rng))
    assert (left["add"], left["concat"]) == (adds, concats), left


@pytest.mark.parametrize("where", [0, 2, 5])
def test_whole_tensors_among_parts(where: int, rng: np.random.Generator) -> None:
    build = Builder()
    made = [padded(build, box, (5, 3), f"p{i}") for i, box in enumerate(ROWS)]
    params, terms = map(list, zip(*made, strict=True))
    whole = build.parameter("whole", "float32", (5, 3))
    terms.insert(where, whole)
    left = counts(same_bits(Function((*params, whole), (summed(terms),)), rng))
    assert (left["add"], left["concat"]) == (1, 1), left


@pytest.mark.takes_long
def test_sums_in_any_order_keep_their_bits(rng: np.random.Generator) -> None:
    """Random trees of parts, some of which overlap, and of whole tensors."""
    for _ in range(40):
        build = Builder()
        params, terms = [], []
        for i in range(9):
            start, stop = sorted(rng.choice(9, 2, replace=False).tolist())
            box = (((start, stop), (0, 2)), ((0, 8), (0, 2)))[rng.random() < 0.2]
            param, term = padded(build, box, (8, 2), f"p{i}")
            params.append(param)
            terms.append(term if box[0] != (0, 8) else param)
        while len(terms) > 1:
            a, b = (terms.pop(int(rng.integers(len(terms)))) for _ in range(2))
            terms.append(a + b)
        same_bits(Function(tuple(params), tuple(terms)), rng)


def test_what_is_used_elsewhere_stays(rng: np.random.Generator) -> None:
    build = Builder()
    (a, wide), (b, other) = (padded(build, ROWS[i], (5, 3), f"p{i}") for i in range(2))
    function = Function((a, b), (wide + other + wide * 2,))
    assert side_by_side(function) is function


def test_many_parts_are_a_tree(rng: np.random.Generator) -> None:
    build = Builder()
    made = [padded(build, ((i, i + 1),), (300,), f"p{i}") for i in range(300)]
    params, terms = zip(*made, strict=True)
    changed = same_bits(Function(params, (summed(terms),)), rng)
    assert max(len(node.inputs) for node in changed.nodes) <= 128


def unrolled(steps: int, shape: list[int | None]) -> tuple[sg.Tensor, sg.Tensor]:
    """A recurrent net, written out step by step, and the derivative of its input."""
    x = sg.placeholder(sg.float32, shape)
    units = x.shape[-1].value
    h, w = sg.zeros_like(x[:, 0]), np.linspace(-1, 1, units**2).reshape(units, units).astype(np.float32)
    for t in range(steps):
        h = sg.tanh(sg.matmul(h, w) + x[:, t])
    return x, sg.gradients(h, x)[0]


@pytest.mark.parametrize("batch", [3, None])
def test_the_derivative_of_steps_takes_one_kernel_each(batch: int | None) -> None:
    """With a sum of padded tensors, twice as many kernels wrote 20 times as much memory."""
    x, slope = unrolled(20, [batch, 20, 16])
    with sg.Session() as session:
        compiled = session.executable(slope, {x: np.zeros((3, 20, 16))}).compiled
    assert len(compiled.program.instructions) <= 41
    assert len(compiled.codes) <= 8  # steps share their code, and parts of the concatenation a phase


@pytest.mark.takes_long
@pytest.mark.parametrize("shape", [[3, 6, 4], [None, 6, 4], [None, None, 4]])
def test_bits_are_those_of_sums(shape: list[int | None], rng: np.random.Generator) -> None:
    value = rng.normal(size=(3, 6, 4)).astype(np.float32)
    results = []
    for passes in ("", "-side_by_side"):
        with sg.Graph().as_default(), sg.Session(passes=passes) as session:
            x, slope = unrolled(6, shape)
            results.append(session.run(slope, {x: value}))
    assert np.array_equal(*results)
