"""`tf.contrib.nn`: activations, losses whose logits come first, and losses over sampled classes."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building.signatures import adapted
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.keras.layers.noise import saturated

__all__ = [
    "alpha_dropout",
    "conv1d_transpose",
    "deprecated_flipped_sigmoid_cross_entropy_with_logits",
    "deprecated_flipped_softmax_cross_entropy_with_logits",
    "deprecated_flipped_sparse_softmax_cross_entropy_with_logits",
    "nth_element",
    "rank_sampled_softmax_loss",
    "sampled_sparse_softmax_loss",
    "scaled_softplus",
]

conv1d_transpose = sg.nn.conv1d_transpose

deprecated_flipped_softmax_cross_entropy_with_logits = adapted(
    sg.nn.softmax_cross_entropy_with_logits,
    "logits labels dim name",
    "deprecated_flipped_softmax_cross_entropy_with_logits",
)
deprecated_flipped_sparse_softmax_cross_entropy_with_logits = adapted(
    sg.nn.sparse_softmax_cross_entropy_with_logits,
    "logits labels name",
    "deprecated_flipped_sparse_softmax_cross_entropy_with_logits",
)
deprecated_flipped_sigmoid_cross_entropy_with_logits = adapted(
    sg.nn.sigmoid_cross_entropy_with_logits,
    "logits targets=labels name",
    "deprecated_flipped_sigmoid_cross_entropy_with_logits",
)
sampled_sparse_softmax_loss = adapted(
    sg.nn.sampled_softmax_loss,
    "weights biases labels inputs num_sampled num_classes sampled_values remove_accidental_hits "
    "partition_strategy name",
    "sampled_sparse_softmax_loss",
    name="sampled_sparse_softmax_loss",
)


def alpha_dropout(
    x: Any, keep_prob: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> sg.Tensor:
    """Drop elements to the floor of SELU, and rescale so that mean 0 and variance 1 stay what they are.

    Args:
        x: A tensor of floats.
        keep_prob: The probability to keep an element, in (0, 1]; a number or a scalar tensor.
        noise_shape: The shape of the random decisions, which broadcasts to that of `x`, by default the same.
        seed: The seed of the decisions.
        name: The name of the scope.

    Returns:
        A tensor like `x`.

    Raises:
        ValueError: `keep_prob` is a number outside (0, 1].

    >>> import staticgraph as sg
    >>> alpha_dropout(sg.zeros([2, 3]), keep_prob=0.9).shape.as_list()
    [2, 3]
    """
    with sg.name_scope(name, "alpha_dropout", [x]):
        x = sg.convert_to_tensor(x, name="x")
        if isinstance(keep_prob, int | float) and not 0 < keep_prob <= 1:
            raise misuse(ValueError, f"alpha_dropout: keep_prob is {keep_prob:g}, it must be in (0, 1]")
        keep = sg.convert_to_tensor(keep_prob, dtype=x.dtype, name="keep_prob")
        if sg.get_static_value(keep) == 1:
            return x
        drawn = sg.random_uniform(
            sg.shape(x) if noise_shape is None else noise_shape, seed=seed, dtype=x.dtype
        )
        return saturated(x, drawn, 1.0 - keep)


def scaled_softplus(x: Any, alpha: Any, clip: Any = None, name: str | None = None) -> sg.Tensor:
    """`alpha * log(1 + exp(x / alpha))`, at most `clip`: a smooth ReLU, or a smooth ReLU6 with `clip=6`.

    Args:
        x: A tensor of floats.
        alpha: The smoothness, above 0; a number or a tensor that broadcasts with `x`.
        clip: The largest result; None for no limit.
        name: The name of the scope.

    Returns:
        A tensor of the broadcast shape, of the type of `x`.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(scaled_softplus([-9.0, 0.0, 9.0], alpha=0.1, clip=6.0)).round(3).tolist()
    [0.0, 0.0689..., 6.0]
    """
    with sg.name_scope(name, "scaled_softplus", [x, alpha]):
        x = sg.convert_to_tensor(x, name="x")
        alpha = sg.convert_to_tensor(alpha, dtype=x.dtype, name="alpha")
        y = alpha * sg.nn.softplus(x / alpha)
        return y if clip is None else sg.minimum(y, sg.convert_to_tensor(clip, dtype=x.dtype, name="clip"))


def nth_element(input: Any, n: Any, reverse: bool = False, name: str | None = None) -> sg.Tensor:
    """The `n`-th smallest element along the last axis, counted from 0; the `n`-th largest with `reverse`.

    Args:
        input: A tensor of numbers of rank 1 or more, shape [..., size].
        n: An integer or a scalar tensor of one, below `size`.
        reverse: Count from the largest.
        name: The name of the scope.

    Returns:
        A tensor of shape [...].

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(nth_element([[3.0, 1.0, 2.0]], 1)).tolist()
    [2.0]
    """
    with sg.name_scope(name, "NthElement", [input, n]):
        in_order = sg.sort(input, axis=-1, direction="DESCENDING" if reverse else "ASCENDING")
        return sg.gather(in_order, n, axis=-1)


def rank_sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_resampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    resampling_temperature: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str | None = None,
) -> sg.Tensor:
    """`sampled_softmax_loss` over those of the sampled classes whose logits are largest over the batch.

    Args:
        weights: [num_classes, dim], or a list of such tables as for `embedding_lookup`.
        biases: [num_classes].
        labels: [batch, num_true] of integers.
        inputs: [batch, dim].
        num_sampled: How many classes were sampled.
        num_resampled: How many of them count, fewer than `num_sampled`.
        num_classes: How many classes there are.
        num_true: How many true classes an example has.
        sampled_values: What a candidate sampler gave. TensorFlow's default, a learned sampler, is not here.
        resampling_temperature: Logits are divided by it before the sum over the batch.
        remove_accidental_hits: Leave out sampled classes that are true.
        partition_strategy: "mod" or "div", of a list of tables.
        name: The name of the scope.

    Returns:
        One loss for each example, [batch].

    Raises:
        ValueError: The numbers of classes do not fit, or there are no `sampled_values`.
    """
    if not num_resampled < num_sampled <= num_classes:
        text = f"rank_sampled_softmax_loss: num_resampled ({num_resampled}) must be less than num_sampled "
        raise misuse(ValueError, text + f"({num_sampled}), which must not exceed num_classes ({num_classes})")
    if not sampled_values:
        hint = "pass what a sampler gives, such as sg.nn.log_uniform_candidate_sampler(...)"
        raise misuse(ValueError, "rank_sampled_softmax_loss: sampled_values are missing", hint)
    with sg.name_scope(name, "rank_sampled_softmax_loss", [biases, labels, inputs]) as scope:
        sampled, true_count, sampled_count = map(sg.stop_gradient, sampled_values)
        sampled = sg.cast(sampled, sg.int64)
        rows = sg.nn.embedding_lookup(weights, sampled, partition_strategy)
        scaled = sg.convert_to_tensor(inputs) / resampling_temperature
        logits = sg.reduce_logsumexp(sg.matmul(rows, scaled, transpose_b=True), axis=1)
        offsets = sg.reshape(sg.nn.embedding_lookup(biases, sampled, partition_strategy), [-1])
        _, best = sg.nn.top_k(logits + offsets / resampling_temperature, k=num_resampled, sorted=False)
        return sg.nn.sampled_softmax_loss(
            weights,
            biases,
            labels,
            inputs,
            num_sampled=num_resampled,
            num_classes=num_classes,
            num_true=num_true,
            sampled_values=(sg.gather(sampled, best), true_count, sg.gather(sampled_count, best)),
            remove_accidental_hits=remove_accidental_hits,
            partition_strategy=partition_strategy,
            name=scope,
        )
