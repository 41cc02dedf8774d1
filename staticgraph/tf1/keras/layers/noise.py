"""Random disturbance in training."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays import array_ops
from staticgraph.arrays.casts import cast
from staticgraph.building.inputs import identity
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.static_value import decided
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras.backend.values import random_normal, random_uniform
from staticgraph.tf1.keras.engine.layer import Layer

# Where the scaled exponential unit saturates: minus its scale times its alpha.
_SATURATION = -1.0507009873554805 * 1.6732632423543772

# So many operations more TensorFlow makes for branches of a call, if a tensor decides.
_BRANCHES = 5


class _Noise(Layer):
    """In training the inputs are disturbed, otherwise they are passed on."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def disturbed(self, inputs: Any) -> Any:
        raise NotImplementedError

    def call(self, inputs: Any, training: Any = None) -> Any:
        training = decided(K.learning_phase() if training is None else training)
        if isinstance(training, Tensor):
            count_more(inputs.graph, _BRANCHES)
        return K.in_train_phase(lambda: self.disturbed(inputs), lambda: identity(inputs), training)


class GaussianNoise(_Noise):
    """Normal random numbers of the given standard deviation are added."""

    config_names = ("stddev",)

    def __init__(self, stddev: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev = stddev

    def disturbed(self, inputs: Any) -> Any:
        return inputs + random_normal(array_ops.shape(inputs), 0.0, self.stddev, inputs.dtype)


class GaussianDropout(_Noise):
    """The inputs are multiplied by normal random numbers around one, as spread as dropout of `rate` is."""

    config_names = ("rate",)

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate

    def disturbed(self, inputs: Any) -> Any:
        spread = (self.rate / (1.0 - self.rate)) ** 0.5
        return inputs * random_normal(array_ops.shape(inputs), 1.0, spread, inputs.dtype)


class AlphaDropout(_Noise):
    """Dropout that keeps mean and variance of what scaled exponential units (`selu`) give."""

    config_names = ("rate",)

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def disturbed(self, inputs: Any) -> Any:
        shape = array_ops.shape(inputs) if self.noise_shape is None else self.noise_shape
        drawn = random_uniform(shape, dtype=inputs.dtype, seed=self.seed)
        return saturated(inputs, drawn, self.rate)


def saturated(x: Any, drawn: Any, rate: Any) -> Any:
    """Drop elements to the limit of `selu`, and rescale so that mean 0 and variance 1 stay what they are.

    Args:
        x: A tensor of floats.
        drawn: Uniform random numbers, which broadcast to the shape of `x`; less than `rate` drops.
        rate: The share that is dropped, a number or a scalar tensor.

    Returns:
        A tensor like `x`.
    """
    kept = cast(K.greater_equal(drawn, rate), x.dtype)
    scale = ((1.0 - rate) * (1.0 + rate * _SATURATION**2)) ** -0.5
    return scale * (x * kept + _SATURATION * (1.0 - kept)) - scale * _SATURATION * rate
