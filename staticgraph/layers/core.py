"""Dense layers, dropout, flattening."""

from __future__ import annotations

import math
from typing import Any

from staticgraph import nn
from staticgraph.building.framework import checked
from staticgraph.building.inputs import identity
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import ShapeError, misuse, require
from staticgraph.compiler.graph.recording.op_count import BackwardCount, count_backward, count_more
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.static_value import decided
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.layers.adapters import function_of, weight_options, with_weights
from staticgraph.nn.activation import activation_of
from staticgraph.state.initializers import Zeros
from staticgraph.state.layer import Layer, applied, count_of, known_size


class Dense(Layer):
    """`activation(inputs @ kernel + bias)` over the last axis, to `units` outputs.

    >>> import staticgraph as sg
    >>> layer = sg.layers.Dense(10, activation=sg.nn.relu)
    >>> y = layer(sg.placeholder(sg.float32, [None, 784]))
    >>> y.name, layer.kernel.shape.as_list(), layer.bias.name
    ('dense/Relu:0', [784, 10], 'dense/bias:0')
    """

    @with_weights(before="trainable", kernel=None, bias=Zeros)
    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        trainable: bool = True,
        name: str | None = None,
        **options: Any,
    ) -> None:
        self.kernel_options, self.bias_options = weight_options(options, "kernel", "bias").values()
        super().__init__(trainable, name, **options)
        self.units = count_of(units, "units")
        self.activation = activation_of(activation)
        self.use_bias = use_bias

    def build(self, input_shape: Any) -> None:
        input_shape = TensorShape(input_shape)
        if input_shape.ndims is not None and input_shape.ndims < 2:
            hint = "the first axis is the batch: expand_dims makes one"
            raise misuse(ShapeError, f"{self.label}: the input {input_shape} has fewer than 2 axes", hint)
        inputs = known_size(input_shape, -1, self.label)
        self.kernel = self.add_weight("kernel", [inputs, self.units], **self.kernel_options)
        self.bias = self.add_weight("bias", [self.units], **self.bias_options) if self.use_bias else None
        self.built = True

    def call(self, inputs: Tensor) -> Tensor:
        if inputs.shape.ndims == 2:
            outputs = ops.matmul(inputs, self.kernel)
        else:
            from staticgraph.mathematics.products import tensordot  # most inputs are matrices

            outputs = tensordot(inputs, self.kernel, [[len(inputs.shape) - 1], [0]])
        if self.bias is not None:
            outputs = ops.bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the outputs for inputs of this shape, a batch at least, whose last size is known."""
        shape = TensorShape(input_shape)
        known_size(shape, -1, self.label)
        with checked(self.label):
            require(len(shape) > 1, f"the input {shape} has one axis, and must have two or more")
        return TensorShape([*shape.as_list()[:-1], self.units])


class Dropout(Layer):
    """In training, zeros with probability `rate`, and the
    rest scaled by `1 / (1 - rate)`; else the inputs.
    """

    def __init__(
        self,
        rate: Any = 0.5,
        noise_shape: Any = None,
        seed: int | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name=name, **options)
        if isinstance(rate, int | float) and not 0 <= rate <= 1:
            raise misuse(ValueError, f"dropout: rate is {rate}, it must be in [0, 1)")
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: Tensor, training: Any = False) -> Tensor:
        training = decided(training)
        if isinstance(training, Tensor):
            return self._in_training(inputs, training, self.noise_shape)
        if not training:
            return identity(inputs)
        return nn.dropout(inputs, noise_shape=self.noise_shape, seed=self.seed, rate=self.rate)

    def _in_training(self, inputs: Tensor, training: Tensor, noise_shape: Any) -> Tensor:
        """The inputs with elements dropped if the tensor `training` is True, and as they are otherwise."""
        known = inputs.shape.is_fully_defined()
        count_more(inputs.graph, 4 if known else 5)  # TensorFlow has branches here
        dropped = nn.dropout(inputs, noise_shape=noise_shape, seed=self.seed, rate=self.rate)
        count_more(inputs.graph, (3 if known else 2) + isinstance(self.rate, Tensor))
        outputs = ops.select(training, dropped, inputs)
        count_backward(outputs, BackwardCount(13, gates=3))
        outputs.set_shape(inputs.shape)  # `training` may be of unknown shape
        return outputs


class Flatten(Layer):
    """All axes but the first as one."""

    def __init__(self, data_format: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.data_format = data_format or "channels_last"

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the outputs for inputs of this shape."""
        batch, *sizes = TensorShape(input_shape).as_list()
        return TensorShape([batch, None if None in sizes else math.prod(sizes)])

    def call(self, inputs: Tensor) -> Tensor:
        sizes = inputs.type.shape
        if sizes == ():
            hint = "the first axis is the batch: expand_dims makes one"
            raise misuse(ShapeError, f"{self.label}: a number has no axes to flatten", hint)
        if self.data_format == "channels_first" and sizes is not None and len(sizes) > 2:
            rank = len(sizes)
            inputs = ops.transpose(inputs, perm=(0, *range(2, rank), 1))
        batch = sizes[0] if sizes is not None and sizes[0] is not None else ops.shape_of(inputs)[0]
        outputs = ops.reshape(inputs, shape=[batch, -1])
        if sizes is not None:
            known = None if None in sizes[1:] else math.prod(n for n in sizes[1:] if n is not None)
            outputs.set_shape([sizes[0], known])
        return outputs


@function_of(Dense)
def dense(inputs: Any, *args: Any, **options: Any) -> Any:
    """A new `Dense` layer applied to `inputs` of shape [..., n]; the result has shape [..., units].

    >>> import staticgraph as sg
    >>> h = sg.layers.dense(sg.placeholder(sg.float32, [None, 4]), 3)
    >>> h, [v.name for v in sg.trainable_variables()]
    (<sg.Tensor 'dense/BiasAdd:0' shape=(?, 3) dtype=float32>, ['dense/kernel:0', 'dense/bias:0'])
    """


def dropout(
    inputs: Any,
    rate: Any = 0.5,
    noise_shape: Any = None,
    seed: int | None = None,
    training: Any = False,
    name: str | None = None,
) -> Tensor:
    """`inputs` with elements dropped where `training`, a bool or a bool tensor, holds.

    >>> import staticgraph as sg
    >>> training = sg.placeholder_with_default(False, [])
    >>> y = sg.layers.dropout(sg.placeholder(sg.float32, [None, 4]), 0.4, training=training)
    """
    return applied(Dropout, locals())


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Tensor:
    """`inputs` with all axes but the first as one.

    >>> import staticgraph as sg
    >>> sg.layers.flatten(sg.placeholder(sg.float32, [None, 8, 8, 3])).shape.as_list()
    [None, 192]
    """
    return applied(Flatten, locals())
