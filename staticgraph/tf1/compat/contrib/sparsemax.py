"""`tf.contrib.sparsemax`: logits projected onto probabilities, many of them zero (Martins et al., 2016)."""

from __future__ import annotations

from typing import Any

import staticgraph as sg


def sparsemax(logits: Any, name: str | None = None) -> sg.Tensor:
    """The probabilities nearest to logits, in Euclidean distance.

    Args:
        logits: Floats [batch, classes].
        name: The name of the scope.

    Returns:
        Probabilities [batch, classes], NaN for a row that has none.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sparsemax([[1.0, 0.5, -3.0]])).tolist()
    [[0.75, 0.25, 0.0]]
    """
    with sg.name_scope(name, "sparsemax", [logits]):
        logits = sg.convert_to_tensor(logits, name="logits")
        in_order = sg.sort(logits, axis=1, direction="DESCENDING")
        sums = sg.cumsum(in_order, axis=1)
        position = sg.cast(sg.range(1, sg.shape(logits)[1] + 1), logits.dtype)
        in_support = sg.greater(1 + position * in_order, sums)
        support = sg.reduce_sum(sg.cast(in_support, sg.int32), axis=1)
        last = sg.one_hot(sg.maximum(support, 1) - 1, sg.shape(logits)[1], True, False)
        total = sg.reduce_sum(sg.where(last, sums, sg.zeros_like(sums)), axis=1)
        threshold = (total - 1) / sg.cast(support, logits.dtype)
        probabilities = sg.maximum(sg.zeros([], logits.dtype), logits - threshold[:, None])
        has_none = sg.logical_or(sg.equal(support, 0), sg.is_nan(sums[:, -1]))
        nan = sg.fill(sg.shape(logits), sg.cast(float("nan"), logits.dtype))
        return sg.where(has_none, nan, probabilities)


def sparsemax_loss(logits: Any, sparsemax: Any, labels: Any, name: str | None = None) -> sg.Tensor:
    """The loss whose gradient is `sparsemax - labels`.

    Args:
        logits: Floats [batch, classes].
        sparsemax: What `sparsemax` makes of them.
        labels: Probabilities [batch, classes].
        name: The name of the scope.

    Returns:
        One loss for each row, [batch].
    """
    with sg.name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        z, p, q = (sg.convert_to_tensor(x) for x in (logits, sparsemax, labels))
        is_used = sg.logical_or(sg.greater(p, 0), sg.is_nan(p))
        of_support = sg.where(is_used, p * (z - 0.5 * p), sg.zeros_like(p))
        of_labels = q * (0.5 * q - z)
        is_undefined = sg.logical_and(sg.equal(q, 0), sg.is_inf(z))
        return sg.reduce_sum(of_support + sg.where(is_undefined, sg.zeros_like(z), of_labels), axis=1)
