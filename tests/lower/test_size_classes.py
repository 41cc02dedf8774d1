"""Kernels that differ in sizes alone share their code, and compute the same bits as without."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import generate, kernel_codes, share_kernels
from staticgraph.compiler.codegen.abi import KernelCode
from staticgraph.compiler.codegen.gemm import share_text
from staticgraph.compiler.codegen.gemm.share_text import emit_together
from staticgraph.compiler.codegen.llvm import merge_functions
from staticgraph.compiler.codegen.llvm.merge_functions import merged
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.open_sizes import of_data, to_data
from staticgraph.compiler.graph.sizes import MOST, bounds, is_open, symbol
from staticgraph.compiler.kernel.expr import Const, Index, Load, Reduce
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.compiler.kernel_codes import structure_of
from staticgraph.compiler.lower.closed import closed_work
from staticgraph.compiler.lower.program import Loops
from staticgraph.compiler.lower.size_classes import bounded_symbol, form_of, generalized
from staticgraph.compiler.share_kernels import shared
from staticgraph.compiler.size_rules import may_vary
from staticgraph.runtime.cpu.disk import disk_cache

N = symbol("n")
Build = Callable[[sg.Tensor, int], list[sg.Tensor]]


def scaled(rows, columns: int, factor: float = 2.0) -> Loops:
    i, c = Index("i", rows), Index("c", columns)
    buffers = (
        ("x", Buffer(float32, (rows, columns))),
        ("s", Buffer(float32, (columns,))),
        ("y", Buffer(float32, (rows, columns), written=True)),
    )
    value = Load("x", (i, c), float32) * Load("s", (c,), float32) * Const(factor, float32)
    return Loops((Nest((i, c), (Store("y", (i, c), value),)),), buffers)


def column_sums(rows: Sequence, columns: int, product: bool = False) -> Loops:
    at = [Index(f"r{d}", n) for d, n in enumerate(rows)]
    c = Index("c", columns)
    buffers = [("x", Buffer(float32, (*rows, columns))), ("s", Buffer(float32, (columns,)))]
    buffers.append(("y", Buffer(float32, (columns,), written=True)))
    value = Load("x", (*at, c), float32)
    if product:  # which reads no rows
        value = Load("s", (c,), float32) * Load("s", (c,), float32)
    total = Reduce(tuple(at), "add", value)
    around = tuple(Index(f"i{d}", n) for d, n in enumerate(rows))
    return Loops((), tuple(buffers), around, (Nest((c,), (Store("y", (c,), total),)),))


def test_a_kernel_of_open_sizes_is_each_of_those_that_it_was_made_of():
    works = [scaled(N * 4, 32), scaled(N * 16, 96), scaled(N * 64, 144)]
    forms = [form_of(work) for work in works]
    assert len({form.key for form in forms}) == 1
    whole, cases = generalized(works[0], [*zip(*(form.numbers for form in forms), strict=True)])
    for n in (0, 3):
        for work, case in zip(works, cases, strict=True):
            made, meant = closed_work(whole, case | {"n": n}), closed_work(work, {"n": n})
            assert structure_of(made) == structure_of(meant)


def test_sizes_keep_what_they_have_in_common():
    forms = [form_of(scaled(N, columns)) for columns in (32, 96, 144)]
    whole, _ = generalized(scaled(N, 32), [*zip(*(form.numbers for form in forms), strict=True)])
    columns = whole.nests[0].domain[1].extent
    assert bounds(columns) == (32, 144)
    assert columns % 16 == 0


@pytest.mark.parametrize("other", [scaled(N, 96, 3.0), column_sums([N, 8], 32), scaled(N * N, 32)])
def test_what_differs_in_more_is_another_form(other: Loops):
    assert form_of(scaled(N, 32)).key != form_of(other).key


def test_rules_of_sums():
    assert may_vary(scaled(7, 32), 64)
    assert may_vary(column_sums([N, 8, 8], 32), 64)
    assert not may_vary(column_sums([32, 8, 8], 32), 64)  # blocks depend on how many rows there are
    assert not may_vary(column_sums([N, 8, 8], 8), 64)  # rows are in lanes
    assert not may_vary(column_sums([N, 2, 2], 32), 64)  # and on how many more there are if these are few


def test_rules_of_products_that_are_added():
    """One that a loop need not repeat is rounded before it is added if there is no loop over columns."""
    assert may_vary(column_sums([N, 8, 8], 96, product=True), 64)
    for columns in (32, 144):  # one vector of two registers, and some columns left over
        assert not may_vary(column_sums([N, 8, 8], columns, product=True), 64)


def normalized(x: sg.Tensor, width: int) -> list[sg.Tensor]:
    """Batch normalization with its gradients: sums of columns, and what is made of them."""
    scale, shift = (sg.Variable(np.linspace(0.5, 1.5, width).astype("f4")) for _ in range(2))
    made = sg.nn.relu6(sg.nn.fused_batch_norm(x, scale, shift, epsilon=1e-5)[0])
    return [made, *sg.gradients(sg.tanh(made), [x, scale, shift])]


def activated(x: sg.Tensor, width: int) -> list[sg.Tensor]:
    shift = sg.Variable(np.linspace(-1, 1, width).astype("f4"))
    return [sg.tanh(x * 1.5 + shift) * sg.sigmoid(x)]


SHAPES = ((4, 576), (8, 384), (16, 192), (12, 96), (6, 144))
FIRST = 32
ALL = FIRST + sum(side * side * width for side, width in SHAPES)  # of each fed row; all have one batch


def results(layer: Build, batches: Sequence[int], fixed: int | None, passes: str) -> list[bytes]:
    """The bytes of all results of layers of different sizes, side by side."""
    rng = np.random.default_rng(3)
    found: list[bytes] = []
    with sg.Graph().as_default():
        fed, start, fetches = sg.placeholder(sg.float32, [fixed, ALL]), FIRST, []
        for side, width in SHAPES:
            part, start = fed[:, start : start + side * side * width], start + side * side * width
            fetches.append(layer(sg.reshape(part, [-1, side, side, width]), width))
        with sg.Session(device="cpu", passes=passes) as session:
            session.run(sg.global_variables_initializer())
            for batch in batches:
                made = session.run(fetches, {fed: rng.normal(size=(batch, ALL)).astype("f4")})
                found += [array.tobytes() for each in made for array in each]
    return found


@pytest.mark.takes_long
@pytest.mark.parametrize(
    ("layer", "fixed", "count"), [(normalized, None, 9), (activated, None, 5), (activated, 3, 5)]
)
def test_the_bits_are_those_of_code_for_each_size(
    layer: Build, fixed: int | None, count: int, generated: list[Loops], monkeypatch: pytest.MonkeyPatch
):
    sharing: list[Loops] = []

    def counted(*arguments):
        for work, code in shared(*arguments):
            sharing.append(work)
            yield work, code

    monkeypatch.setattr(share_kernels, "shared", counted)
    batches = (3, 3) if fixed else (3, 70)
    ours, own = (results(layer, batches, fixed, passes) for passes in ("", "-size_classes"))
    assert len(sharing) >= count, len(sharing)
    assert ours == own


@pytest.mark.takes_long
def test_sums_of_known_batches_share_functions_and_keep_their_bits(
    generated: list[Loops], monkeypatch: pytest.MonkeyPatch
):
    """Sizes decide in which order they are added, so each kernel is scheduled for itself."""
    made: list[KernelCode] = []

    def recorded(codes: Sequence[KernelCode]) -> list[KernelCode]:
        found = merged(codes)
        made.extend(found)
        return found

    monkeypatch.setattr(merge_functions, "merged", recorded)
    ours, own = (results(normalized, (3, 3), 3, passes) for passes in ("", "-size_classes"))
    assert ours == own
    numbered = [phase for code in made for phase in code.phases if phase.numbers]
    assert len({phase.code.name for phase in numbered}) <= len(numbered) // 2, numbered


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[Loops]:
    """The kernels of loops that were generated, from an empty cache."""
    works: list[Loops] = []
    generate = kernel_codes._generated

    def record(work, *arguments):
        works.extend([work] if isinstance(work, Loops) else [])
        return generate(work, *arguments)

    monkeypatch.setattr(kernel_codes, "_emitted", type(kernel_codes._emitted)())
    monkeypatch.setattr(kernel_codes, "_generated", record)
    monkeypatch.setattr(disk_cache, "KEPT", None)
    return works


def test_code_is_generated_once_for_many_sizes(generated: list[Loops]):
    counts = []
    for passes in ("", "-size_classes"):
        generated.clear()
        kernel_codes._emitted.clear()
        results(activated, (2,), None, passes)
        counts.append(len(generated))
    assert counts == [1, len(SHAPES)]


def test_two_kernels_have_their_own_code(generated: list[Loops]):
    x, y = (sg.placeholder(sg.float32, [None, width]) for width in (32, 96))
    with sg.Session(device="cpu") as session:
        session.run([sg.tanh(x), sg.tanh(y)], {x: np.ones((2, 32)), y: np.ones((2, 96))})
    assert generated
    columns = [index.extent for work in generated for index in work.nests[0].domain[1:]]
    assert not is_open(columns)


def test_a_kernel_is_scheduled_once_though_it_is_asked_if_it_may_share_code(monkeypatch: pytest.MonkeyPatch):
    scheduled, schedule = [], generate.schedule
    monkeypatch.setattr(generate, "schedule", lambda *a: (scheduled.append(a), schedule(*a))[1])
    many, few = column_sums((N, 4, 4), 4096), column_sums((N, 4, 4), 32)
    assert (generate.adds_in_chunks(many, 64), generate.adds_in_chunks(few, 64)) == (True, False)
    ahead = generate.in_phases(many, 64)
    assert len(scheduled) == 2
    again = generate.in_phases(many, 64)
    assert len(scheduled) == 3  # it is not kept for longer
    assert [*map(structure_of, ahead.phases)] == [*map(structure_of, again.phases)]


def test_few_products_do_not_wait_for_others_that_are_alike(
    generated: list[Loops], monkeypatch: pytest.MonkeyPatch
):
    table, counts = kernel_codes.KernelCodes, []

    def launched(self, launch, before=table.launched):
        before(self, launch)
        counts.append(len(generated))
        return launch

    monkeypatch.setattr(table, "launched", launched)
    x = [sg.placeholder(sg.float32, [8, n]) for n in (16, 32, 48, 64)]
    products = [sg.matmul(each, sg.constant(np.ones((each.shape[1], 16), "f4"))) for each in x]
    with sg.Session(device="cpu") as session:
        session.run(products, {each: np.ones(each.shape, "f4") for each in x})
    assert counts == [1, 2, 3, 4]


def test_products_that_are_done_alike_share_functions(monkeypatch: pytest.MonkeyPatch):
    """A net of eight layers and its gradients, with the bits of code for each product."""
    made: list[dict[int, KernelCode]] = []

    def recorded(*arguments):
        made.append(dict(emit_together(*arguments)))
        return made[-1].items()

    def trained(passes: str) -> list[bytes]:
        with sg.Graph().as_default():
            y = x = sg.placeholder(sg.float32, [None, 64])
            for n, width in enumerate((128, 256, 512, 128, 256, 512, 64, 16)):
                values = np.random.default_rng(n).normal(size=(y.shape[1], width)) / 10
                y = sg.nn.relu(sg.matmul(y, sg.Variable(values.astype("f4"), name=f"w{n}")))
            loss = sg.reduce_mean(y * y)
            step = [loss, sg.train.GradientDescentOptimizer(0.1).minimize(loss)]
            with sg.Session(device="cpu", passes=passes) as session:
                session.run(sg.global_variables_initializer())
                fed = {x: np.random.default_rng(9).normal(size=(640, 64)).astype("f4")}
                return [session.run(step, fed)[0].tobytes() for _ in range(3)]

    monkeypatch.setattr(share_text, "emit_together", recorded)
    monkeypatch.setattr(kernel_codes, "_emitted", type(kernel_codes._emitted)())
    monkeypatch.setattr(disk_cache, "KEPT", None)
    assert trained("") == trained("-size_classes")
    (codes,) = made
    names = {phase.code.name for code in codes.values() for phase in code.phases}
    assert len(names) < len(codes)


def test_the_name_of_a_size_with_a_bound_tells_the_bound():
    assert bounds(of_data(to_data(bounded_symbol(3, 7) * 2 + 1))) == (1, 15)
    assert bounds(symbol("cases")) == (0, MOST)
