"""Cells of `tf.contrib.rnn` around a cell: projections, embeddings, attention, gates past it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph.building import nest
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.nn.rnn_cell import RNNCell
from staticgraph.nn.rnn_step import check_cell
from staticgraph.tf1.compat.rnn.recurrent_linear import linear


class _Around(RNNCell):
    """A cell with the state of another one, `cell`."""

    def __init__(self, cell: Any, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        check_cell(cell, f"{type(self).__name__}(cell)")
        self._cell = cell

    state_size: Any = read_only("cell.state_size")
    output_size: Any = read_only("cell.output_size")

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with sg.name_scope(f"{type(self).__name__}ZeroState"):
            return self._cell.zero_state(batch_size, dtype)


class InputProjectionWrapper(_Around):
    """Inputs are multiplied by a matrix, to `num_proj` features. `input_size` is not used."""

    def __init__(
        self,
        cell: Any,
        num_proj: int,
        activation: Callable[..., Any] | None = None,
        input_size: Any = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._num_proj, self._activation = num_proj, activation

    def call(self, inputs: sg.Tensor, state: Any) -> Any:
        projected = linear([inputs], self._num_proj)
        return self._cell(self._activation(projected) if self._activation else projected, state)


class OutputProjectionWrapper(_Around):
    """Outputs are multiplied by a matrix, to `output_size` features."""

    def __init__(
        self, cell: Any, output_size: int, activation: Callable[..., Any] | None = None, reuse: Any = None
    ) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise misuse(ValueError, f"OutputProjectionWrapper(output_size): {output_size} is too small")
        self._size, self._activation = output_size, activation

    output_size: int = read_only("size")

    def call(self, inputs: sg.Tensor, state: Any) -> Any:
        output, state = self._cell(inputs, state)
        projected = linear([output], self._size)
        return self._activation(projected) if self._activation else projected, state


class EmbeddingWrapper(_Around):
    """Inputs are numbers of symbols, of which `cell` gets rows of a table."""

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: Any = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            text = f"EmbeddingWrapper: a table of {embedding_classes} x {embedding_size} numbers is empty"
            raise misuse(ValueError, text)
        self._shape, self._initializer = [embedding_classes, embedding_size], initializer

    def call(self, inputs: sg.Tensor, state: Any) -> Any:
        bound = math.sqrt(3)
        initializer = self._initializer or sg.get_variable_scope().initializer
        initializer = initializer or sg.random_uniform_initializer(-bound, bound)
        dtype = nest.flatten(state)[0].dtype
        embedding = sg.get_variable("embedding", self._shape, dtype, initializer)
        return self._cell(sg.nn.embedding_lookup(embedding, sg.reshape(inputs, [-1])), state)


class HighwayWrapper(_Around):
    """Inputs go past `cell` as far as a gate lets them, and are added to its outputs."""

    def __init__(
        self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0
    ) -> None:
        super().__init__(cell)
        self._coupled, self._start = couple_carry_transform_gates, carry_bias_init

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        outputs, state = self._cell(inputs, state, **({} if scope is None else {"scope": scope}))
        return nest.map_structure(self._highway, inputs, outputs), state

    def _highway(self, inputs: sg.Tensor, outputs: sg.Tensor) -> sg.Tensor:
        inputs.shape.assert_is_compatible_with(outputs.shape)
        carry = self._gate(inputs, "carry", self._start)
        transform = 1 - carry if self._coupled else self._gate(inputs, "transform", -self._start)
        return inputs * carry + outputs * transform

    def _gate(self, inputs: sg.Tensor, name: str, start: float) -> sg.Tensor:
        size = inputs.shape[1].value
        weights = sg.get_variable(f"{name}_w", [size, size])
        bias = sg.get_variable(f"{name}_b", [size], initializer=sg.constant_initializer(start))
        return sg.sigmoid(sg.nn.xw_plus_b(inputs, weights, bias))


class AttentionCellWrapper(_Around):
    """`cell` sees a mean of the last `attn_length` outputs, and its output is combined with the next mean.

    The state has the state of the cell, that mean and those outputs.
    """

    def __init__(
        self,
        cell: Any,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        if nest.is_nested(cell.state_size) and not state_is_tuple:
            text = "AttentionCellWrapper(state_is_tuple=False): the state of the cell is a tuple"
            raise misuse(ValueError, text)
        if attn_length <= 0:
            raise misuse(ValueError, f"AttentionCellWrapper(attn_length): {attn_length} is too small")
        self._length, self._size = attn_length, attn_size or cell.output_size
        self._vec_size, self._input_size = attn_vec_size or self._size, input_size
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        sizes = (self._cell.state_size, self._size, self._size * self._length)
        return sizes if self._state_is_tuple else sum(sizes)

    output_size: int = read_only("size")

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        return RNNCell.zero_state(self, batch_size, dtype)

    def call(self, inputs: sg.Tensor, state: Any) -> Any:
        if not self._state_is_tuple:
            state = sg.split(state, [self._cell.state_size, self._size, self._size * self._length], 1)
        state, mean, past = state
        past = sg.reshape(past, [-1, self._length, self._size])
        inputs = linear([inputs, mean], self._input_size or inputs.shape[1].value)
        output, state = self._cell(inputs, state)
        mean = self._attend(sg.concat(nest.flatten(state), 1), past)
        with sg.variable_scope("attn_output_projection"):
            output = linear([output, mean], self._size)
        past = sg.concat([past[:, 1:], sg.expand_dims(output, 1)], 1)
        count_more(past.graph, -4)
        new = (state, mean, sg.reshape(past, [-1, self._length * self._size]))
        return output, new if self._state_is_tuple else sg.concat(list(new), 1)

    def _attend(self, query: sg.Tensor, past: sg.Tensor) -> sg.Tensor:
        """The mean of past outputs, weighted by how well they fit `query`."""
        with sg.variable_scope("attention"):
            kernel = sg.get_variable("attn_w", [1, 1, self._size, self._vec_size])
            vector = sg.get_variable("attn_v", [self._vec_size])
            features = sg.tensordot(past, kernel[0, 0], [[2], [0]])
            count_more(past.graph, -12)  # TensorFlow has a convolution
            wanted = sg.expand_dims(linear([query], self._vec_size), 1)
            weights = sg.nn.softmax(sg.reduce_sum(vector * sg.tanh(features + wanted), 2))
            count_more(past.graph, 3)
            return sg.reshape(sg.reduce_sum(sg.expand_dims(weights, 2) * past, 1), [-1, self._size])
