"""Connectionist temporal classification: the loss of label sequences that are shorter than the outputs."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import concat, expand_dims, reshape, shape, stack, transpose
from staticgraph.arrays.creation import fill, zeros_like
from staticgraph.arrays.creation import range as numbers
from staticgraph.arrays.equal_sizes import as_long
from staticgraph.arrays.indexing import gather, one_hot
from staticgraph.arrays.sorting import cumsum
from staticgraph.building.framework import control_dependencies, name_scope
from staticgraph.building.inputs import constant, convert_to_tensor, identity
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32, int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.control_flow.loops import while_loop
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.mathematics.math_ops import logical_and, maximum
from staticgraph.mathematics.reductions import reduce_logsumexp, reduce_sum
from staticgraph.nn.loss import log_softmax
from staticgraph.sparse.structure import to_dense
from staticgraph.sparse.tensor import SparseTensor

_NEVER = -1e30  # the logarithm of no probability; unlike minus infinity, it has derivatives


def ctc_loss(
    labels: Any,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Tensor:
    """-log of the probability of `labels` [batch], summed over all ways to write them, with blanks, in as
    many steps as there are inputs.

    `labels`: a SparseTensor [batch, length] of int32. `inputs` or `logits`: logits [time, batch, classes], or
    [batch, time, classes] if not `time_major`; the last class is the blank. `sequence_length` [batch] says
    how many steps of each are used. The same label in successive steps is one, unless `ctc_merge_repeated`
    is False; `preprocess_collapse_repeated` makes one of equal successive labels first. Blanks and labels
    beyond them end a sequence; others after them, and negative labels, are an InvalidArgumentError. So are
    more labels than steps; with `ignore_longer_outputs_than_inputs` their loss is 0. The loss is infinite if
    there is no way for another reason. Logits of 16 bits are added up as float32. TypeError for labels that
    are not sparse.

    >>> import staticgraph as sg
    >>> labels = sg.SparseTensor([[0, 0], [0, 1]], sg.constant([0, 1]), [1, 2])
    >>> loss = sg.nn.ctc_loss(labels, sg.zeros([2, 1, 3]), [2])
    >>> round(float(sg.Session().run(loss)[0]), 4)  # one way of nine
    2.1972
    """
    if not isinstance(labels, SparseTensor):
        raise misuse(TypeError, f"ctc_loss(labels): a SparseTensor is needed, not {labels!r}")
    if (inputs is None) == (logits is None):
        raise misuse(ValueError, "ctc_loss: give either inputs or logits")
    counts = 1 if time_major else 3
    with name_scope(None, "CTCLoss"), counted_as(get_default_graph(), counts):
        scores = convert_to_tensor(inputs if logits is None else logits)
        if scores.shape.ndims not in (None, 3):
            text = f"ctc_loss(inputs): logits must have the shape [time, batch, classes], not {scores.shape}"
            raise misuse(ValueError, text)
        scores = scores if time_major else transpose(scores, [1, 0, 2])
        steps = ops.cast(convert_to_tensor(sequence_length), dtype=int32)
        demands, dense = _classes(labels, shape(scores)[2])
        if preprocess_collapse_repeated:
            dense = collapsed(dense)
        lengths = reduce_sum(ops.cast(dense >= 0, dtype=int32), 1)
        fits = lengths <= steps
        if not ignore_longer_outputs_than_inputs:
            more = ("ctc_loss: there are more labels ", None, " than time steps ", None)
            demands.append(ops.assert_true(ops.reduce_all(fits), [lengths, steps], shown=more))
        loss = loss_of_dense(scores, dense, steps, lengths, demands, ctc_merge_repeated)
        return ops.select(fits, loss, zeros_like(loss)) if ignore_longer_outputs_than_inputs else loss


def loss_of_dense(
    scores: Tensor, dense: Tensor, steps: Tensor, lengths: Tensor, demands: list[Any], merge_repeated: bool
) -> Tensor:
    """-log of the probability of labels [batch, length] that are filled up with -1. The last class is blank.

    Args:
        scores: Logits [time, batch, classes].
        dense: The labels.
        steps: How many steps of each are used, [batch].
        lengths: How many labels each has, [batch].
        demands: Operations that fail in a run whose operands are not as they must be.
        merge_repeated: If the same label in successive steps is one.
    """
    told = ("ctc_loss: sequence_length has ", None, " and there are ", None, " time steps")
    count, longest = shape(scores)[0], ops.reduce_max(steps)
    short = ops.assert_true(longest <= count, [longest, count], shown=told)
    with control_dependencies([*demands, short]):
        scores = identity(scores)
    steps = as_long("ctc_loss(sequence_length)", steps, 0, scores, 1)
    used = expand_dims(numbers(count)[:, None] < steps, 2)
    scores = ops.select(used, scores, constant(0.0, scores.dtype))  # others may hold anything, such as NaN
    dtype = scores.dtype
    scores = ops.cast(scores, dtype=float32) if dtype.size == 2 else scores
    loss = _Lattice(log_softmax(scores), dense, merge_repeated).loss(steps, lengths)
    return ops.cast(loss, dtype=dtype) if dtype.size == 2 else loss


def _classes(labels: SparseTensor, classes: Tensor) -> tuple[list[Any], Tensor]:
    """The labels [batch, length], filled up with -1, and what a run demands of them."""
    shown = ("ctc_loss: labels must not be negative: ", None)
    positive = ops.assert_true(ops.reduce_all(labels.values >= 0), [labels.values], shown=shown)
    dense = ops.cast(to_dense(labels, default_value=-1), dtype=int32)
    ends = dense >= classes - 1
    label = logical_and(dense >= 0, ops.logical_not(ends))
    after = ops.reduce_any(logical_and(ends[:, :-1], label[:, 1:]))
    shown = ("ctc_loss: a label follows one that is not below the number of the blank: ", None)
    ended = ops.assert_true(ops.logical_not(after), [labels.values], shown=shown)
    return [positive, ended], ops.select(label, dense, -1)


def collapsed(dense: Tensor) -> Tensor:
    """Labels [batch, length] without those that are equal to the one before, filled up with -1."""
    before = concat([fill(stack([shape(dense)[0], 1]), -1), dense[:, :-1]], 1)
    kept = logical_and(ops.not_equal(dense, before), dense >= 0)
    place = ops.select(kept, cumsum(ops.cast(kept, dtype=int32), axis=1) - 1, -1)
    moved = one_hot(place, shape(dense)[1], dtype=int32)  # [batch, label, place]
    return reduce_sum(moved * expand_dims(dense + 1, 2), 1) - 1


class _Lattice:
    """All ways to write labels: the states are blank, label, blank, label, ..., blank."""

    def __init__(self, log_probs: Tensor, dense: Tensor, merge_repeated: bool) -> None:
        count, batch, classes = (shape(log_probs)[axis] for axis in range(3))
        blank = classes - 1
        self.width = 2 * shape(dense)[1] + 1
        symbols = ops.select(dense >= 0, dense, blank)
        blanks = fill(shape(dense), blank)
        pairs = reshape(stack([blanks, symbols], 2), stack([batch, self.width - 1]))
        self.states = concat([pairs, fill(stack([batch, 1]), blank)], 1)
        two_before = concat([fill(stack([batch, 2]), blank), self.states], 1)[:, :-2]
        self.skips = ops.not_equal(self.states, blank)  # whether the blank before may be left out
        if merge_repeated:
            self.skips = logical_and(self.skips, ops.not_equal(self.states, two_before))
        self.stays = fill(shape(self.states), True)
        if not merge_repeated:
            self.stays = ops.equal(self.states, blank)
        self.count, self.log_probs = count, log_probs
        self.rows = TensorArray(log_probs.dtype, size=count).unstack_all(log_probs)

    def _emitted(self, time: Any) -> Tensor:
        """The log probabilities of the states' symbols [batch, states] in a step."""
        row = self.rows.read(time)
        batch, classes = (shape(row)[axis] for axis in range(2))
        places = self.states + expand_dims(numbers(batch) * classes, 1)
        return gather(reshape(row, [-1]), places)

    def loss(self, steps: Tensor, lengths: Tensor) -> Tensor:
        """The loss, for so many steps and labels."""
        dtype = self.log_probs.dtype
        never = constant(_NEVER, dtype)
        begins = logical_and(numbers(self.width) < 2, expand_dims(steps > 0, 1))
        first = ops.select(begins, self._emitted(0), never)

        def shifted(alpha: Tensor, by: int) -> Tensor:
            start = fill(stack([shape(alpha)[0], by]), never)
            return concat([start, alpha[:, :-by]], 1)

        def step(time: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
            ways = [
                ops.select(self.stays, alpha, never),
                shifted(alpha, 1),
                ops.select(self.skips, shifted(alpha, 2), never),
            ]
            made = reduce_logsumexp(stack(ways, 0), 0) + self._emitted(time)
            after = ops.select(expand_dims(time < steps, 1), made, alpha)
            after.set_shape(alpha.shape)
            return time + 1, after

        _, alpha = while_loop(lambda time, _: time < self.count, step, (constant(1), first))
        at = expand_dims(lengths * 2, 1)
        place = numbers(self.width)
        ends = logical_and(place <= at, place >= maximum(at - 1, 0))
        total = reduce_logsumexp(ops.select(ends, alpha, never), 1)
        return ops.select(total > _NEVER / 2, -total, constant(float("inf"), dtype))
