"""Every op against its own description: meaning, type, compiled form, gradient, errors, saving.

None is named but those without samples.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.autodiff.reverse import lacking_inputs, reached_inputs, vjp
from staticgraph.compiler.graph.builder import Builder, infer_dtype
from staticgraph.compiler.graph.checks.verify import verify
from staticgraph.compiler.graph.dtypes import ANY, DTYPES, DType, complex128, float64, string
from staticgraph.compiler.graph.errors import DtypeError, ShapeError
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.opdef import OPS, PRIMITIVE_OPS, Effect, Kind, OpDef, Role, recording
from staticgraph.compiler.graph.shapes import compatible
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.kernel.primitives.functions import PRIMITIVES
from staticgraph.compiler.kernel.primitives.instructions import CONVERSIONS
from staticgraph.compiler.passes.pipeline import PIPELINE
from staticgraph.runtime.cpu.executable import evaluate
from staticgraph.runtime.files import graph_json
from tests.derivatives.registry import invariants
from tests.ops.harness import TESTED, Build, Use, as_tuple, assert_same, dtype_choices, tensor_params, uses
from tests.repetitions import share

CHOICES = [
    pytest.param(op, choice, id="-".join([op.name, *(d.name for d in choice.values())]))
    for op in TESTED
    for choice in dtype_choices(op)
]
# Attributes whose name says it all, or that many ops share and the manual explains once.
# fmt: off
OBVIOUS = {
    "axis", "data_format", "dilations", "dtype", "explicit_paddings", "keepdims", "ksize", "name", "out_idx",
    "out_type", "output_type", "padding", "seed", "seed2", "shape", "strides", "type",
}
# fmt: on
BROADCASTING = [
    op
    for op in TESTED
    if op.kind is Kind.ELEMENTWISE and len(op.params) > 1 and op.params[1].role is Role.TENSOR
]
each_op = pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in TESTED])


def reference(use: Use) -> tuple[np.ndarray, ...]:
    """The op's NumPy meaning on the arrays of `use`."""
    _, results = Build().add(use)
    node = results[0].node
    with np.errstate(all="ignore"):
        return as_tuple(node.op.meaning(*use.arrays, **node.attrs))


@pytest.mark.takes_long
@each_op
def test_meaning_has_the_predicted_type(op: OpDef):
    """At every sample in the usual dtypes, and at the first one in others."""
    choices = enumerate(dtype_choices(op))
    for use in (use for n, choice in choices for use in uses(op, choice)[: 1 if n else None]):
        _, results = Build().add(use)
        for result, array in zip(results, reference(use), strict=True):
            assert np.asarray(array).dtype == result.dtype.numpy, use
            assert np.shape(array) == result.shape, use


@pytest.mark.takes_long
@each_op
def test_type_with_unknown_sizes(op: OpDef):
    """With sizes or ranks unknown, the user's graph knows less of the truth, and never anything else."""
    for use in uses(op, next(dtype_choices(op))):
        _, results = Build().add(use)
        for shape in (lambda a: (None,) * a.ndim, lambda a: None):
            with Graph().as_default():
                made = use.call([ops.placeholder(d, shape(a)) for a, d in use.seen])
            for tensor, result in zip(made, use.seen_results(results), strict=True):
                assert tensor.dtype is result.dtype, use
                assert compatible(tensor.type.shape, result.type.shape), (str(use), tensor)


@pytest.mark.takes_long
@each_op
def test_type_with_unknown_operands(op: OpDef):
    """The same holds if sizes, axes and the like are tensors that depend on what is fed."""
    for use in uses(op, next(dtype_choices(op))):
        _, results = Build().add(use)
        for shape in (lambda a: a.shape, lambda a: None):
            with Graph().as_default():
                fed = {n: ops.placeholder(infer_dtype(a.tolist()), shape(a)) for n, a in use.operands.items()}
                made = use.call([ops.placeholder(d, a.shape) for a, d in use.seen], **fed)
            for tensor, result in zip(made, use.seen_results(results), strict=True):
                assert tensor.dtype is result.dtype, use
                assert compatible(tensor.type.shape, result.type.shape), (str(use), tensor)


@each_op
def test_compiled_equals_meaning(op: OpDef):
    check_compiled(op, every=False)


@pytest.mark.slow
@each_op
def test_compiled_equals_meaning_at_every_sample(op: OpDef):
    check_compiled(op, every=True)


def check_compiled(op: OpDef, every: bool) -> None:
    made = compiled(op, every)
    assert made
    for use, dtype, meant, array in made:
        assert_same(array, dtype.round(meant), dtype, str(use))


def compiled(op: OpDef, every: bool) -> list[tuple[Use, DType, Any, np.ndarray]]:
    """The uses of an op, the dtype of each result, its meaning, and what compiled code gives. All are one
    program, which is sooner compiled than many.

    If not `every`, the usual dtypes meet a third of the samples, and an eighth of the others one sample, by
    turns. All instructions of all dtypes are in codegen/test_llvm_scalar.py.
    """
    build, wanted, found = Build(), [], []
    place = TESTED.index(op)
    usual, *others = dtype_choices(op)
    used = uses(op, usual) if every else share(uses(op, usual), 3, place)
    for number, choice in enumerate(others if every else share(others, 8, place)):
        more = uses(op, choice)
        used += more if every else [more[(number + place) % len(more)]]
    for use in used:
        _, results = build.add(use)
        pairs = zip(results, reference(use), strict=True)
        wanted += [(use, result.dtype, array) for result, array in pairs]
        found += results
    arrays = evaluate(build.function(found), build.arrays)
    return [(*told, array) for told, array in zip(wanted, arrays, strict=True)]


@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in TESTED if op.kind is Kind.ELEMENTWISE])
def test_body_read_as_ops_equals_meaning(op: OpDef):
    """Bodies are differentiated in this reading."""
    for use in uses(op, next(dtype_choices(op))):
        build = Build()
        inputs, _ = build.add(use)
        result = op.body(*inputs, **use.sample.attrs)
        [made] = interpret(build.function([result]), build.arguments)
        assert_same(made, reference(use)[0], result.dtype, str(use))


def inner(a: np.ndarray, b: np.ndarray) -> float:
    """Return how far a loss with the gradient `a` moves with `b`."""
    return float(np.real(np.vdot(a, b)))


def known(inputs: Sequence[Value], results: Sequence[Value]) -> list[Value]:
    """The inputs but for those by which a derivative exists that is not known: taking it is an error."""
    lacking = lacking_inputs(results[0].node)
    return [x for x in inputs if x not in lacking]


EXACT = [choice for choice in CHOICES if choice.values[1].get("T", float64) in (float64, complex128)]


# The distribution of a random number decides its derivative, not how it is drawn: see test_distributions.py.
SMOOTH = [choice for choice in EXACT if choice.values[0].effect is not Effect.RANDOM]


@pytest.mark.takes_long
@pytest.mark.parametrize(("op", "choice"), SMOOTH)
def test_gradient_equals_differences(op: OpDef, choice: dict[str, DType], rng: np.random.Generator):
    for use in uses(op, choice):
        check_gradient(use, rng)


def check_gradient(use: Use, rng: np.random.Generator) -> None:
    """Along a random direction, against central differences. No gradient where the op declares none."""
    build = Build()
    inputs, results = build.add(use)
    with recording(build.builder):
        ys = [r for r in invariants(use, results) if r.dtype in (float64, complex128)]
    if not ys:
        return
    seeds = [build.parameter(random_like(r, rng), r.dtype) for r in ys]
    inputs = known(inputs, results)
    grads = dict(zip(inputs, vjp(build.builder, ys, seeds, inputs), strict=True))
    reached = {x for _, x in reached_inputs(results[0].node) if x.size}
    smooth = [x for x in inputs if grads[x] is not None and x.size]
    assert set(smooth) == reached, use
    directions = {x: random_like(x, rng) for x in smooth}
    slopes = interpret(build.function([grads[x] for x in smooth]), build.arguments)
    assert [(g.dtype, g.shape) for g in slopes] == [(x.dtype.numpy, x.shape) for x in smooth], use

    def loss(step: float) -> float:
        moved = {x: build.arguments[x] + step * d for x, d in directions.items()}
        values = interpret(build.function(ys), build.arguments | moved)
        return sum(inner(build.arguments[s], v) for s, v in zip(seeds, values, strict=True))

    slope = sum(inner(g, directions[x]) for g, x in zip(slopes, smooth, strict=True))
    expected = (loss(1e-6) - loss(-1e-6)) / 2e-6
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-6, err_msg=str(use))


@pytest.mark.takes_long
@pytest.mark.parametrize(("op", "choice"), EXACT)
def test_optimized_equals_plain(op: OpDef, choice: dict[str, DType]):
    """Values and gradients, by the interpreter: before the passes and after them.

    The weights of results differ: equal ones make derivatives of normalized values nothing but rounding.
    """
    rng = np.random.default_rng(0)
    for use in uses(op, choice):
        build = Build()
        inputs, results = build.add(use)
        ys = [r for r in results if r.dtype.is_differentiable]
        seeds = [build.parameter(random_like(r, rng), r.dtype) for r in ys]
        grads = [g for g in vjp(build.builder, ys, seeds, known(inputs, results)) if g is not None]
        plain = build.function([*results, *grads])
        optimized = PIPELINE(plain)
        verify(optimized)
        pairs = zip(interpret(plain, build.arguments), interpret(optimized, build.arguments), strict=True)
        for (before, after), value in zip(pairs, plain.results, strict=True):
            assert_same(after, before, value.dtype, str(use))


def random_like(value, rng: np.random.Generator) -> np.ndarray:
    imaginary = 1j * rng.uniform(0.5, 1.5, value.shape) if value.dtype.is_complex else 0.0
    return value.dtype.round(rng.uniform(0.5, 1.5, value.shape) + imaginary)


@pytest.mark.takes_long
@each_op
def test_gradient_is_differentiable(op: OpDef):
    """The gradient is made of ops that have gradients: second derivatives exist wherever first ones do."""
    for use in uses(op, next(dtype_choices(op)))[:1]:
        build = Build()
        inputs, results = build.add(use)
        ys = [r for r in results if r.dtype.is_differentiable]
        first = [g for g in vjp(build.builder, ys, [None] * len(ys), inputs) if g is not None]
        vjp(build.builder, first, [None] * len(first), inputs)


def refused(op: OpDef) -> list[DType]:
    """The dtypes that the tensors of an op may not have."""
    taken = op.dtypes.get("T", ANY) | ({string} if op.strings else set())
    return [d for d in DTYPES.values() if d not in taken]


RESTRICTED = [
    op for op in TESTED if "T" in next(dtype_choices(op)) and op.effect is not Effect.RANDOM and refused(op)
]


@pytest.mark.takes_long
@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in RESTRICTED])
def test_refuses_other_dtypes(op: OpDef):
    choice = next(dtype_choices(op))
    other = refused(op)[0]
    for use in uses(op, choice):
        letters = [p.var for p, n in tensor_params(op, len(use.arrays)) for _ in range(n)]
        dtypes = [other if var == "T" else d for var, d in zip(letters, use.dtypes, strict=True)]
        with Graph().as_default(), pytest.raises(DtypeError, match="must be"):
            use.call([ops.placeholder(d, a.shape) for a, d in zip(use.arrays, dtypes, strict=True)])


@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in BROADCASTING])
def test_refuses_shapes_that_do_not_broadcast(op: OpDef):
    use = uses(op, next(dtype_choices(op)))[0]
    shapes = [(2,), *[(3,) for _ in use.arrays[1:]]]
    with Graph().as_default(), pytest.raises(ShapeError, match="do not broadcast"):
        use.call([ops.placeholder(d, s) for d, s in zip(use.dtypes, shapes, strict=True)])
    build = Builder()
    with pytest.raises(ShapeError, match="do not broadcast"):
        use.apply(build, [build.parameter(str(s), d, s) for d, s in zip(use.dtypes, shapes, strict=True)])


def test_each_is_documented():
    """The manual is made of the docstrings: a first sentence, and every attribute named or obvious."""
    for op in OPS.values():
        summary = op.doc.split("\n\n")[0].strip()
        assert summary.endswith("."), f"{op.name}: {summary}"
        attributes = {p.name for p in op.params if p.role in (Role.OPERAND, Role.ATTR)}
        unnamed = {name for name in attributes - OBVIOUS if not re.search(rf"\b{name}\b", op.doc)}
        assert not unnamed, op.name


@pytest.mark.takes_long
@each_op
def test_saved_and_loaded_is_the_same_operation(op: OpDef):
    """Nothing of an op is written for files: what is recorded of a use says all that there is to it."""
    graph = Graph()
    with graph.as_default():
        for use in uses(op, next(dtype_choices(op))):
            inputs = [ops.placeholder(d, a.shape) for a, d in use.seen]
            for place, each in enumerate(inputs):
                if use.changes(place):
                    inputs[place] = ops.variable(dtype=each.dtype, shape=each.type.shape)
            use.call(inputs)
    made = graph.get_operations()
    text, large = graph_json.write(made, [])
    loaded, _ = graph_json.read(memoryview(text), large.__getitem__)
    assert [recorded(o) for o in loaded.get_operations()] == [recorded(o) for o in made]
    assert any(o.definition is op for o in made)


def recorded(operation: Operation) -> tuple[Any, ...]:
    """Return an operation as data, without the graph that it is in."""
    return (
        operation.name,
        operation.definition,
        [t.name for t in operation.tensors],
        {name: t.name for name, t in operation.operands.items()},
        repr(operation.attrs),  # a NaN equals itself only in print
        [t.type for t in operation.outputs],
    )


# Known to the compiler by name, or filled in by the session: their tests are those of graphs and sessions,
# of loops and branches, of assertions and prints.
# fmt: off
WITHOUT_SAMPLES = {
    "assert_true", "branch", "branch_region", "check_numerics", "constant", "cotangent", "custom_gradient",
    "custom_vjp", "effect", "extents",
    "identity", "initialized_value", "is_variable_initialized", "loop", "no_op", "override",
    "parameter", "placeholder", "placeholder_with_default", "print_line", "print_values", "rank_of",
    "read_value", "read_variable", "reads_of", "region_parameter", "report_uninitialized", "seed", "shape_of",
    "size_of", "stationary", "stop_gradient", "symbolic_gradients", "tensor_array", "undefined_gradient",
    "unset", "vanishing",
    "variable", "watch", "while_region", "worker_rank",
}
# fmt: on


def test_has_samples():
    """Whatever is compiled is tested here; a new op cannot be forgotten."""
    compiled = [op for op in OPS.values() if op.kind is not Kind.HOST]
    assert {op.name for op in compiled if op.samples is None} == WITHOUT_SAMPLES


def test_each_has_three_samples():
    """One shape proves little: a formula may be right by accident of its sizes."""
    assert not [op.name for op in TESTED if len(uses(op, next(dtype_choices(op)))) < 3]


def test_size_of_the_dense_core():
    """Ops with kernels of their own, beside those that are written in terms of others or call NumPy."""
    native = [op for op in OPS.values() if op.element or op.pieces or op.statements]
    assert len(native) >= 130


def test_every_primitive_is_an_op():
    """So that every scalar body can be read as ops."""
    assert set(PRIMITIVE_OPS) == set(PRIMITIVES) | set(CONVERSIONS)
