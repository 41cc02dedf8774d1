"""Every op of the registry as an ONNX model: it passes onnx's checks and gives the numbers of our meaning."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, bfloat16, float32
from staticgraph.compiler.graph.errors import SaveError, UnimplementedError
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import OPS, Effect, Kind, OpDef
from staticgraph.formats.onnx.export import OPSETS
from staticgraph.formats.onnx.write.operations import BY_NAME
from staticgraph.formats.onnx.write.rules import RULES, WITHOUT, reason
from tests.onnx.exporting import checked, evaluator, export, onnxruntime, run
from tests.ops.harness import TESTED, TOLERANCE, Use, dtype_choices, uses
from tests.ops.test_registry import reference

# Ops that have indices: outside of a tensor ours give zeros or nothing, where ONNX stops.
INDEXED = {
    "gather",
    "gather_nd",
    "in_top_k",
    "scatter_nd",
    "tensor_scatter_add",
    "tensor_scatter_sub",
    "tensor_scatter_update",
}
# Types that an op cannot be written of, though it can of others.
REFUSED = {
    "max_pool": {"int64", "uint64"},
    "max_pool3d": {"int64", "uint64"},
    "max_pool_with_argmax": {"int64", "uint64"},
    "pow": {"uint64"},
    "bitcast": {d.name for d in OPS["bitcast"].dtypes["T"]},
}
# Where the programs that run the models are known to be wrong, or to round otherwise.
INEXACT = {
    ("broadcast_to", "bfloat16"),  # onnxruntime gives one element if there are none
    ("depthwise_conv2d_native_backprop_input", "float64"),  # onnx's evaluator has no ConvTranspose of groups
    ("erf", "float64"),
    ("erfc", "float64"),  # onnx's evaluator computes in float32
    ("floor_div", "float16"),  # onnxruntime does not round the quotient before it takes the floor
}


def _choices(op: OpDef) -> list[dict[str, DType]]:
    """Dtypes by letter, the usual ones first. ONNX's operators take no complex numbers."""
    return [c for c in dtype_choices(op) if not any(d.is_complex for d in c.values())]


# Ops of which some uses, or all, can be written only where the sizes of their inputs are known.
# fmt: off
NEEDS_SIZES = {
    "avg_pool", "avg_pool3d", "bincount", "conv2d", "conv2d_backprop_input", "conv3d",
    "conv3d_backprop_input", "crop_and_resize", "cumprod", "cumulative_logsumexp",
    "depthwise_conv2d_native", "depthwise_conv2d_native_backprop_input", "diag", "diag_part", "dilation2d",
    "extract_image_patches", "extract_volume_patches", "fused_batch_norm", "gather_nd", "inferred_size",
    "interior_pad", "interleave", "is_permutation", "matrix_diag", "matrix_diag_part", "matrix_set_diag",
    "max_pool", "max_pool3d", "max_pool_with_argmax", "mirror_pad",
    "mirror_pad_grad", "nth_element", "reshape", "resize_area", "resize_bicubic",
    "roll", "row_major_order", "rows_ascend", "sparse_softmax_cross_entropy", "squeeze", "tensor_array_grow",
    "tensor_array_scatter", "tensor_array_write",  # into rows of another open length
}
# fmt: on
VALUES = {"variable", "region_parameter", "no_op"}  # there is nothing to write: they have a value, or none
WRITTEN = [op for op in TESTED if op.name not in WITHOUT and op.effect is not Effect.RANDOM and _choices(op)]
USUAL = [pytest.param(op, _choices(op)[0], id=op.name) for op in WRITTEN]
OTHERS = [
    pytest.param(op, choice, id="-".join([op.name, *(d.name for d in choice.values())]))
    for op in WRITTEN
    for choice in _choices(op)[1:]
]


def model_of(use: Use, opset: int = 21, known: bool = True):
    """The model of a use, its inputs of `known` sizes or not.

    NumPy has no bfloat16: such values go in and out as float32.
    """
    graph = Graph()
    with graph.as_default():
        feeds, inputs = {}, []
        for i, (array, dtype) in enumerate(use.seen):
            shape = array.shape if known else (None,) * array.ndim
            given = sg.placeholder(float32 if dtype is bfloat16 else dtype, shape, name=f"x{i}")
            feeds[given] = array
            inputs.append(ops.cast(given, dtype=bfloat16) if dtype is bfloat16 else given)
        results = use.call(inputs)
        fetches = [ops.cast(t, dtype=float32) if t.dtype is bfloat16 else t for t in results]
        model = export({f"y{i}": t for i, t in enumerate(fetches)}, feeds=list(feeds), opset=opset)
    return model, {t.op.name: array for t, array in feeds.items()}, [t.dtype for t in results]


def computed(theirs, model, feeds):
    """Return the results of onnxruntime, or of onnx's own evaluator if it lacks an operator for a type."""
    try:
        return run(model, feeds)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return evaluator(theirs).run(None, feeds)


def check(op: OpDef, choice: dict[str, DType], opset: int = 21) -> None:
    name = choice["T"].name if "T" in choice else ""
    for use in uses(op, choice):
        try:
            model, feeds, dtypes = model_of(use, opset)
        except UnimplementedError:
            assert name in REFUSED.get(op.name, ()), use
            continue
        theirs = checked(model)
        try:
            found = computed(theirs, model, feeds)
        except (onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument, ValueError) as error:
            outside = op.name in INDEXED and "ind" in str(error)
            assert outside or (op.name, name) in INEXACT, use
            continue
        if (op.name, name) not in INEXACT:
            for made, wanted, dtype in zip(found, reference(use), dtypes, strict=True):
                same(made, wanted, dtype, str(use))


def same(made: np.ndarray, wanted: np.ndarray, dtype: DType, what: str) -> None:
    """Equal types and shapes, and numbers up to rounding: models have other formulas than our kernels."""
    with np.errstate(over="ignore"):
        wanted = dtype.round(wanted)
    assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape), what
    if not dtype.is_floating:
        np.testing.assert_array_equal(made, wanted, err_msg=what)
        return
    rtol = 4 * TOLERANCE.get(dtype.name, 1e-12)
    largest = float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0))
    np.testing.assert_allclose(
        made.astype(np.float64), wanted.astype(np.float64), rtol, rtol * largest, err_msg=what
    )


@pytest.mark.takes_long
@pytest.mark.parametrize(("op", "choice"), USUAL)
def test_gives_the_same_numbers(op: OpDef, choice: dict[str, DType]):
    check(op, choice)


@pytest.mark.takes_long
@pytest.mark.parametrize(("op", "choice"), USUAL)
def test_sizes_that_are_not_known(op: OpDef, choice: dict[str, DType]):
    """The same numbers where a model can do without; else an error that says what must be known."""
    for use in uses(op, choice):
        try:
            model, feeds, dtypes = model_of(use, known=False)
        except (UnimplementedError, SaveError) as error:
            assert op.name in REFUSED or (op.name in NEEDS_SIZES and "known" in str(error)), use
            continue
        checked(model)
        try:
            found = run(model, feeds)
        except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument:
            assert op.name in INDEXED, use
            continue
        except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
            assert op.name == "split" and 0 in use.arrays[0].shape  # onnxruntime divides nothing into parts
            continue
        for made, wanted, dtype in zip(found, reference(use), dtypes, strict=True):
            same(made, wanted, dtype, str(use))


@pytest.mark.slow
@pytest.mark.parametrize(("op", "choice"), OTHERS)
def test_gives_the_same_numbers_of_other_types(op: OpDef, choice: dict[str, DType]):
    check(op, choice)


@pytest.mark.slow
@pytest.mark.parametrize("opset", [n for n in OPSETS if n != 21])
@pytest.mark.parametrize(("op", "choice"), USUAL)
def test_gives_the_same_numbers_in_other_opsets(op: OpDef, choice: dict[str, DType], opset: int):
    check(op, choice, opset)


@pytest.mark.parametrize(
    "op",
    [pytest.param(op, id=op.name) for op in TESTED if op.effect is Effect.RANDOM and op.name not in WITHOUT],
)
def test_random_numbers_have_the_right_type(op: OpDef):
    for use in uses(op, _choices(op)[0]):
        model, feeds, _ = model_of(use)
        checked(model)
        (found,), (output,) = run(model, feeds), model.graph.output
        assert list(found.shape) == [dim.dim_value for dim in output.type.tensor_type.shape.dim], use


def has_form(op: OpDef) -> bool:
    """Return True if there is a rule for an op, or a definition in terms of others that have one."""
    by_definition = (
        op.kind in (Kind.COMPOSITE, Kind.MOVEMENT, Kind.ASSEMBLY)
        or (op.kind is Kind.ELEMENTWISE and op.primitive is None)
        or op.effect is Effect.EFFECT
    )
    return op.name in RULES or op.name in BY_NAME or op.alias is not None or by_definition


def test_each_op_has_a_form_or_a_reason_why_not():
    """A new op must decide: a rule in one of the files `write_*`, or a line in a table there."""
    assert len(OPS) > 400
    assert not [op.name for op in OPS.values() if not (reason(op) or has_form(op) or op.name in VALUES)]


def test_reasons_are_of_ops_that_have_no_form():
    assert not {name for name in WITHOUT if name in RULES or name not in OPS}


def test_any_of_nothing_is_false_and_all_of_it_is_true():
    x = sg.placeholder(sg.bool, [2, 0], name="x")
    found = run(export([sg.reduce_any(x, axis=1), sg.reduce_all(x, axis=1)]), {"x": np.ones((2, 0), bool)})
    assert [each.tolist() for each in found] == [[False, False], [True, True]]


def test_one_that_is_refused_tells_line_and_reason():
    with Graph().as_default():
        y = sg.math.lgamma(sg.placeholder(sg.float32, [2]), name="gamma")
    with pytest.raises(
        UnimplementedError, match=r"gamma \(Lgamma\).* ONNX has no gamma(.|\n)*test_export_ops"
    ):
        export(y)
