"""Every op on operands of every other size: its type rule refuses them, or they compute what the op means.

A part of the variants is put to the type rules; a few are compiled and run, in processes of their own, with
pages around their memory that nobody may touch. `tools/fuzz/operands.py` does it with all of them.
"""

from __future__ import annotations

import subprocess
import sys
from functools import reduce
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.capture.walk import RULES, CaptureRule
from staticgraph.compiler.compile import optimize
from staticgraph.compiler.graph.opdef import OpDef
from staticgraph.compiler.kernel.indices.in_bounds import _Prover
from staticgraph.compiler.lower.lower import lower
from tests.audit.trial import judged, meaning
from tests.audit.turns import in_turn
from tests.audit.variants import attributes, samples, sizes, with_attribute, with_shape
from tests.ops.harness import TESTED, Build, Use

ROOT = Path(__file__).resolve().parents[2]
FEW = 12  # variants of each sample that are put to the rules in a test
each_op = pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in TESTED])


@pytest.mark.takes_long
@each_op
def test_a_type_rule_takes_what_the_meaning_takes(op: OpDef):
    """A rule that does not look at an operand lets it pass, and NumPy does not."""
    chance = Random(op.name)
    for use in samples(op)[:3]:
        for variants in (list(sizes(use)), list(attributes(use))):
            for variant in chance.sample(variants, min(FEW, len(variants))):
                found = meaning(variant)
                assert isinstance(found, tuple) or "refused" in found, (str(variant), found)


def sample(name: str, number: int = 0) -> Use:
    [op] = [op for op in TESTED if op.name == name]
    return samples(op)[number]


# Uses that a rule let pass although it should not, or that a meaning did not know.
FOUND = {
    "a vector of constants to pad with": (with_shape(sample("pad_v2"), 1, (2,)), "refused"),
    "a vector of one constant": (with_shape(sample("pad_v2", 1), 1, (1,)), "refused"),
    "a number as a shape": (with_attribute(sample("broadcast_to", 3), "shape", 1), "refused"),
    "bits as a string": (with_attribute(sample("bitcast", 6), "type", sg.string), "refused"),
    "a band that no int64 tells": (with_attribute(sample("matrix_band_part"), "num_lower", 2**64), "refused"),
    "patches longer than memory": (
        with_attribute(sample("extract_image_patches"), "ksizes", (1, 2**31, 3, 1)),
        "refused",
    ),
    "a limit beyond the numbers of a dtype": (with_attribute(sample("in_range", 2), "low", 2**31), "equal"),
    "a limit below them": (with_attribute(sample("in_range", 2), "high", -(2**31)), "equal"),
    "a number as a shape to have": (with_attribute(sample("ensure_shape"), "shape", 1), "refused"),
    "products of vectors that broadcast": (with_shape(sample("cross"), 1, (1, 3)), "refused"),
    "a power beyond float32": (with_attribute(sample("lrn_grad"), "beta", 1e308), "refused"),
    "what cancels": (with_attribute(sample("lrn_grad", 2), "bias", 0.0), "equal"),
    "large windows of no maximum": (
        with_attribute(sample("max_pool_backprop", 2), "ksize", (2, 3, 3, 1)),
        "equal",
    ),
    "the half of a spectrum of no points": (
        with_shape(with_attribute(sample("open_rfft_planes", 2), "sizes", (2, 3, 5, 0)), 0, (0,)),
        "refused",
    ),
    "windows of padding alone": (with_attribute(sample("dilation2d"), "rates", (1, 7, 1, 1)), "equal"),
    "no rows under a large filter": (
        with_shape(with_shape(sample("conv2d", 1), 0, (1, 0, 8, 2)), 1, (67, 3, 2, 4)),
        "equal",
    ),
}


@pytest.mark.parametrize("known", [True, False], ids=["known sizes", "open sizes"])
@pytest.mark.parametrize("name", FOUND)
def test_a_use_that_was_found(name: str, known: bool):
    use, fate = FOUND[name]
    assert judged(use, known).startswith(fate)


def test_blocks_of_nothing_are_not_listed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(np, "ndindex", None)
    [op] = [op for op in TESTED if op.name == "space_to_batch_nd"]
    made = op.reference(np.zeros((2, 0, 3), np.float32), block_shape=(2**31,), paddings=((0, 0),))
    assert made.shape == (2**32, 0, 3)


def test_bits_of_bfloat16_are_its_own():
    numbers = np.array([1.5, -2.0], np.float32)
    [op] = [op for op in TESTED if op.name == "bitcast"]
    np.testing.assert_array_equal(op.reference(numbers, type=sg.bfloat16), numbers)


# The place of an element is the number of those that are better, which no proof sees: it is clamped. So is
# that of a singular value or an eigenvalue, whose rank is read from memory, that of a number in a table, that
# of a block of a Schur form, of a point between stages of an open length, and a class that a table names.
COUNTED = {
    "top_k", "top_values", "nth_element", "row_major_order",
    "distinct_numbers", "absent_numbers", "true_positions", "grouped_positions",
    "svd", "square_svd", "self_adjoint_eig", "pseudo_inverse", "complex_square_root", "complex_sylvester",
    "open_fft", "open_fft_planes", "open_rfft", "open_irfft", "open_rfft_planes", "open_irfft_planes",
    "classes_by_table", "fixed_unigram_candidate_sampler",
}  # fmt: skip


@pytest.mark.takes_long
def test_no_position_in_the_registry_needs_a_clamp(monkeypatch: pytest.MonkeyPatch):
    """All that ops read and write is proven to lie in their buffers."""
    clamped = []
    place = _Prover.place

    def watched(self, name, axis, position, extent, known, runs):
        made = place(self, name, axis, position, extent, known, runs)
        if made is not position:
            clamped.append((name, axis, position, extent))
        return made

    monkeypatch.setattr(_Prover, "place", watched)
    for op in TESTED:
        if op.name in COUNTED:
            continue
        build = Build()
        found = [result for use in samples(op)[:2] for result in build.add(use)[1]]
        lower(optimize(build.function(found)), len(found), {})
        assert not clamped, op


# Those that once read or wrote beyond their operands, and one of each kind of kernel.
RUN = (
    "avg_pool_grad concat conv2d_backprop_filter conv2d_backprop_input conv3d_backprop_input cumsum "
    "depthwise_conv2d_native_backprop_filter gather interleave matmul max_pool_grad max_unpool reduce_sum "
    "reverse_sequence scatter_nd select top_k unsorted_segment_sum"
)


@pytest.mark.takes_long
def test_some_between_guarded_pages():
    command = [sys.executable, str(ROOT / "tools" / "fuzz" / "operands.py"), *RUN.split(), "--every", "120"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert run.stdout.startswith(f"{len(RUN.split())} ops: ")
    assert run.stdout.endswith(" 0 faults\n")


# Those that did harm at sizes that a run tells, or that ran with such as they refuse, and others like them.
TURNS = "add_n ascending_places conv_filter conv_windows gather open_rfft pad scatter_nd unravel_index"


@pytest.mark.takes_long
def test_some_sessions_with_open_sizes_between_guarded_pages():
    command = [sys.executable, str(ROOT / "tools" / "fuzz" / "operands.py"), *TURNS.split(), "--turns", "3"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert run.stdout.endswith(" 0 faults\n")


def test_the_turns_see_a_sum_that_broadcasts(monkeypatch: pytest.MonkeyPatch):
    """As it did when its type rule was not asked for sizes that a run tells."""
    assert RULES["add_n"]  # its module is imported

    def broadcast(walk: Any, op: Any) -> Any:
        return reduce(ops.add, map(walk.value, op.tensors))

    monkeypatch.setitem(RULES, "add_n", CaptureRule(broadcast))
    use = with_shape(with_shape(sample("add_n", 1), 0, (3,)), 1, (3,))
    fates = [run() for seed in range(3) for _, run in in_turn(use, Random(seed))]
    assert any("fault: ran, and is refused by the type rule" in fate for fate in fates)


def test_the_audit_sees_a_rule_that_does_not_look(monkeypatch: pytest.MonkeyPatch):
    """The purpose of it: `reverse_sequence` with too few lengths."""
    op = next(op for op in TESTED if op.name == "reverse_sequence")
    [wrong] = [v for v in sizes(samples(op)[0]) if [a.shape for a in v.arrays] == [(2, 5), (1,)]]
    assert "refused" in judged(wrong)
    monkeypatch.setattr(
        "staticgraph.compiler.graph.builder.result_types", lambda op, types, attrs: (types[0],)
    )
    assert "fault" in judged(wrong)
