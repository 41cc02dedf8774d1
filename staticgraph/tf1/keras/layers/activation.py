"""Activations with options, or with weights of their own, as layers."""

from __future__ import annotations

from typing import Any

from staticgraph import nn
from staticgraph.arrays.casts import cast
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.layers.adapters import with_weights
from staticgraph.state.input_spec import InputSpec
from staticgraph.tf1.keras import activations
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras.engine.arguments import weight_options
from staticgraph.tf1.keras.engine.layer import Layer


class _Activation(Layer):
    """A function of each element whose options are attributes of the layer."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True


class LeakyReLU(_Activation):
    """`x` above zero, `alpha * x` below."""

    config_names = ("alpha",)

    def __init__(self, alpha: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs: Any) -> Any:
        return nn.leaky_relu(inputs, self.alpha)


class ELU(_Activation):
    """`x` above zero, `alpha * (exp(x) - 1)` below."""

    config_names = ("alpha",)

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs: Any) -> Any:
        return activations.elu(inputs, self.alpha)


class ThresholdedReLU(_Activation):
    """`x` above `theta`, zero below."""

    config_names = ("theta",)

    def __init__(self, theta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.theta = float(theta)

    def call(self, inputs: Any) -> Any:
        return inputs * cast(K.greater(inputs, self.theta), inputs.dtype)


class Softmax(_Activation):
    """Positive numbers that sum to one along `axis`."""

    config_names = ("axis",)

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        return K.softmax(inputs, self.axis)


class ReLU(_Activation):
    """`x` from `threshold` on, at most `max_value`; below, `negative_slope` times the distance to it."""

    config_names = ("max_value", "negative_slope", "threshold")

    def __init__(
        self, max_value: float | None = None, negative_slope: float = 0, threshold: float = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if max_value is not None and max_value < 0:
            raise misuse(ValueError, f"ReLU: max_value={max_value} must not be negative")
        if negative_slope < 0:
            raise misuse(ValueError, f"ReLU: negative_slope={negative_slope} must not be negative")
        self.max_value = None if max_value is None else float(max_value)
        self.negative_slope, self.threshold = float(negative_slope), float(threshold)

    def call(self, inputs: Any) -> Any:
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


class PReLU(Layer):
    """`x` above zero, `alpha * x` below, where `alpha` is trained: one for each place that is not shared."""

    config_names = ("alpha_options", "shared_axes")

    @with_weights(before="shared_axes", activity=False, alpha="zeros")
    def __init__(self, shared_axes: Any = None, **kwargs: Any) -> None:
        self.alpha_options = weight_options(kwargs, "alpha")["alpha"]
        super().__init__(**kwargs)
        self.supports_masking = True
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else list(shared_axes or ()) or None

    def build(self, input_shape: Any) -> None:
        features = TensorShape(input_shape).as_list()[1:]
        sizes = [1 if d + 1 in (self.shared_axes or ()) else n for d, n in enumerate(features)]
        own = {
            d + 1: n for d, n in enumerate(sizes) if n is not None and d + 1 not in (self.shared_axes or ())
        }
        self.input_spec = InputSpec(ndim=len(sizes) + 1, axes=own)
        self.alpha = self.add_weight("alpha", sizes, **self.alpha_options)
        self.built = True

    def call(self, inputs: Any) -> Any:
        return nn.relu(inputs) + -self.alpha * nn.relu(-inputs)
