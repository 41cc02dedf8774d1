"""Normalisation by the statistics of a batch or of a layer."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays import array_ops
from staticgraph.building.framework import checked
from staticgraph.building.signatures import like
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.recording.op_count import op_count, set_op_count
from staticgraph.compiler.graph.shapes import TensorShape, normalize_axes
from staticgraph.compiler.graph.static_value import decided
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.layers import normalization
from staticgraph.layers.adapters import with_weights
from staticgraph.nn.normalization import standardized
from staticgraph.state.input_spec import InputSpec
from staticgraph.state.layer import known_size
from staticgraph.state.moving_averages import assign_moving_average
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras.engine.arguments import resolved, weight_options
from staticgraph.tf1.keras.engine.layer import Layer

_INITIALIZERS: dict[str, Any] = {
    "beta_initializer": "zeros",
    "gamma_initializer": "ones",
    "moving_mean_initializer": "zeros",
    "moving_variance_initializer": "ones",
}

# So many operations TensorFlow makes for a call, in training or not, or if a tensor decides.
_OPERATIONS = {True: {True: 20, False: 6, None: 46}, False: {True: 30, False: 12, None: 66}}  # by fused


class BatchNormalization(normalization.BatchNormalization, Layer):
    """`gamma * (x - mean) / sqrt(variance + epsilon) + beta`, with the statistics of all axes but `axis`.

    In training, mean and variance are those of the batch, and `moving_mean` and `moving_variance` follow them
    with `moving = moving * momentum + batch * (1 - momentum)`; otherwise the moving ones are used. `fit` runs
    these updates, and so does `minimize` on a loss behind the layer.

    >>> import staticgraph as sg
    >>> layer = sg.keras.layers.BatchNormalization()
    >>> y = layer(sg.keras.Input([8]))
    >>> [v.name for v in layer.non_trainable_weights], len(layer.updates)
    (['batch_normalization/moving_mean:0', 'batch_normalization/moving_variance:0'], 2)
    """

    config_names = (
        "axis",
        "momentum",
        "epsilon",
        "center",
        "scale",
        "beta_options",
        "gamma_options",
        "moving_mean_initializer",
        "moving_variance_initializer",
    )

    @like(normalization.BatchNormalization, **_INITIALIZERS)
    def __init__(self, **given: Any) -> None:
        super().__init__(**resolved(given))
        self.supports_masking = True

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer, without `adjustment`, which is code."""
        config = super().get_config()
        if self.renorm:
            names = ("renorm", "renorm_clipping", "renorm_momentum")
            config |= {name: getattr(self, name) for name in names}
        if self.virtual_batch_size is not None:
            config["virtual_batch_size"] = self.virtual_batch_size
        return config

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        sizes = TensorShape(input_shape).as_list()
        self.input_spec = InputSpec(ndim=len(sizes), axes={axis: sizes[axis] for axis in self._axes})
        self.built = True

    def call(self, inputs: Any, training: Any = None) -> Any:
        training = decided(K.learning_phase() if training is None else training)
        if not self._is_plain:
            outputs = self._with_options(inputs, training)
            outputs.set_shape(inputs.shape)
            return outputs
        start = op_count(inputs.graph)
        outputs = self._chosen(inputs, training)
        outputs.set_shape(inputs.shape)
        if self.center and self.scale:
            kind = None if isinstance(training, Tensor) else training
            set_op_count(inputs.graph, start + _OPERATIONS[self._is_fused][kind])
        return outputs

    def _chosen(self, inputs: Any, training: Any) -> Any:
        """Return the inputs normalised by the statistics that `training` asks for, and make the updates."""
        known = None if training is True else self._normalized(inputs, self.moving_mean, self.moving_variance)
        if training is False:
            return known
        made, mean, variance = self._trained(inputs)
        outputs = made if training is True else K.switch(training, made, known)
        for moving, batch in ((self.moving_mean, mean), (self.moving_variance, variance)):
            followed = batch if training is True else K.switch(training, batch, moving)
            self.add_update(assign_moving_average(moving, followed, self.momentum, zero_debias=False))
        return outputs

    def _trained(self, inputs: Any) -> tuple[Any, Any, Any]:
        """The inputs normalised by their own statistics, and these."""
        if self._is_fused:
            return self._fused_operation(inputs)()
        mean, variance = self._moments(inputs)
        return self._normalized(inputs, mean, variance), mean, variance


class LayerNormalization(Layer):
    """`gamma * (x - mean) / sqrt(variance + epsilon) + beta`, with the statistics of each sample's `axis`."""

    config_names = ("axis", "epsilon", "center", "scale", "beta_options", "gamma_options")

    @with_weights(before="trainable", activity=False, beta="zeros", gamma="ones")
    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        self.beta_options, self.gamma_options = weight_options(kwargs, "beta", "gamma").values()
        super().__init__(trainable, name, **kwargs)
        self.axis = list(axis) if isinstance(axis, list | tuple) else axis
        self.epsilon, self.center, self.scale = epsilon, center, scale
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        with checked(self.name):
            require(input_shape.ndims is not None, "the number of axes of the input must be known")
            self._axes = list(normalize_axes(self.axis, input_shape.ndims))
        sizes = [known_size(input_shape, axis, self.name) for axis in self._axes]
        self.gamma = self.add_weight("gamma", sizes, **self.gamma_options) if self.scale else None
        self.beta = self.add_weight("beta", sizes, **self.beta_options) if self.center else None
        self.built = True

    def call(self, inputs: Any) -> Any:
        beta, gamma = self.beta, self.gamma
        if self._axes != [inputs.shape.ndims - 1]:
            sizes = [n if d in self._axes else 1 for d, n in enumerate(inputs.shape.as_list())]
            beta, gamma = (None if v is None else array_ops.reshape(v, sizes) for v in (beta, gamma))
        return standardized(inputs, self._axes, beta, gamma, self.epsilon)
