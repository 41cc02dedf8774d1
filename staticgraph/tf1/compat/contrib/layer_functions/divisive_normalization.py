"""`tf.contrib.layers.gdn`: generalized divisive normalization (Ballé et al., 2016), for image compression."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.state.layer import known_size


class GDN(sg.layers.Layer):
    """Divide each channel by a norm over all: `x[i] / sqrt(beta[i] + sum(gamma[j, i] * x[j] ** 2))`.

    The variables `reparam_beta` and `reparam_gamma` hold the roots of beta and gamma plus a small offset,
    which keeps both positive. At a bound, only gradients that push a variable up pass.

    Args:
        inverse: Multiply by the norm instead.
        beta_min: The least beta.
        gamma_init: The first value of the diagonal of gamma; the rest begins at 0.
        reparam_offset: The least root of gamma.
        data_format: "channels_last" or "channels_first".
        activity_regularizer: A function that gives a loss of the output.
        trainable: If False, the variables are not trained.
        name: The name of the layer.

    Raises:
        ValueError: Another data format.
    """

    def __init__(
        self,
        inverse: bool = False,
        beta_min: float = 1e-6,
        gamma_init: float = 0.1,
        reparam_offset: float = 2**-18,
        data_format: str = "channels_last",
        activity_regularizer: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if data_format not in ("channels_last", "channels_first"):
            raise misuse(
                ValueError, f"GDN: data_format is {data_format!r}", "use channels_last or channels_first"
            )
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.inverse = inverse
        self.data_format = data_format
        self._beta_min, self._gamma_init, self._offset = beta_min, gamma_init, reparam_offset

    def build(self, input_shape: Any) -> None:
        axis = -1 if self.data_format == "channels_last" else 1
        channels = known_size(sg.TensorShape(input_shape), axis, self.label)
        pedestal = self._offset**2

        def root(value: Any) -> Any:
            return lambda shape, dtype=None, partition_info=None: sg.sqrt(value(shape, dtype) + pedestal)

        beta = self.add_weight("reparam_beta", [channels], initializer=root(sg.ones))
        gamma = self.add_weight(
            "reparam_gamma",
            [channels, channels],
            initializer=root(lambda shape, dtype: self._gamma_init * sg.eye(shape[0], dtype=dtype)),
        )
        bound = (self._beta_min + pedestal) ** 0.5
        self.beta = sg.square(_lower_bound(beta, bound)) - pedestal
        self.gamma = sg.square(_lower_bound(gamma, self._offset)) - pedestal
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        inputs = sg.convert_to_tensor(inputs)
        squares, first = sg.square(inputs), self.data_format == "channels_first"
        rank = inputs.shape.ndims
        if first:
            squares = sg.transpose(squares, [0, *range(2, rank), 1])
        norm = sg.sqrt(sg.tensordot(squares, self.gamma, 1) + self.beta)
        if first:
            norm = sg.transpose(norm, [0, rank - 1, *range(1, rank - 1)])
        return inputs * norm if self.inverse else inputs / norm

    def compute_output_shape(self, input_shape: Any) -> Any:
        return sg.TensorShape(input_shape)


def _lower_bound(x: Any, bound: float) -> Any:
    """`maximum(x, bound)`, through which gradients that push `x` up pass everywhere."""

    @sg.custom_gradient
    def bounded(x: Any) -> Any:
        def gradient(g: Any) -> Any:
            passes = sg.logical_or(sg.greater_equal(x, bound), sg.less(g, 0.0))
            return sg.cast(passes, g.dtype) * g

        return sg.maximum(x, bound), gradient

    return bounded(sg.convert_to_tensor(x))


def gdn(
    inputs: Any,
    inverse: bool = False,
    beta_min: float = 1e-6,
    gamma_init: float = 0.1,
    reparam_offset: float = 2**-18,
    data_format: str = "channels_last",
    activity_regularizer: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Any:
    """`GDN` as a function.

    Args:
        inputs: A tensor of rank 3, 4 or 5.
        inverse, beta_min, gamma_init, reparam_offset, data_format, activity_regularizer, trainable, name: As
            for `GDN`.
        reuse: Take the variables that another layer of this name made.

    Returns:
        A tensor of the same shape.
    """
    layer = GDN(
        inverse,
        beta_min,
        gamma_init,
        reparam_offset,
        data_format,
        activity_regularizer,
        trainable,
        name,
        dtype=sg.convert_to_tensor(inputs).dtype,
        _scope=name,
        _reuse=reuse,
    )
    return layer.apply(inputs)
