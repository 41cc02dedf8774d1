"""`tf.contrib.losses.metric_learning`: losses of distances between embeddings of examples with labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse


def contrastive_loss(
    labels: Any, embeddings_anchor: Any, embeddings_positive: Any, margin: float = 1.0
) -> sg.Tensor:
    """The mean of squared distances of similar pairs, and of what dissimilar ones lack to the margin.

    Args:
        labels: 1 for a similar pair and 0 for others, [batch].
        embeddings_anchor: [batch, dim].
        embeddings_positive: [batch, dim].
        margin: The distance from which on dissimilar pairs do not count.

    Returns:
        A scalar. See Hadsell et al. (2006).
    """
    distances = sg.sqrt(sg.reduce_sum(sg.squared_difference(embeddings_anchor, embeddings_positive), 1))
    similar = sg.cast(labels, distances.dtype)
    apart = (1.0 - similar) * sg.square(sg.maximum(margin - distances, 0.0))
    return sg.reduce_mean(similar * sg.square(distances) + apart, name="contrastive_loss")


def triplet_semihard_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> sg.Tensor:
    """The triplet loss with the nearest negative that is farther than the positive, or else the farthest.

    Args:
        labels: Integers, [batch].
        embeddings: [batch, dim] of float32, of length 1 each.
        margin: How much farther a negative must be, in squared distance.

    Returns:
        A scalar: the mean over all pairs of the same label. See Schroff et al. (2015).
    """
    squared = _distances(embeddings, squared=True)
    same, other = _adjacency(labels)
    # For anchor i, positive j and negative k.
    is_farther = sg.cast(sg.greater(squared[:, None, :], squared[:, :, None]), sg.float32) * other[:, None, :]
    largest = sg.reduce_max(squared, 1, keepdims=True)
    nearest = sg.reduce_min((squared - largest)[:, None, :] * is_farther, 2) + largest
    smallest = sg.reduce_min(squared, 1, keepdims=True)
    farthest = sg.reduce_max((squared - smallest) * other, 1, keepdims=True) + smallest
    exists = sg.greater(sg.reduce_sum(is_farther, 2), 0.0)
    negatives = sg.where(exists, nearest, farthest + sg.zeros_like(nearest))
    positives = same - sg.eye(sg.shape(same)[0])
    excess = sg.maximum((margin + squared - negatives) * positives, 0.0)
    return sg.truediv(sg.reduce_sum(excess), sg.reduce_sum(positives), name="triplet_semihard_loss")


def lifted_struct_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> sg.Tensor:
    """The lifted structured loss: each pair of the same label against all negatives of both.

    Args:
        labels: Integers, [batch].
        embeddings: [batch, dim] of float32; not normalized.
        margin: The distance that negatives should have.

    Returns:
        A scalar. See Song et al. (2016).
    """
    distances = _distances(embeddings, squared=False)
    same, other = _adjacency(labels)
    lacking = margin - distances
    smallest = sg.reduce_min(lacking, 1, keepdims=True)
    hardest = sg.reduce_max((lacking - smallest) * other, 1, keepdims=True) + smallest
    shift = sg.maximum(hardest, sg.transpose(hardest))
    of_anchor = sg.reduce_sum(sg.exp(lacking[:, None, :] - shift[:, :, None]) * other[:, None, :], 2)
    pairs = shift + sg.log(of_anchor + sg.transpose(of_anchor)) + distances
    positives = same - sg.eye(sg.shape(same)[0])
    total = sg.reduce_sum(sg.square(sg.maximum(pairs * positives, 0.0)))
    return sg.truediv(0.25 * total, sg.reduce_sum(positives) / 2.0, name="liftedstruct_loss")


def npairs_loss(
    labels: Any,
    embeddings_anchor: Any,
    embeddings_positive: Any,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> sg.Tensor:
    """Cross entropy of the similarities of anchors with all positives, and a penalty of their lengths.

    Args:
        labels: Integers, [batch].
        embeddings_anchor: [batch, dim].
        embeddings_positive: [batch, dim].
        reg_lambda: The weight of the penalty.
        print_losses: Print both parts in each run.

    Returns:
        A scalar. See Sohn (2016).
    """
    return _npairs(_adjacency(labels)[0], embeddings_anchor, embeddings_positive, reg_lambda, print_losses)


def npairs_loss_multilabel(
    sparse_labels: Sequence[Any],
    embeddings_anchor: Any,
    embeddings_positive: Any,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> sg.Tensor:
    """`npairs_loss` for examples with several labels: a pair counts by the number of labels it shares.

    Args:
        sparse_labels: A SparseTensor for each example, which is 1 where a label holds.
        embeddings_anchor, embeddings_positive, reg_lambda, print_losses: As for `npairs_loss`.

    Raises:
        TypeError: A label is no SparseTensor.
    """
    if not all(isinstance(each, sg.SparseTensor) for each in sparse_labels):
        raise misuse(TypeError, f"npairs_loss_multilabel: labels are SparseTensors, not {sparse_labels!r}")
    with sg.name_scope("NpairsLossMultiLabel"):
        rows = sg.stack([sg.reshape(sg.sparse_tensor_to_dense(each), [-1]) for each in sparse_labels])
        shared = sg.reduce_sum(sg.minimum(rows[:, None], rows[None]), 2)
        return _npairs(
            sg.cast(shared, sg.float32), embeddings_anchor, embeddings_positive, reg_lambda, print_losses
        )


def _npairs(adjacency: Any, anchor: Any, positive: Any, reg_lambda: float, print_losses: bool) -> Any:
    lengths = [sg.reduce_mean(sg.reduce_sum(sg.square(each), 1)) for each in (anchor, positive)]
    penalty = sg.multiply(0.25 * reg_lambda, lengths[0] + lengths[1], name="l2loss")
    similarity = sg.matmul(anchor, positive, transpose_b=True)
    targets = adjacency / sg.reduce_sum(adjacency, 1, keepdims=True)
    each = sg.nn.softmax_cross_entropy_with_logits(logits=similarity, labels=targets)
    entropy = sg.reduce_mean(each, name="xentropy")
    if print_losses:
        entropy = sg.Print(entropy, ["cross entropy:", entropy, "l2loss:", penalty])
    return penalty + entropy


def _adjacency(labels: Any) -> tuple[Any, Any]:
    """1 for pairs of the same label and 0 for others, and the reverse: [batch, batch]."""
    labels = sg.convert_to_tensor(labels)
    if labels.shape.ndims != 1:
        raise misuse(ValueError, f"labels must be a vector, their shape is {labels.shape}")
    same = sg.cast(sg.equal(labels[:, None], labels[None, :]), sg.float32)
    return same, 1.0 - same


def _distances(rows: Any, squared: bool) -> Any:
    """Distances of all pairs of rows; those that are zero have the gradient zero."""
    rows = sg.convert_to_tensor(rows)
    norms = sg.reduce_sum(sg.square(rows), 1)
    found = norms[:, None] + norms[None, :] - 2.0 * sg.matmul(rows, rows, transpose_b=True)
    found = sg.maximum(found, 0.0)
    is_zero = sg.cast(sg.less_equal(found, 0.0), sg.float32)
    if not squared:
        found = sg.sqrt(found + is_zero * 1e-16)
    return found * (1.0 - is_zero) * (1.0 - sg.eye(sg.shape(rows)[0]))
