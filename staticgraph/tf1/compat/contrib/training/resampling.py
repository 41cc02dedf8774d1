"""`tf.contrib.training`: rows of a batch, each taken as often as a random number with a given mean says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import staticgraph as sg
from staticgraph.state.moving_averages import assign_moving_average


def resample_at_rate(
    inputs: Sequence[Any],
    rates: Any,
    scope: str | None = None,
    seed: int | None = None,
    back_prop: bool = False,
) -> list[sg.Tensor]:
    """Rows of tensors, repeated or left out at random: row i is there `rates[i]` times on average.

    Args:
        inputs: Tensors of shape [batch, ...].
        rates: The mean numbers of copies, floats of shape [batch].
        scope: The name of the scope.
        seed: The seed of the numbers, which are Poisson distributed.
        back_prop: Not needed: what is chosen has no derivative.

    Returns:
        Tensors of shape [rows, ...], the same rows of each.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(resample_at_rate([[7, 8]], [0.0, 0.0]))[0].tolist()
    []
    """
    with sg.name_scope(scope, "resample_at_rate", [*inputs, rates]):
        rates = sg.convert_to_tensor(rates, name="rates")
        counts = sg.cast(sg.random_poisson(rates, (), rates.dtype, seed=seed), sg.int32)
        indices = sg.where(sg.sequence_mask(counts))[:, 0]  # row i, counts[i] times
        return [sg.gather(x, indices) for x in inputs]


def weighted_resample(
    inputs: Sequence[Any],
    weights: Any,
    overall_rate: Any,
    scope: str | None = None,
    mean_decay: float = 0.999,
    seed: int | None = None,
) -> tuple[list[sg.Tensor], sg.Tensor]:
    """`resample_at_rate` with rates in proportion to weights.

    Args:
        inputs: Tensors of shape [batch, ...].
        weights: Floats of shape [batch].
        overall_rate: The rate of a row with the mean weight, which is a moving average over runs.
        scope: The name of the scope.
        mean_decay: The decay of the moving average.
        seed: The seed of the numbers.

    Returns:
        The rows of `inputs`, and the rate of each of them.
    """
    with sg.name_scope(scope, "weighted_resample", inputs) as inner:
        weights = sg.convert_to_tensor(weights)
        with sg.variable_scope(scope, "estimate_mean", inputs):
            average = sg.get_local_variable(
                "estimated_mean", initializer=sg.cast(0, weights.dtype), dtype=weights.dtype
            )
            mean = assign_moving_average(average, sg.reduce_mean(weights), mean_decay)
        rates = weights * overall_rate / mean
        used, *rows = resample_at_rate([rates, *inputs], rates, scope=inner, seed=seed)
        return rows, used
