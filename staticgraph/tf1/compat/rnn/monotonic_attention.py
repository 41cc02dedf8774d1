"""`tf.contrib.seq2seq`: attention that only moves forward through a memory (Raffel et al., 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.building.signatures import like
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.rnn.attention_mechanisms import (
    AttentionMechanism,
    BahdanauAttention,
    LuongAttention,
)

_LEAST_PRODUCT = 1e-10


def safe_cumprod(x: Any, *args: Any, **kwargs: Any) -> sg.Tensor:
    """`cumprod` of numbers from 0 to 1 as a sum of logarithms, whose gradient is finite.

    Args:
        x: A tensor of floats; numbers outside of (0, 1] count as the nearest one inside.
        args, kwargs: As for `cumsum`, for example axis and exclusive.
    """
    with sg.name_scope(None, "SafeCumprod", [x]):
        x = sg.convert_to_tensor(x, name="x")
        tiny = float(np.finfo(x.dtype.as_numpy_dtype).tiny)
        return sg.exp(sg.cumsum(sg.log(sg.clip_by_value(x, tiny, 1.0)), *args, **kwargs))


def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> sg.Tensor:
    """The distribution of the step that is attended to, never one before that of the last output.

    Args:
        p_choose_i: The probability to stop at each step, [batch, steps].
        previous_attention: The distribution for the output before, [batch, steps].
        mode: "recursive", exact, one step after the other; "parallel", faster, exact unless probabilities are
            near 1; or "hard", for probabilities that are 0 or 1.

    Returns:
        The distribution, [batch, steps]; its sum may be less than 1.

    Raises:
        ValueError: There is no such mode.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(monotonic_attention([[0.0, 1.0, 1.0]], [[1.0, 0.0, 0.0]], "hard")).tolist()
    [[0.0, 1.0, 0.0]]
    """
    if mode not in ("recursive", "parallel", "hard"):
        raise misuse(ValueError, f"monotonic_attention: mode is recursive, parallel or hard, not {mode!r}")
    p = sg.convert_to_tensor(p_choose_i, name="p_choose_i")
    previous = sg.convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "hard":
        p = p * sg.cumsum(previous, axis=1)
        return p * sg.cumprod(1 - p, axis=1, exclusive=True)
    if mode == "parallel":
        passed = safe_cumprod(1 - p, axis=1, exclusive=True)
        return p * passed * sg.cumsum(previous / sg.clip_by_value(passed, _LEAST_PRODUCT, 1.0), axis=1)
    goes_on = sg.concat([sg.ones_like(p[:, :1]), 1 - p[:, :-1]], 1)
    arrived = sg.scan(
        lambda before, now: now[0] * before + now[1],
        (sg.transpose(goes_on), sg.transpose(previous)),
        sg.zeros_like(previous[:, 0]),
    )
    return p * sg.transpose(arrived)


class _Monotonic(AttentionMechanism):
    """Scores as chances to stop at a step, with a bias that is a variable."""

    def _start(self, sigmoid_noise: float, seed: int | None, score_bias_init: float, mode: str) -> None:
        self._noise, self._seed, self._bias_start, self._mode = sigmoid_noise, seed, score_bias_init, mode

    def _fit(self, query: sg.Tensor) -> sg.Tensor:
        scores = super()._fit(query)
        start = sg.constant_initializer(self._bias_start)
        return scores + sg.get_variable("attention_score_bias", [], query.dtype, start)

    def _probabilities(self, scores: sg.Tensor, state: Any) -> sg.Tensor:
        if self._noise > 0:
            drawn = sg.random_normal(sg.shape(scores), dtype=scores.dtype, seed=self._seed)
            scores = scores + self._noise * drawn
        stops = sg.cast(sg.greater(scores, 0.0), scores.dtype) if self._mode == "hard" else sg.sigmoid(scores)
        return monotonic_attention(stops, state, self._mode)

    def initial_alignments(self, batch_size: Any, dtype: Any) -> sg.Tensor:
        """All weight on the first step."""
        first = sg.zeros(sg.reshape(sg.convert_to_tensor(batch_size), [1]), sg.int32)
        return sg.one_hot(first, self.alignments_size, dtype=dtype)


_AFTER = {
    "sigmoid_noise": "score_mask_value",
    "sigmoid_noise_seed": "sigmoid_noise",
    "score_bias_init": "sigmoid_noise_seed",
    "mode": "score_bias_init",
}
_OPTIONS = {"sigmoid_noise": 0.0, "sigmoid_noise_seed": None, "score_bias_init": 0.0, "mode": "parallel"}
_NOT_THERE = "probability_fn custom_key_value_fn"


class BahdanauMonotonicAttention(_Monotonic, BahdanauAttention):
    """`BahdanauAttention` that moves forward: see `monotonic_attention`.

    Args:
        num_units, memory, memory_sequence_length, normalize, score_mask_value, dtype, name: As for
            `BahdanauAttention`.
        sigmoid_noise: The standard deviation of noise on the scores, which drives them away from 0.
        sigmoid_noise_seed: Its seed.
        score_bias_init: The first value of the bias of the scores, negative for long memories.
        mode: That of `monotonic_attention`.
    """

    _SCOPE = "bahdanau_monotonic_attention"

    @like(BahdanauAttention, _NOT_THERE, _AFTER, **_OPTIONS, name="BahdanauMonotonicAttention")
    def __init__(
        self, sigmoid_noise: float, sigmoid_noise_seed: Any, score_bias_init: float, mode: str, **given: Any
    ) -> None:
        self._start(sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode)
        BahdanauAttention.__init__(self, **given)


class LuongMonotonicAttention(_Monotonic, LuongAttention):
    """`LuongAttention` that moves forward: see `monotonic_attention`.

    Args:
        num_units, memory, memory_sequence_length, scale, score_mask_value, dtype, name: As for
            `LuongAttention`.
        sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode: As for `BahdanauMonotonicAttention`.
    """

    _SCOPE = "luong_monotonic_attention"

    @like(LuongAttention, _NOT_THERE, _AFTER, **_OPTIONS, name="LuongMonotonicAttention")
    def __init__(
        self, sigmoid_noise: float, sigmoid_noise_seed: Any, score_bias_init: float, mode: str, **given: Any
    ) -> None:
        self._start(sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode)
        LuongAttention.__init__(self, **given)
