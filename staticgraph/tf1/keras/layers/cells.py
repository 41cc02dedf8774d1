"""Cells of recurrent layers: the computation of one time step."""

from __future__ import annotations

from typing import Any

from staticgraph import nn
from staticgraph.arrays import array_ops, creation
from staticgraph.building.inputs import identity
from staticgraph.building.signatures import like
from staticgraph.compiler.graph.errors import misuse
from staticgraph.layers.adapters import with_weights
from staticgraph.layers.spatial import count_of
from staticgraph.linear_algebra import linalg
from staticgraph.state.layer import known_size
from staticgraph.tf1.keras import activations, initializers
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras.engine.arguments import weight_options
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.engine.structure import listed


class AbstractRNNCell(Layer):
    """One time step: `call(input, states)` gives the output and the new states.

    A subclass has `state_size`, a number or a list of them, and `output_size`.
    """

    @property
    def state_size(self) -> Any:
        raise misuse(NotImplementedError, f"{type(self).__name__} has no state_size")

    @property
    def output_size(self) -> Any:
        raise misuse(NotImplementedError, f"{type(self).__name__} has no output_size")

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """States of zeros."""
        return initial_state(self.state_size, inputs, batch_size, dtype)


def initial_state(state_size: Any, inputs: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros of the sizes of states, for the batch of `inputs`."""
    if inputs is not None:
        known = inputs.shape.as_list()[0] if inputs.shape.ndims else None
        batch_size = array_ops.shape(inputs)[0] if known is None else known
        dtype = inputs.dtype

    def zeros(size: Any) -> Any:
        sizes = list(size) if hasattr(size, "__iter__") else [size]
        made = creation.zeros(array_ops.stack([batch_size, *sizes]), dtype or K.floatx())
        made.set_shape([batch_size if isinstance(batch_size, int) else None, *sizes])
        return made

    if isinstance(state_size, list | tuple):
        return [zeros(size) for size in state_size]
    return zeros(state_size)


class _Cell(AbstractRNNCell):
    """A cell of `units` with a product of the input and one of the state; `gates` products are computed."""

    config_names: tuple[str, ...] = (
        "units",
        "activation",
        "use_bias",
        "weight_options",
        "dropout",
        "recurrent_dropout",
    )
    gates = 1
    weight_names = ("kernel", "recurrent", "bias")
    channel_axis = 1  # the axis of the gates in a product

    @with_weights(
        before="dropout", activity=False, kernel="glorot_uniform", recurrent="orthogonal", bias="zeros"
    )
    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        self.weight_options = weight_options(kwargs, *self.weight_names)
        super().__init__(**kwargs)
        self.units = count_of(units, "units")
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.dropout = min(1.0, max(0.0, dropout))
        self.recurrent_dropout = min(1.0, max(0.0, recurrent_dropout))
        self._masks: dict[str, list[Any]] = {}

    @property
    def state_size(self) -> Any:
        return self.units

    @property
    def output_size(self) -> Any:
        return self.units

    def build(self, input_shape: Any) -> None:
        size, wide = known_size(input_shape, -1, self.name), self.units * self.gates
        self.kernel = self.add_weight("kernel", [size, wide], **self.weight_options["kernel"])
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel", [self.units, wide], **self.weight_options["recurrent"]
        )
        options = self.weight_options["bias"]
        shape, make = self._bias(options["initializer"])
        self.bias = (
            self.add_weight("bias", shape, **options | {"initializer": make}) if self.use_bias else None
        )
        self.built = True

    def _bias(self, initializer: Any) -> tuple[list[int], Any]:
        """The shape of the bias, and its initializer."""
        return [self.units * self.gates], initializer

    # Dropout: one mask per gate, the same in all time steps

    def prepare(self, inputs: Any, states: Any, training: Any) -> None:
        """Draw the masks for the time steps that follow."""
        self._masks = {}
        state = listed(states)[0]
        for name, rate, x in (("input", self.dropout, inputs), ("state", self.recurrent_dropout, state)):
            if rate > 0:
                ones = creation.ones_like(x)
                self._masks[name] = [
                    K.in_train_phase(
                        lambda o=ones, r=rate: nn.dropout(o, rate=r), lambda o=ones: identity(o), training
                    )
                    for _ in range(self.gates)
                ]

    def _product(self, x: Any, kernel: Any, kind: str) -> Any:
        """The product with the kernel; where there is dropout, each gate has a mask of its own."""
        masks = self._masks.get(kind)
        if masks is None:
            return self._transformed(x, kernel, kind)
        parts = array_ops.split(kernel, self.gates, -1)
        made = [self._transformed(x * mask, part, kind) for mask, part in zip(masks, parts, strict=True)]
        return made[0] if len(made) == 1 else array_ops.concat(made, self.channel_axis)

    def _transformed(self, x: Any, kernel: Any, kind: str) -> Any:
        """The product of the input or of the state with a kernel."""
        return linalg.matmul(x, kernel)


class SimpleRNNCell(_Cell):
    """`activation(input @ kernel + state @ recurrent_kernel + bias)`."""

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        made = self._product(inputs, self.kernel, "input")
        made = made if self.bias is None else nn.bias_add(made, self.bias)
        output = self.activation(made + self._product(states[0], self.recurrent_kernel, "state"))
        return output, [output]


_GATED = {"recurrent_activation": "activation", "implementation": "recurrent_dropout"}


class _GatedCell(_Cell):
    """A cell with gates: their activation is `recurrent_activation`."""

    config_names: tuple[str, ...] = ("recurrent_activation", "implementation")

    @like(_Cell, after=_GATED, recurrent_activation="hard_sigmoid", implementation=1)
    def __init__(self, recurrent_activation: Any, implementation: int, **given: Any) -> None:
        super().__init__(**given)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.implementation = implementation


class GRUCell(_GatedCell):
    """A gated recurrent unit: update gate, reset gate, candidate.

    `reset_after` applies the reset gate after the product of the state, and has two biases.
    """

    config_names = ("reset_after",)
    gates = 3

    @like(_GatedCell, after={"reset_after": "implementation"}, reset_after=False)
    def __init__(self, reset_after: bool, **given: Any) -> None:
        super().__init__(**given)
        self.reset_after = reset_after

    def _bias(self, initializer: Any) -> tuple[list[int], Any]:
        wide = 3 * self.units
        return ([2, wide] if self.reset_after else [wide]), initializer

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        state = states[0]
        made = self._product(inputs, self.kernel, "input")
        if self.bias is not None:
            made = nn.bias_add(made, self.bias[0] if self.reset_after else self.bias)
        x_update, x_reset, x_new = array_ops.split(made, 3, 1)
        u, kernel = self.units, self.recurrent_kernel
        if self.reset_after:
            inner = self._product(state, kernel, "state")
            inner = inner if self.bias is None else nn.bias_add(inner, self.bias[1])
            h_update, h_reset, h_new = array_ops.split(inner, 3, 1)
            update = self.recurrent_activation(x_update + h_update)
            new = self.activation(x_new + self.recurrent_activation(x_reset + h_reset) * h_new)
        else:
            masks = self._masks.get("state") or [1.0, 1.0, 1.0]
            update = self.recurrent_activation(x_update + linalg.matmul(state * masks[0], kernel[:, :u]))
            reset = self.recurrent_activation(x_reset + linalg.matmul(state * masks[1], kernel[:, u : 2 * u]))
            new = self.activation(x_new + linalg.matmul(reset * state * masks[2], kernel[:, 2 * u :]))
        output = update * state + (1.0 - update) * new
        return output, [output]


class LSTMCell(_GatedCell):
    """A long short-term memory: input gate, forget gate, candidate, output gate; the states are output and
    memory.
    """

    config_names: tuple[str, ...] = ("unit_forget_bias",)
    gates = 4

    @like(_GatedCell, after={"unit_forget_bias": "bias_initializer"}, unit_forget_bias=True)
    def __init__(self, unit_forget_bias: bool, **given: Any) -> None:
        super().__init__(**given)
        self.unit_forget_bias = unit_forget_bias

    @property
    def state_size(self) -> Any:
        return [self.units, self.units]

    def _bias(self, initializer: Any) -> tuple[list[int], Any]:
        units = self.units

        def forgetting_slowly(shape: Any, dtype: Any = None) -> Any:
            parts = [initializer([units], dtype=dtype), initializers.Ones()([units], dtype=dtype)]
            return array_ops.concat([*parts, initializer([2 * units], dtype=dtype)], 0)

        return [4 * units], forgetting_slowly if self.unit_forget_bias else initializer

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        output, memory = states[0], states[1]
        made = self._product(inputs, self.kernel, "input") + self._product(
            output, self.recurrent_kernel, "state"
        )
        made = made if self.bias is None else self._biased(made)
        enter, forget, new, leave = array_ops.split(made, 4, self.channel_axis)
        memory = self.recurrent_activation(forget) * memory + self.recurrent_activation(
            enter
        ) * self.activation(new)
        output = self.recurrent_activation(leave) * self.activation(memory)
        return output, [output, memory]

    def _biased(self, made: Any) -> Any:
        return nn.bias_add(made, self.bias)


class StackedRNNCells(AbstractRNNCell):
    """Several cells as one: the output of each is the input of the next."""

    def __init__(self, cells: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cells = list(cells)

    @property
    def state_size(self) -> Any:
        return [size for cell in self.cells for size in listed(cell.state_size)]

    @property
    def output_size(self) -> Any:
        last = self.cells[-1]
        return getattr(last, "output_size", None) or listed(last.state_size)[0]

    def _divided(self, states: Any) -> list[list[Any]]:
        made, rest = [], list(states)
        for cell in self.cells:
            count = len(listed(cell.state_size))
            made.append(rest[:count])
            rest = rest[count:]
        return made

    def prepare(self, inputs: Any, states: Any, training: Any) -> None:
        for cell, own in zip(self.cells, self._divided(states), strict=True):
            if hasattr(cell, "prepare"):
                cell.prepare(inputs, own, training)
            inputs = initial_state(listed(cell.state_size)[0], inputs, None, None)

    def build(self, input_shape: Any) -> None:
        for cell in self.cells:
            build_cell(cell, input_shape)
            size = getattr(cell, "output_size", None) or listed(cell.state_size)[0]
            input_shape = type(input_shape)([input_shape[0], size])
        self.built = True

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        after: list[Any] = []
        for cell, own in zip(self.cells, self._divided(states), strict=True):
            extra = {"training": training} if "training" in cell._parameters else {}
            inputs, made = cell.call(inputs, own, **extra)
            after += listed(made)
        return inputs, after

    def get_config(self) -> dict[str, Any]:
        cells = [{"class_name": type(c).__name__, "config": c.get_config()} for c in self.cells]
        return super().get_config() | {"cells": cells}


def build_cell(cell: Any, input_shape: Any) -> None:
    """Make the weights of a cell, under the name of its layer, as TensorFlow 1's checkpoints have them."""
    if not cell.built:
        cell._dtype = cell._dtype or K.floatx()
        cell.build(input_shape)
        cell.built = True
