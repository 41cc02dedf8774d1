"""Connectionist temporal classification of dense labels, and labels without repetitions."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import concat, pad, shape, size, transpose
from staticgraph.arrays.casts import cast
from staticgraph.arrays.indexing import sequence_mask, where
from staticgraph.arrays.indexing import unique as unique_elements
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import whole_of
from staticgraph.compiler.graph.dtypes import int32, int64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.control_flow.functional import map_fn
from staticgraph.nn.ctc import collapsed, ctc_loss, loss_of_dense
from staticgraph.sparse.tensor import SparseTensor


def ctc_loss_v2(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """-log of the probability of labels, summed over all ways to write them, with blanks, in the steps.

    Args:
        labels: Integers [batch, length], or a SparseTensor of int32.
        logits: Floats [time, batch, classes], or [batch, time, classes] without `logits_time_major`.
        label_length: How many labels of each row are used, [batch]. Not used for sparse labels.
        logit_length: How many steps of each are used, [batch].
        logits_time_major: If time is the first axis of the logits.
        unique: Not used: in TensorFlow it saves memory on TPUs.
        blank_index: The class that is the blank; negative ones count from the last. Default: 0, and needed
            for sparse labels.
        name: The name scope.

    Returns:
        The loss [batch]; infinite if there are too few steps for dense labels.

    Raises:
        ValueError: Labels are sparse, and there is no `blank_index`.
        InvalidArgumentError: While running, for a label that is the blank or no class.

    >>> import staticgraph as sg
    >>> loss = sg.nn.ctc_loss_v2([[1, 2]], sg.zeros([2, 1, 3]), [2], [2])
    >>> round(float(sg.Session().run(loss)[0]), 4)  # one way of nine
    2.1972
    """
    if isinstance(labels, SparseTensor) and blank_index is None:
        raise misuse(ValueError, "blank_index must be given when using SparseTensor labels.")
    with name_scope(name, "ctc_loss_dense", [labels, logits, label_length, logit_length]):
        scores = convert_to_tensor(logits, name="logits")
        classes: Any = scores.shape[2].value if scores.shape.ndims == 3 else None
        classes = shape(scores)[2] if classes is None else classes
        blank: Any = 0 if blank_index is None else whole_of(blank_index, "blank_index")
        blank = blank + classes if blank < 0 else blank
        scores = concat([scores[:, :, :blank], scores[:, :, blank + 1 :], scores[:, :, blank : blank + 1]], 2)
        if isinstance(labels, SparseTensor):
            values = where(labels.values < blank, labels.values, labels.values - 1)
            moved = labels.with_values(values)
            return ctc_loss(moved, scores, logit_length, time_major=logits_time_major)
        scores = scores if logits_time_major else transpose(scores, [1, 0, 2])
        given = cast(convert_to_tensor(labels, name="labels"), int32)
        lengths, steps = (cast(convert_to_tensor(n), int32) for n in (label_length, logit_length))
        used = sequence_mask(lengths, shape(given)[1])
        wrong = ops.logical_or(ops.equal(given, blank), ops.logical_or(given < 0, given >= classes))
        told = ("ctc_loss: labels must be classes other than the blank: ", None)
        fits = ops.logical_not(ops.reduce_any(ops.logical_and(used, wrong)))
        demands = [ops.assert_true(fits, [given], shown=told)]
        dense = ops.select(used, ops.select(given < blank, given, given - 1), -1)
        return loss_of_dense(scores, dense, steps, lengths, demands, merge_repeated=True)


def ctc_unique_labels(labels: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The different labels of each row, in the order in which they first occur, and the places of all among
    them.

    Args:
        labels: Integers [batch, length].
        name: The name scope.

    Returns:
        The different labels, int64 [batch, length], filled up with 0; and the places, int32 [batch, length].

    >>> import staticgraph as sg
    >>> found, places = sg.nn.ctc_unique_labels([[3, 4, 4, 3]])
    >>> with sg.Session() as sess:
    ...     sess.run(found).tolist(), sess.run(places).tolist()
    ([[3, 4, 0, 0]], [[0, 1, 1, 0]])
    """
    with name_scope(name, "ctc_unique_labels", [labels]):
        rows = convert_to_tensor(labels, name="labels")

        def of_row(row: Tensor) -> list[Tensor]:
            found, places = unique_elements(row)
            return [cast(pad(found, [[0, size(places) - size(found)]]), int64), places]

        made = map_fn(of_row, rows, dtype=[int64, int32])
        return made[0], made[1]


def collapse_repeated(labels: Any, seq_length: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Rows of labels without those that are equal to the one before.

    Args:
        labels: Integers [batch, length].
        seq_length: How many labels of each row are used, [batch].
        name: The name scope.

    Returns:
        The labels that are left, [batch, the most labels of a row], filled up with 0; and their numbers.

    >>> import staticgraph as sg
    >>> left, lengths = sg.nn.collapse_repeated([[1, 1, 2, 2, 1], [3, 3, 3, 0, 0]], [5, 3])
    >>> with sg.Session() as sess:
    ...     sess.run(left).tolist(), sess.run(lengths).tolist()
    ([[1, 2, 1], [3, 0, 0]], [3, 1])
    """
    with name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        rows = convert_to_tensor(labels, name="labels")
        lengths = convert_to_tensor(seq_length, name="seq_length")
        used = sequence_mask(lengths, shape(rows)[1])
        left = collapsed(ops.select(used, cast(rows, int32), -1))
        count = ops.reduce_sum(cast(left >= 0, int32), axis=1)
        left = cast(ops.maximum(left, 0), rows.dtype)[:, : ops.reduce_max(count)]
        return left, cast(count, lengths.dtype)
