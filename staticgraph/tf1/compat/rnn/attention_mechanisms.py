"""`tf.contrib.seq2seq`: how well a query fits each step of a memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph.building.signatures import like
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as
from staticgraph.nn.rnn_cell.base import batch_of_zeros


def hardmax(logits: Any, name: str | None = None) -> sg.Tensor:
    """1 at the greatest of the last axis, else 0."""
    with sg.name_scope(name, "Hardmax"):
        logits = sg.convert_to_tensor(logits, name="logits")
        depth = logits.shape[-1].value or sg.shape(logits)[-1]
        return sg.one_hot(sg.argmax(logits, -1), depth, dtype=logits.dtype)


class AttentionMechanism:
    """Weights for the steps of a memory [batch, time, ...]: `alignments, state = mechanism(query, state)`."""

    _SCOPE = "attention"  # of the variables of the scores

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        probability_fn: Callable[..., Any] | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str = "AttentionMechanism",
    ) -> None:
        self.num_units, self.dtype = num_units, sg.as_dtype(dtype or sg.float32)
        self._probability_fn = probability_fn or sg.nn.softmax
        self._mask_value = -math.inf if score_mask_value is None else score_mask_value
        self.memory_layer = self._layer("memory_layer")
        with sg.name_scope(name, "BaseAttentionMechanismInit"):
            self._lengths = memory_sequence_length
            if memory_sequence_length is not None:
                self._lengths = sg.convert_to_tensor(memory_sequence_length, name="memory_sequence_length")
            self.values = self._prepared(sg.convert_to_tensor(memory, name="memory"))
            self.keys = self.memory_layer(self.values)
            if custom_key_value_fn is not None:
                self.keys, self.values = custom_key_value_fn(self.keys, self.values)
            self.batch_size = self.keys.shape[0].value or sg.shape(self.keys)[0]
            self.alignments_size = self.keys.shape[1].value or sg.shape(self.keys)[1]

    def _layer(self, name: str) -> sg.layers.Dense:
        return sg.layers.Dense(self.num_units, name=name, use_bias=False, dtype=self.dtype)

    def _prepared(self, memory: sg.Tensor) -> sg.Tensor:
        """The memory with zeros after the ends of sequences."""
        if memory.shape.ndims is None or not memory.shape[2:].is_fully_defined():
            text = f"the memory {memory.name} of shape {memory.shape} must have a known number of features"
            raise misuse(ValueError, text, made=[(memory.name, memory.op.where)])
        if self._lengths is None:
            return memory
        with counted_as(memory.graph, 21):  # TensorFlow reshapes the mask to any rank
            mask = sg.sequence_mask(self._lengths, sg.shape(memory)[1], memory.dtype)
            for _ in range(memory.shape.ndims - 2):
                mask = sg.expand_dims(mask, -1)
            return memory * mask

    @property
    def state_size(self) -> Any:
        """The size of what it remembers: its last weights."""
        return self.alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> sg.Tensor:
        """Weights of zero."""
        if not isinstance(self.alignments_size, sg.Tensor):
            return batch_of_zeros(batch_size, self.alignments_size, dtype)
        count_more(self.alignments_size.graph, 6 + 3 * isinstance(batch_size, sg.Tensor))
        return sg.zeros(sg.stack([batch_size, self.alignments_size]), dtype)

    def initial_state(self, batch_size: Any, dtype: Any) -> sg.Tensor:
        """Return the state before the first step: weights of zero."""
        return self.initial_alignments(batch_size, dtype)

    def __call__(self, query: sg.Tensor, state: Any) -> tuple[sg.Tensor, sg.Tensor]:
        scores = self._scores(query)
        if self._lengths is not None:
            count_more(scores.graph, 11)  # an assertion that lengths are positive
            mask = sg.sequence_mask(self._lengths, sg.shape(scores)[1])
            scores = sg.where(mask, scores, self._mask_value * sg.ones_like(scores))
        alignments = self._probabilities(scores, state)
        return alignments, alignments

    def _probabilities(self, scores: sg.Tensor, state: Any) -> sg.Tensor:
        return self._probability_fn(scores)

    def _scores(self, query: sg.Tensor) -> sg.Tensor:
        with sg.variable_scope(None, self._SCOPE):
            return self._fit(query)

    def _fit(self, query: sg.Tensor) -> sg.Tensor:
        raise misuse(NotImplementedError, f"{type(self).__name__} has no scores")


class LuongAttention(AttentionMechanism):
    """Scores are products of queries and keys, times a variable if `scale`."""

    _SCOPE = "luong_attention"

    @like(AttentionMechanism, after={"scale": "memory_sequence_length"}, scale=False, name="LuongAttention")
    def __init__(self, scale: bool, **given: Any) -> None:
        self._scale = scale
        super().__init__(**given)

    def _fit(self, query: sg.Tensor) -> sg.Tensor:
        if query.shape[-1].value != self.keys.shape[-1].value:
            text = f"queries have {query.shape[-1]} units, and keys {self.keys.shape[-1]}"
            raise misuse(ValueError, text, f"num_units={query.shape[-1]}")
        scores = sg.squeeze(sg.matmul(sg.expand_dims(query, 1), self.keys, transpose_b=True), [1])
        if not self._scale:
            return scores
        ones = sg.ones_initializer()
        return sg.get_variable("attention_g", [], query.dtype, ones) * scores


class BahdanauAttention(AttentionMechanism):
    """Scores are sums of `v * tanh(query @ kernel + key)`; with `normalize`, `v` is of unit length times a
    variable, and there is a bias.
    """

    _SCOPE = "bahdanau_attention"

    @like(
        AttentionMechanism,
        after={"normalize": "memory_sequence_length"},
        normalize=False,
        name="BahdanauAttention",
    )
    def __init__(self, normalize: bool, **given: Any) -> None:
        self._normalize = normalize
        super().__init__(**given)
        self.query_layer = self._layer("query_layer")

    def _fit(self, query: sg.Tensor) -> sg.Tensor:
        wanted = self.query_layer(query)
        v = sg.get_variable("attention_v", [self.num_units], query.dtype)
        wanted = sg.expand_dims(wanted, 1)
        if not self._normalize:
            return sg.reduce_sum(v * sg.tanh(self.keys + wanted), 2)
        start = sg.constant_initializer(math.sqrt(1.0 / self.num_units))
        g = sg.get_variable("attention_g", [], query.dtype, start)
        b = sg.get_variable("attention_b", [self.num_units], query.dtype, sg.zeros_initializer())
        unit = g * v * sg.rsqrt(sg.reduce_sum(sg.square(v)))
        return sg.reduce_sum(unit * sg.tanh(self.keys + wanted + b), 2)
