"""The ops that have gradients, beside the tables of TensorFlow 1.15.5 in `tf1_gradients.json`."""

import json
from pathlib import Path

import staticgraph.tf1.compat.areas  # noqa: F401  imports all ops
from staticgraph.compiler.graph.opdef import OPS, Effect, Kind, OpDef, Role

TABLE = json.loads(Path(__file__).with_name("tf1_gradients.json").read_text())
GRADIENT, NONE, CONSTANT = (set(TABLE[key]) for key in ("gradient", "none", "constant"))

# TensorFlow has a gradient; here the op is a part of a function that has one.
PARTS = {"ascending_places", "partition_places", "stitch_sources"}
# TensorFlow has no gradient, and no derivative gets there: results or operands are integers, truth values
# or strings.
# fmt: off
NEVER_REACHED = {
    "broadcast_args", "count_below", "cross_op", "fixed_unigram_candidate_sampler", "in_top_k", "is_finite",
    "is_inf", "is_nan", "is_variable_initialized", "log_uniform_candidate_sampler", "lower_bound",
    "print_line", "random_uniform_int", "reduce_all", "reduce_any",
    "row_major_order", "uniform_candidate_sampler", "unravel_index", "upper_bound", "where",
}
# fmt: on
# TensorFlow has no gradient for the result of an assignment here, and none flows for that of `assign` there.
ASSIGNMENTS = {op.name for op in OPS.values() if op.effect is Effect.WRITE}
OURS = {op.name for op in OPS.values() if op.tf == op.name}  # TensorFlow has no such type


def takes_tensors(op: OpDef) -> bool:
    return any(p.role in (Role.TENSOR, Role.TENSORS) for p in op.params)


def cases(types: set[str]) -> list[OpDef]:
    return [op for op in OPS.values() if op.tf in types and takes_tensors(op) and op.name not in OURS]


def test_what_has_a_gradient_in_tf1_has_one():
    found = cases(GRADIENT - NONE)
    assert len(found) > 150
    assert not [op.name for op in found if op.name not in PARTS and op.differentiable is False]


def test_what_has_an_empty_gradient_in_tf1_is_constant():
    found = cases(NONE)
    assert found
    assert not [op.name for op in found if op.differentiable is not False or op.no_gradient_known]


def test_what_is_constant_in_tf1_is_no_error():
    found = cases(CONSTANT)
    assert len(found) > 50
    assert not [op.name for op in found if op.no_gradient_known]


def lacking() -> list[OpDef]:
    known = GRADIENT | CONSTANT | {"StopGradient"}
    plain = [op for op in OPS.values() if op.tf not in known and takes_tensors(op)]
    return [op for op in plain if op.differentiable is False and op.name not in OURS | ASSIGNMENTS]


def test_what_has_no_gradient_in_tf1_is_an_error():
    """Ops that only Python does are of strings and files, but for those that the next test names."""
    found = lacking()
    assert len(found) > 50
    silent = [op for op in found if not op.no_gradient_known and op.kind is not Kind.HOST]
    assert {op.name for op in silent} <= NEVER_REACHED


def test_what_is_known_to_lack_a_gradient():
    """A new op that joins these is to be looked at."""
    ours = [op for op in OPS.values() if op.name != "undefined_gradient"]
    names = {op.name: op.no_gradient_known for op in ours if op.no_gradient_known}
    assert names == {
        "betainc": (0, 1),
        "bitcast": True,
        "igamma_grad_a": (0,),
        "lu": True,
        "random_gamma_grad": True,
        "random_poisson": True,
        "random_shuffle": True,
        "setdiff1d": True,
        "unique": True,
        "unique_with_counts": True,
        "zeta": (0,),
    }
