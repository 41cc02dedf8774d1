"""Recurrent layers: a cell applied to each time step of a sequence.

Default seeds depend on numbers of operations. TensorFlow's loop over time has a counter of its own, and calls
the cell once before the loop, for the structure of its results. Its cells multiply gate by gate, where ours
make one product.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.errors import ShapeError, misuse
from staticgraph.compiler.graph.recording.op_count import op_count, set_op_count
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.state.variables import Variable
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras import regularizers, state
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.engine.node import mask_of
from staticgraph.tf1.keras.engine.structure import leaves, listed
from staticgraph.tf1.keras.layers.cells import (
    GRUCell,
    LSTMCell,
    SimpleRNNCell,
    StackedRNNCells,
    build_cell,
    initial_state,
)
from staticgraph.tf1.keras.serialization import (
    deserialize_keras_object,
    layers_by_name,
    serialize_keras_object,
)

FLAGS = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "time_major")


class RNN(Layer):
    """A cell, or a list of cells, over the time steps of inputs [batch, time, features].

    It gives the last output, or all of them with `return_sequences`; with `return_state` also the last
    states. A masked step repeats the output before it, or gives zeros if `zero_output_for_mask`.
    `initial_state` of a call sets the first ones, otherwise they are zeros, or, if `stateful`, those
    after the batch before, until `reset_states()`. The steps are a loop of compiled code; `unroll` writes
    them one after the other, which needs a known number of steps.

    >>> import staticgraph as sg
    >>> x = sg.keras.Input([None, 4])
    >>> layer = sg.keras.layers.RNN([sg.keras.layers.LSTMCell(8), sg.keras.layers.LSTMCell(3)])
    >>> layer(x).shape.as_list()
    [None, 3]
    """

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        **kwargs: Any,
    ) -> None:
        cell = StackedRNNCells(cell) if isinstance(cell, list | tuple) else cell
        if not hasattr(cell, "call") or not hasattr(cell, "state_size"):
            raise misuse(
                ValueError, f"{cell!r} is not a cell: it must have call(inputs, states) and state_size"
            )
        if "input_shape" not in kwargs and ("input_dim" in kwargs or "input_length" in kwargs):
            kwargs["input_shape"] = (kwargs.pop("input_length", None), kwargs.pop("input_dim", None))
        self.zero_output_for_mask = kwargs.pop("zero_output_for_mask", False)
        super().__init__(**kwargs)
        self.cell = cell
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.stateful = go_backwards, stateful
        self.unroll, self.time_major = unroll, time_major
        self.supports_masking = True
        self.states: list[Any] = []

    def build(self, input_shape: Any) -> None:
        shape = TensorShape(input_shape[0] if _is_list_of_shapes(input_shape) else input_shape)
        sizes = shape.as_list()
        if len(sizes) < 3:
            text = f"layer {self.name}: its input of shape {shape} has {len(sizes)} axes, and must have 3"
            raise misuse(ShapeError, text, "batch, time and features: expand_dims adds an axis")
        batch = sizes[1 if self.time_major else 0]
        build_cell(self.cell, type(shape)([batch, *sizes[2:]]))
        if self.stateful:
            if batch is None:
                raise misuse(
                    ValueError, f"{self.name}: a stateful layer needs a fixed batch: give batch_input_shape"
                )
            self.states = [self._kept_state([batch, *sizes]) for sizes in self._state_sizes(shape)]
        self.built = True

    def _kept_state(self, sizes: list[int]) -> Variable:
        """A variable for a state between batches. It is no weight: files of weights do not have it."""
        zeros = np.zeros(sizes, self._dtype or K.floatx())
        made = Variable(zeros, trainable=False, name="Variable", use_resource=True)
        state.track(made)
        return made

    def _state_sizes(self, input_shape: Any) -> list[list[int]]:
        """The sizes of the states without the batch."""
        return [_sizes(size) for size in listed(self.cell.state_size)]

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """States of zeros for these inputs."""
        first = K.permute_dimensions(inputs, [1, 0, 2]) if self.time_major else inputs
        if hasattr(self.cell, "get_initial_state"):
            return listed(self.cell.get_initial_state(inputs=first, batch_size=None, dtype=None))
        return listed(initial_state(self.cell.state_size, first, None, None))

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        further = [*leaves(kwargs.pop("initial_state", None))]
        constants = [*leaves(kwargs.pop("constants", None))]
        self._constant_count = len(constants)
        if further or constants:
            given = [convert_to_tensor(t) for t in (*listed(inputs), *further, *constants)]
            kwargs.setdefault("mask", listed(mask_of(given[0]))[0] if mask_of(given[0]) is not None else None)
            return super().__call__(given, *args, **kwargs)
        return super().__call__(inputs, *args, **kwargs)

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        training: Any = None,
        initial_state: Any = None,
        constants: Any = None,
    ) -> Any:
        given = listed(inputs)
        mask = listed(mask)[0] if mask is not None else None
        count = getattr(self, "_constant_count", 0)
        x, states = given[0], given[1 : len(given) - count]
        start, own = op_count(x.graph), not states
        constants = given[len(given) - count :] if count else []
        if not states:
            states = list(self.states) if self.stateful else self.get_initial_state(x)
        if len(states) != len(listed(self.cell.state_size)):
            text = f"{self.name} has {len(listed(self.cell.state_size))} states, {len(states)} were given"
            raise ValueError(text)
        if hasattr(self.cell, "prepare"):
            self.cell.prepare(x[0] if self.time_major else x[:, 0], states, training)
        takes_training = "training" in inspect.signature(self.cell.call).parameters

        def step(row: Any, before: list[Any]) -> tuple[Any, list[Any]]:
            extra: dict[str, Any] = {"training": training} if takes_training else {}
            if constants:
                before, extra["constants"] = before[: len(states)], before[len(states) :]
            output, after = self.cell.call(
                row, before if len(before) > 1 or _takes_list(self.cell) else before[0], **extra
            )
            return output, listed(after)

        last, outputs, after = K.rnn(
            step,
            x,
            states,
            self.go_backwards,
            mask,
            constants,
            self.unroll,
            None,
            self.time_major,
            self.zero_output_for_mask,
        )
        operations = layer_operations(self, x, states, not own, mask is not None)
        if operations is not None:
            set_op_count(x.graph, start + operations)
        if self.stateful:
            self.add_update([old.assign(new) for old, new in zip(self.states, after, strict=True)])
        made = outputs if self.return_sequences else last
        return [made, *after] if self.return_state else made

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        kept = listed(mask)[0] if self.return_sequences and mask is not None else None
        return [kept, *[None] * len(listed(self.cell.state_size))] if self.return_state else kept

    def reset_states(self, states: Any = None) -> None:
        """Set the remembered states: to zeros, or to the given ones."""
        if not self.stateful:
            raise AttributeError(f"{self.name} is not stateful: it remembers nothing between batches")
        if not self.states:
            raise misuse(ValueError, f"{self.name} has no states before it is built")
        values = [np.zeros(s.shape.as_list(), s.dtype.numpy) for s in self.states]
        K.batch_set_value(list(zip(self.states, values if states is None else listed(states), strict=True)))

    def get_config(self) -> dict[str, Any]:
        flags = {name: getattr(self, name) for name in FLAGS}
        if self.zero_output_for_mask:
            flags["zero_output_for_mask"] = True
        return super().get_config() | flags | {"cell": serialize_keras_object(self.cell)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        arguments = dict(config)
        described = arguments.pop("cell")
        if described["class_name"] == "StackedRNNCells":
            described = [
                deserialize_keras_object(c, layers_by_name(), custom_objects, "cell")
                for c in described["config"]["cells"]
            ]
            return cls(described, **arguments)
        return cls(deserialize_keras_object(described, layers_by_name(), custom_objects, "cell"), **arguments)


def _sizes(size: Any) -> list[int]:
    return list(size) if hasattr(size, "__iter__") else [size]


def _is_list_of_shapes(shape: Any) -> bool:
    return isinstance(shape, list) and bool(shape) and isinstance(shape[0], list | tuple | TensorShape)


def _takes_list(cell: Any) -> bool:
    """Cells of Keras take their states as a list, also a single one."""
    return isinstance(cell, Layer)


class _Named(RNN):
    """A recurrent layer that makes its cell from its own arguments."""

    cell_class: Any = None

    def __init__(self, units: int, *args: Any, **kwargs: Any) -> None:
        _, *names, _ = inspect.signature(self.cell_class).parameters
        given = dict(zip(names, args, strict=False)) | kwargs
        own = {name: given.pop(name) for name in names if name in given}
        activity = {"activity_regularizer": given.pop("activity_regularizer", None)}
        shared = {name: given[name] for name in ("dtype", "trainable") if name in given}
        super().__init__(self.cell_class(units, **own, **shared), **activity, **given)
        self.input_spec = None

    def __getattr__(self, name: str) -> Any:
        """The arguments of the cell are those of the layer, too."""
        cell = vars(self).get("cell")
        if cell is None or name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(cell, name)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.pop("cell")
        own = {k: v for k, v in self.cell.get_config().items() if k not in ("name", "trainable", "dtype")}
        return config | own | {"activity_regularizer": regularizers.serialize(self.activity_regularizer)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        return cls(**config)


class SimpleRNN(_Named):
    """A layer of `SimpleRNNCell`: see `RNN`."""

    cell_class = SimpleRNNCell


class GRU(_Named):
    """A layer of `GRUCell`: see `RNN`."""

    cell_class = GRUCell


class LSTM(_Named):
    """A layer of `LSTMCell`: see `RNN`.

    >>> import staticgraph as sg
    >>> x = sg.keras.Input([7, 4])
    >>> sg.keras.layers.LSTM(3, return_sequences=True)(x).shape.as_list()
    [None, 7, 3]
    """

    cell_class = LSTMCell


class CuDNNGRU(GRU):
    """`GRU` with the arithmetic of cuDNN: sigmoid gates, the reset after the product."""

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(units, **({"recurrent_activation": "sigmoid", "reset_after": True} | kwargs))


class CuDNNLSTM(LSTM):
    """`LSTM` with the arithmetic of cuDNN: sigmoid gates."""

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(units, **({"recurrent_activation": "sigmoid"} | kwargs))


_LOOP = 59  # swaps of batch and time, arrays of rows, the loop with its counters, the last row
_UNROLLED = 11
_OF_STATE = 16  # zeros of the batch's size, and what carries them round the loop
_STATE_GIVEN, _ZEROS = -5, -8  # the batch's size, and the zeros of each state
_STATE_UNROLLED = 13
_MASKED, _STATE_MASKED = 27, 3  # rows of the mask, and a choice for the output and for each state
_BACKWARDS = 2
_TIME_MAJOR = -4
_MASK_DROPPED = 26  # a choice by the phase for each mask
_DROPPED = (5, 3)  # the phase and ones of the inputs, and ones of the state

# Operations of a cell without its activations: with a bias, and without.
_GATE_BY_GATE = {LSTMCell: (47, 39), GRUCell: (63, 45), SimpleRNNCell: (7, 5)}
_AT_ONCE = {LSTMCell: (13, 11), GRUCell: (45, 39)}
_RESET_AFTER = (77, 59)
_GATES = {LSTMCell: (3, 2), GRUCell: (2, 1), SimpleRNNCell: (0, 1)}  # activations: of gates, and others
_MASKS = {LSTMCell: 4, GRUCell: 3, SimpleRNNCell: 1}


def layer_operations(layer: Any, x: Tensor, states: list[Tensor], given: bool, masked: bool) -> int | None:
    """Return the number of operations of TensorFlow's call of a recurrent layer.

    Args:
        layer: The layer.
        x: Its inputs.
        states: Its first states.
        given: If the first states are no zeros of the layer's own.
        masked: If there is a mask.

    Returns:
        The number, or None if it is not known, as of cells of users.
    """
    cells = layer.cell.cells if isinstance(layer.cell, StackedRNNCells) else [layer.cell]
    if layer.stateful or any(type(cell) not in _GATES for cell in cells):
        return None
    once = sum(cell_operations(cell, states[0]) for cell in cells)
    number = len(states)
    if layer.unroll:
        steps = x.shape.as_list()[0 if layer.time_major else 1] or 0
        made = steps * once + _UNROLLED + number * _STATE_UNROLLED
    else:
        captured = sum(2 + cell.use_bias for cell in cells)
        made = 2 * once + _LOOP + number * _OF_STATE + captured - 2 * (len(cells) - 1)
    made += (_STATE_GIVEN + number * _ZEROS) if given else 0
    made += (_MASKED + number * _STATE_MASKED) if masked else 0
    made += _BACKWARDS * bool(layer.go_backwards) + _TIME_MAJOR * bool(layer.time_major)
    for cell in cells:
        dropped = bool(cell.dropout) + bool(cell.recurrent_dropout)
        made += sum(_DROPPED[:dropped]) + dropped * _MASK_DROPPED * _MASKS[type(cell)]
    return made


def cell_operations(cell: Any, state: Tensor) -> int:
    """Return the number of operations of one step of a cell in TensorFlow."""
    kind = type(cell)
    table = _AT_ONCE if getattr(cell, "implementation", 1) == 2 and kind in _AT_ONCE else _GATE_BY_GATE
    pair = _RESET_AFTER if getattr(cell, "reset_after", False) else table[kind]
    gates, others = _GATES[kind]
    made = pair[0 if cell.use_bias else 1] + others * _of_activation(cell.activation, state)
    return made + (gates * _of_activation(cell.recurrent_activation, state) if gates else 0)


def _of_activation(activation: Any, x: Tensor) -> int:
    """Return the number of operations that a function of a tensor makes. They are taken back."""
    with x.graph.attempt() as forget:
        before = op_count(x.graph)
        activation(x)
        made = op_count(x.graph) - before
        forget()
    return made
