"""Cells around a cell: dropout, a residual connection, a device."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from staticgraph.building import nest
from staticgraph.building.framework import device, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.shapes import as_shape
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.mathematics.math_ops import div, floor
from staticgraph.nn.normalization import dropout
from staticgraph.nn.rnn_cell.base import RNNCell
from staticgraph.nn.rnn_cell.lstm import LSTMStateTuple
from staticgraph.nn.rnn_step import check_cell
from staticgraph.random_numbers.random_ops import random_uniform
from staticgraph.state.variables import Variable


class _Wrapper(RNNCell):
    """A cell that does what another one does, and something before or after it."""

    def __init__(self, cell: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_cell(cell, "cell")
        self.cell = cell

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        given = {} if scope is None else {"scope": scope}
        return self._around(lambda i, s: self.cell(i, s, **given), inputs, state)

    def _around(self, call: Callable[..., Any], inputs: Any, state: Any) -> Any:
        """The output and the state, where `call(inputs, state)` gives those of the cell inside."""
        raise NotImplementedError

    @property
    def wrapped_cell(self) -> Any:
        """The cell inside."""
        return self.cell

    @property
    def state_size(self) -> Any:
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        return self.cell.output_size

    @property
    def trainable_weights(self) -> list[Variable]:
        return list(self.cell.trainable_weights)

    @property
    def non_trainable_weights(self) -> list[Variable]:
        return list(self.cell.non_trainable_weights)

    def _checkpoint_dependencies(self) -> list[tuple[str, Any]]:
        return [*super()._checkpoint_dependencies(), ("cell", self.cell)]

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with name_scope(f"{type(self).__name__}ZeroState"):
            return self.cell.zero_state(batch_size, dtype)


def _all_but_memories(state: Any) -> Any:
    """Return True for each part of a state that is dropped: all but LSTM memories and TensorArrays."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(state, TensorArray)


class DropoutWrapper(_Wrapper):
    """Dropout on inputs, outputs and states of `cell`. A keep probability is a number or a tensor.

    Each step draws anew, unless `variational_recurrent`: then all steps and all sequences share a mask, and
    `dtype` must be given, with `input_keep_prob` also `input_size`. What of a state may be dropped is what
    `dropout_state_filter_visitor(state)` returns: True, False, or a structure of them; by default all but
    memories of LSTMs.

    >>> import staticgraph as sg
    >>> keep = sg.placeholder_with_default(1.0, [])
    >>> cell = sg.nn.rnn_cell.DropoutWrapper(sg.nn.rnn_cell.GRUCell(8), output_keep_prob=keep)
    >>> cell.output_size
    8
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise misuse(TypeError, "DropoutWrapper(dropout_state_filter_visitor): a function is needed")
        self._may_drop = dropout_state_filter_visitor or _all_but_memories
        self._seed = seed
        with name_scope("DropoutWrapperInit"):
            self._input_keep_prob = _probability(input_keep_prob, "input_keep_prob")
            self._state_keep_prob = _probability(state_keep_prob, "state_keep_prob")
            self._output_keep_prob = _probability(output_keep_prob, "output_keep_prob")
        self._noise: dict[str, Any] = {}
        if variational_recurrent:
            self._draw(input_size, dtype)

    def _draw(self, input_size: Any, dtype: Any) -> None:
        """The random numbers that all steps share."""
        if dtype is None:
            raise misuse(ValueError, "DropoutWrapper(variational_recurrent=True) needs a dtype")
        sizes = {"state": self.cell.state_size, "output": self.cell.output_size}
        if self._input_keep_prob != 1.0:
            if input_size is None:
                text = "DropoutWrapper(variational_recurrent=True, input_keep_prob=...) needs input_size"
                raise misuse(ValueError, text)
            sizes = {"input": input_size} | sizes
        for kind, size in sizes.items():
            numbers = itertools.count()

            def drawn(s: Any, kind: str = kind, numbers: Iterator[int] = numbers) -> Tensor:
                count_more(get_default_graph(), 3)  # TensorFlow joins two parts of the shape
                seed = self._seed_of(kind, next(numbers))
                return random_uniform([1, *(as_shape(s) or ())], seed=seed, dtype=dtype)

            self._noise[kind] = nest.map_structure(drawn, size)

    def _seed_of(self, kind: str, number: int) -> int | None:
        """The seed of the dropout of one tensor, which TF1 derives from that of the wrapper."""
        if self._seed is None:
            return None
        salted = f"{self._seed}{kind}_{number}".encode()
        return int(hashlib.md5(salted, usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _around(self, call: Callable[..., Any], inputs: Any, state: Any) -> Any:
        inputs = self._dropped("input", self._input_keep_prob, inputs)
        output, after = call(inputs, state)
        after = self._dropped("state", self._state_keep_prob, after, self._may_drop)
        return self._dropped("output", self._output_keep_prob, output), after

    def _dropped(
        self, kind: str, keep: Any, values: Any, may_drop: Callable[[Any], Any] = lambda _: True
    ) -> Any:
        """`values` after dropout, where `may_drop` allows it."""
        if isinstance(keep, float) and keep == 1.0:
            return values
        numbers = itertools.count()

        def walk(value: Any, noise: Any) -> Any:
            choice = may_drop(value)
            if choice is False:
                next(numbers)
                return value
            if not nest.is_nested(value):
                return self._drop(value, kind, next(numbers), keep, noise)
            choices = itertools.repeat(True) if choice is True else nest.flatten(choice)
            noises = itertools.repeat(None) if noise is None else nest.flatten(noise)
            return nest.like(value, list(_each(walk, value, choices, noises, numbers)))

        return walk(values, self._noise.get(kind))

    def _drop(self, value: Tensor, kind: str, number: int, keep: Any, noise: Any) -> Tensor:
        if noise is None:
            return dropout(value, rate=1.0 - keep, seed=self._seed_of(kind, number))
        made = div(value, keep) * floor(keep + noise)
        made.set_shape(value.shape)
        return made


def _each(
    walk: Callable[..., Any], value: Any, choices: Any, noises: Any, numbers: Iterator[int]
) -> Iterator[Any]:
    """The parts of `value`, walked through where that is chosen, counted where not."""
    for part, chosen, noise in zip(value, choices, noises, strict=False):
        if chosen:
            yield walk(part, noise)
        else:
            next(numbers)
            yield part


def _probability(value: Any, name: str) -> Any:
    """A number where it is known, else a tensor. ValueError for a number outside of [0, 1]."""
    tensor = convert_to_tensor(value)
    known = static_value(tensor)
    if known is None:
        return tensor
    if not 0 <= known <= 1:
        raise misuse(ValueError, f"DropoutWrapper({name}): {known} is not between 0 and 1")
    return float(known)


class ResidualWrapper(_Wrapper):
    """Adds the inputs of `cell` to its outputs, or calls `residual_fn(inputs, outputs)`.

    >>> import staticgraph as sg
    >>> cell = sg.nn.rnn_cell.ResidualWrapper(sg.nn.rnn_cell.GRUCell(8))
    >>> output, state = cell(sg.zeros([2, 8]), cell.zero_state(2, sg.float32))
    """

    def __init__(self, cell: Any, residual_fn: Callable[..., Any] | None = None, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn or (lambda inputs, outputs: nest.map_structure(_sum, inputs, outputs))

    def _around(self, call: Callable[..., Any], inputs: Any, state: Any) -> Any:
        outputs, after = call(inputs, state)
        return self._residual_fn(inputs, outputs), after


def _sum(inputs: Any, outputs: Tensor) -> Tensor:
    inputs = convert_to_tensor(inputs)
    if not inputs.shape.is_compatible_with(outputs.shape):
        text = f"ResidualWrapper: inputs {inputs.shape} cannot be added to outputs {outputs.shape}"
        raise misuse(ValueError, text, "give a residual_fn(inputs, outputs)")
    return inputs + outputs


class DeviceWrapper(_Wrapper):
    """Asks for a device for the operations of `cell`."""

    def __init__(self, cell: Any, device: str, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with device(self._device):
            return super().zero_state(batch_size, dtype)

    def _around(self, call: Callable[..., Any], inputs: Any, state: Any) -> Any:
        with device(self._device):
            return call(inputs, state)
